// SPDX-License-Identifier: BSD-3-Clause
// distributed_matrix.hpp - a sparse matrix with its rows spread over a team, and its product with a
// vector.
//
// Idea     A rank has a block of rows and the same block of every vector. For its rows it also
//          needs some elements of others' blocks: its halo. Who has them puts them there in each
//          product and adds one to the halo's signal; the rank multiplies what needs no halo
//          meanwhile, then waits until the signal has counted all ranks that put.
// Why      A put with a signal needs neither a receive nor a barrier: data and the word that says
//          so travel in one direction.
// Holds    Between two products the caller makes a call that no rank completes before all have
//          entered it (the dot product of every solver): a rank that has left it knows that the
//          halo of the last product has been read, so one halo is enough. Any rank may have no
//          rows.
// Next     conjugate_gradient.hpp for the solver; docs/guide/programming.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>
#include <weft/weft.hpp>

#include "perf/apps/cg/sparse_rows.hpp"
#include "perf/apps/common/blocks.hpp"

namespace apps {

class DistributedMatrix {
  public:
    /// Collective. rows: of this rank's block, with columns of the whole matrix.
    DistributedMatrix(weft::Team team, const SparseRows& rows, const Blocks& blocks);

    /// y = A x; x and y are this rank's blocks. Collective.
    void multiply(std::span<const double> x, std::span<double> y);

    /// Elements that this rank gets from others in each product.
    [[nodiscard]] std::size_t halo_elements() const { return halo_elements_; }
    /// Ranks that it gets them from.
    [[nodiscard]] std::size_t sources() const { return sources_; }

  private:
    /// A rank that needs elements of this one's block.
    struct Needer {
        weft::Rank rank = 0;
        std::int64_t place = 0;             ///< in its halo, of the first of them
        std::vector<std::size_t> elements;  ///< of this rank's block
    };

    void take_apart(const SparseRows& rows, std::span<const std::int64_t> needed,
                    std::int64_t begin, std::int64_t end);
    void learn_who_needs(std::span<const std::int64_t> needed, const Blocks& blocks);

    weft::Team team_;
    SparseRows inner_;  ///< entries in columns of this rank's block, counted from its start
    SparseRows outer_;  ///< the others, in columns of the halo
    std::size_t halo_elements_ = 0;
    std::size_t sources_ = 0;
    std::vector<Needer> needers_;
    std::vector<double> packed_;

    weft::Memory halo_memory_;
    weft::Memory signal_memory_;
    std::span<double> halo_;
    std::uint64_t* arrived_ = nullptr;  ///< puts into the halo, since the start
    std::uint64_t expected_ = 0;
};

}  // namespace apps
