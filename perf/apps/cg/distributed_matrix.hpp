// SPDX-License-Identifier: BSD-3-Clause
// distributed_matrix.hpp - a sparse matrix whose rows are spread over a team, and its product
// with a vector.
//
// Idea     A rank has a block of rows and the same block of every vector. Its rows also need some
//          elements of other blocks: its halo. In each product, the owners put these elements into
//          the halo and add one to its signal. Meanwhile the rank multiplies the entries that need
//          no halo. Then it waits until the signal has counted all owners.
// Why      A put with a signal needs neither a receive nor a barrier: the data and the
//          notification travel together.
// Holds    Between two products the caller makes a call that no rank completes before all have
//          entered it (the dot product of every solver). So all ranks have read the halo of the
//          previous product, and one halo is enough. A rank may have no rows.
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
    /// Collective. `rows`: this rank's rows, with columns of the whole matrix.
    DistributedMatrix(weft::Team team, const SparseRows& rows, const Blocks& blocks);

    /// Computes y = A x; x and y are this rank's blocks. Collective.
    void multiply(std::span<const double> x, std::span<double> y);

    /// Returns the elements that this rank receives from other ranks in each product.
    [[nodiscard]] std::size_t halo_elements() const { return halo_elements_; }
    /// Returns the number of ranks that send these elements.
    [[nodiscard]] std::size_t sources() const { return sources_; }

  private:
    /// A rank that needs elements of this rank's block.
    struct Needer {
        weft::Rank rank = 0;
        std::int64_t place = 0;             ///< of the first element, in that rank's halo
        std::vector<std::size_t> elements;  ///< in this rank's block
    };

    void take_apart(const SparseRows& rows, std::span<const std::int64_t> needed,
                    std::int64_t begin, std::int64_t end);
    void learn_who_needs(std::span<const std::int64_t> needed, const Blocks& blocks);

    weft::Team team_;
    SparseRows inner_;  ///< entries in columns of this rank's block, counted from its start
    SparseRows outer_;  ///< all other entries, in columns of the halo
    std::size_t halo_elements_ = 0;
    std::size_t sources_ = 0;
    std::vector<Needer> needers_;
    std::vector<double> packed_;

    weft::Memory halo_memory_;
    weft::Memory signal_memory_;
    std::span<double> halo_;
    std::uint64_t* arrived_ = nullptr;  ///< puts into the halo since the start
    std::uint64_t expected_ = 0;
};

}  // namespace apps
