// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/cg/conjugate_gradient.hpp"

#include <cmath>
#include <numeric>

namespace apps {

namespace {

double dot(std::span<const double> a, std::span<const double> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Returns |b - A x| / |b| from the squares; |b - A x| if b is 0.
double relative(double residual_squared, double b_squared) {
    return b_squared > 0 ? std::sqrt(residual_squared / b_squared) : std::sqrt(residual_squared);
}

}  // namespace

Solution solve(weft::Team team, DistributedMatrix& matrix, std::span<const double> b,
               const SolverOptions& options) {
    const auto team_dot = [&](std::span<const double> v, std::span<const double> w) {
        return team.allreduce(dot(v, w), weft::Op::sum);
    };
    const std::size_t n = b.size();
    Solution solution{.x = std::vector<double>(n, 0.0)};
    std::vector<double> residual(b.begin(), b.end());
    std::vector<double> direction = residual;
    std::vector<double> product(n);

    double squared = team_dot(residual, residual);
    const double b_squared = squared;
    const double goal = options.tolerance * options.tolerance * b_squared;
    while (squared > goal && solution.iterations < options.iterations_max) {
        matrix.multiply(direction, product);
        const double curvature = team_dot(direction, product);
        solution.definite = curvature > 0;
        if (!solution.definite) break;
        const double step = squared / curvature;
        for (std::size_t i = 0; i < n; ++i) {
            solution.x[i] += step * direction[i];
            residual[i] -= step * product[i];
        }
        const double before = squared;
        squared = team_dot(residual, residual);
        for (std::size_t i = 0; i < n; ++i)
            direction[i] = residual[i] + squared / before * direction[i];
        ++solution.iterations;
    }
    solution.converged = squared <= goal;

    matrix.multiply(solution.x, product);
    for (std::size_t i = 0; i < n; ++i) residual[i] = b[i] - product[i];
    solution.residual = relative(team_dot(residual, residual), b_squared);
    return solution;
}

/// Letters as in the literature: r is the residual, p the direction, q = A p.
Solution solve_serially(const SparseRows& matrix, std::span<const double> b,
                        const SolverOptions& options) {
    std::vector<double> x(b.size(), 0.0);
    std::vector<double> r(b.begin(), b.end());
    std::vector<double> p(b.begin(), b.end());
    std::vector<double> q(b.size());
    const double bb = dot(b, b);
    double rr = bb;
    int k = 0;
    for (; k < options.iterations_max && std::sqrt(rr) > options.tolerance * std::sqrt(bb); ++k) {
        std::fill(q.begin(), q.end(), 0.0);
        matrix.multiply_add(p, q);
        const double pq = dot(p, q);
        if (!(pq > 0)) return {.x = x, .iterations = k, .definite = false};
        for (std::size_t i = 0; i < b.size(); ++i) x[i] += rr / pq * p[i];
        for (std::size_t i = 0; i < b.size(); ++i) r[i] -= rr / pq * q[i];
        const double next = dot(r, r);
        for (std::size_t i = 0; i < b.size(); ++i) p[i] = r[i] + next / rr * p[i];
        rr = next;
    }
    std::fill(q.begin(), q.end(), 0.0);
    matrix.multiply_add(x, q);
    for (std::size_t i = 0; i < b.size(); ++i) q[i] = b[i] - q[i];
    return {.x = x,
            .iterations = k,
            .converged = std::sqrt(rr) <= options.tolerance * std::sqrt(bb),
            .residual = relative(dot(q, q), bb)};
}

}  // namespace apps
