// SPDX-License-Identifier: BSD-3-Clause
// conjugate_gradient.hpp - the method of conjugate gradients, on a team and in one process.
//
// Idea     Hestenes and Stiefel, Methods of Conjugate Gradients for Solving Linear Systems (1952),
//          section 3: one product with the matrix and two dot products an iteration. On a team
//          every rank has a block of each vector; a dot product is an allreduce.
// Why      The serial form is a second one, written independently, so that a mistake is not made
//          twice.
// Holds    An allreduce gives all ranks the same bits, so all take the same decisions without a
//          word. It is also what DistributedMatrix asks for between two products.
#pragma once

#include <cstdint>
#include <span>
#include <vector>
#include <weft/weft.hpp>

#include "perf/apps/cg/distributed_matrix.hpp"
#include "perf/apps/cg/sparse_rows.hpp"

namespace apps {

struct SolverOptions {
    double tolerance = 1e-10;  ///< of the residual's norm, relative to that of the right side
    int iterations_max = 10'000;
};

struct Solution {
    std::vector<double> x;  ///< of this rank's block
    int iterations = 0;
    bool converged = false;
    bool definite = true;  ///< no direction was found in which the matrix is not positive
    double residual = 0;   ///< |b - A x| / |b|, computed anew from x
};

/// Collective; b: this rank's block.
[[nodiscard]] Solution solve(weft::Team team, DistributedMatrix& matrix, std::span<const double> b,
                             const SolverOptions& options);
/// In this process alone, all rows.
[[nodiscard]] Solution solve_serially(const SparseRows& matrix, std::span<const double> b,
                                      const SolverOptions& options);

}  // namespace apps
