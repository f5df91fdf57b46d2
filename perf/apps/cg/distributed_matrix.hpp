// SPDX-License-Identifier: BSD-3-Clause
// distributed_matrix.hpp - a sparse matrix whose rows are spread over a team, and its product
// with a vector.
//
// Idea     A rank has a block of rows and the same block of every vector. Its rows also need some
//          elements of other ranks' blocks: its halo. In each product, each owner puts these
//          elements into the halo and adds one to its signal. Meanwhile the rank multiplies the
//          entries that need no halo. Then it waits until the signal has counted all owners.
// Why      A put with a signal needs neither a receive nor a barrier: the data and the
//          notification travel together.
// Holds    Between two products the caller makes a call that no rank completes before all have
//          entered it (in solve(), the allreduce of a dot product). So all ranks have read the halo
//          of the previous product before any rank puts again. A rank may have no rows.
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

    /// Returns the number of elements that this rank receives in each product.
    [[nodiscard]] std::size_t halo_elements() const { return halo_elements_; }
    /// Returns the number of ranks that send these elements.
    [[nodiscard]] std::size_t sources() const { return sources_; }

  private:
    /// A rank whose halo has elements of this rank's block.
    struct HaloReceiver {
        weft::Rank rank = 0;
        std::int64_t place = 0;             ///< index of the first of these elements in the halo
        std::vector<std::size_t> elements;  ///< indices in this rank's block
    };

    /// Divides the entries into inner_ and outer_. `needed`: columns of the halo, ascending;
    /// [begin, end): columns of this rank's block.
    void split_columns(const SparseRows& rows, std::span<const std::int64_t> needed,
                       std::int64_t begin, std::int64_t end);
    /// Fills receivers_ and sources_. Collective.
    void find_receivers(std::span<const std::int64_t> needed, const Blocks& blocks);

    weft::Team team_;
    SparseRows inner_;  ///< entries in this rank's block; columns are indices in the block
    SparseRows outer_;  ///< all other entries; columns are indices in the halo
    std::size_t halo_elements_ = 0;
    std::size_t sources_ = 0;
    std::vector<HaloReceiver> receivers_;
    std::vector<double> packed_;  ///< source of a put

    weft::Memory halo_memory_;
    weft::Memory signal_memory_;
    std::span<double> halo_;
    std::uint64_t* arrived_ = nullptr;  ///< signal: number of puts into the halo in all products
    std::uint64_t expected_ = 0;        ///< value of *arrived_ when all puts have arrived
};

}  // namespace apps
