// SPDX-License-Identifier: BSD-3-Clause
// conjugate_gradient.hpp - the method of conjugate gradients, on a team and in one process.
//
// Idea     Each iteration computes one product with the matrix and two dot products (Hestenes and
//          Stiefel, Methods of Conjugate Gradients for Solving Linear Systems, 1952, section 3). On
//          a team every rank has a block of each vector, and a dot product is an allreduce.
// Why      The serial form is separate code, so the two forms are unlikely to have the same error.
// Holds    An allreduce gives all ranks the same bits, so all ranks make the same decisions
//          without further messages. It is also the call that DistributedMatrix requires
//          between two products.
#pragma once

#include <span>
#include <vector>
#include <weft/weft.hpp>

#include "perf/apps/cg/distributed_matrix.hpp"
#include "perf/apps/cg/sparse_rows.hpp"

namespace apps {

struct SolverOptions {
    double tolerance = 1e-10;  ///< residual norm to reach, relative to the norm of b
    int iterations_max = 10'000;
};

struct Solution {
    std::vector<double> x;  ///< this rank's block; all elements if solved serially
    int iterations = 0;
    bool converged = false;
    bool definite = true;  ///< false if an iteration showed that A is not positive definite
    double residual = 0;   ///< |b - A x| / |b|, computed from the final x
};

/// Solves on a team. Collective; b is this rank's block.
[[nodiscard]] Solution solve(weft::Team team, DistributedMatrix& matrix, std::span<const double> b,
                             const SolverOptions& options);
/// Solves in this process alone, with all rows.
[[nodiscard]] Solution solve_serially(const SparseRows& matrix, std::span<const double> b,
                                      const SolverOptions& options);

}  // namespace apps
