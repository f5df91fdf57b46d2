// SPDX-License-Identifier: BSD-3-Clause
// formulas_kolmakov.cpp - Kolmakov and Zhang, the generalised schedule over a cyclic group.
//
// Idea     L = ceil(log2 p) halving steps, N_0 = p, N_{i+1} = ceil(N_i / 2), and the same number
//          of steps back. Omitting the last r steps back costs vectors that must be reduced R
//          times, with R = N_{L-r}. a, b, g are as in Rabenseifner's formulas; vectors have bytes
//          / p bytes.
// Holds    The numbers of vectors are exact for every p and r. Times for r > 0 are upper bounds,
//          which are reached for p = 2^L - 1. The equations' right-hand sides are reconstructed.
#include <algorithm>
#include <cmath>

#include "tools/lab/cost/formulas_by_paper.hpp"

namespace weft::lab {

namespace {

struct Counts {
    double steps = 0, sent = 0, reduced = 0;
};

/// Returns the vectors that each rank sends and reduces.
Counts counts_of(double p, double left_out) {
    const double steps = log2_up(p);
    double results = p;
    double extra = 0;  // reductions for each result vector after the first
    bool odd_before = false;
    double n = p;
    for (double step = 0; step < steps; ++step) {
        if (step == steps - left_out) results = n;
        const bool odd = std::fmod(n, 2) == 1;
        // After an odd step the first vector differs from the regular ones; both are then kept.
        extra += step + 1 < steps && !odd && odd_before ? 2 : 1;
        odd_before = odd_before || odd;
        n = std::ceil(n / 2);
    }
    if (left_out == 0) results = 1;
    if (left_out == steps) return {steps, steps * p, extra * p};
    return {2 * steps - left_out, 2 * (p - 1) + (results - 1) * (steps - 1),
            p - 1 + (results - 1) * extra};
}

FormulaResults cyclic(std::span<const double> v) {
    const double p = v[0];
    const double bytes = v[1];
    const double a = v[2];
    const double b = v[3];
    const double g = v[4];
    const double unit = bytes / p;
    const double steps = log2_up(p);
    const double r = std::min(v[5], steps);
    const auto time = [&](double left_out) {
        const double more = std::exp2(left_out) - 1;
        return (2 * steps - left_out) * a + (2 * (p - 1) + more * (steps - 1)) * unit * b +
               (p - 1 + more * (2 * steps - 2)) * unit * g;
    };
    const double latency = steps * a + steps * bytes * b + (2 * steps - 2) * bytes * g;
    double best = 0;
    for (double left_out = 1; left_out < steps; ++left_out)
        if (time(left_out) < time(best)) best = left_out;
    const double optimum = steps > 1 && bytes > 0 ? std::log2(a / (bytes * (b + 2 * g))) +
                                                        std::log2(p / ((steps - 1) * std::log(2.0)))
                                                  : 0;
    const Counts counts = counts_of(p, r);
    return {{"time", r < steps ? time(r) : latency},
            {"steps", counts.steps},
            {"vectors_sent", counts.sent},
            {"vectors_reduced", counts.reduced},
            {"r_optimal", optimum},
            {"r_best", best},
            {"time_best", time(best)},
            {"time_bandwidth_optimal", time(0)},
            {"time_latency_optimal", latency},
            {"time_ring", 2 * (p - 1) * (a + unit * b) + (p - 1) * unit * g}};
}

}  // namespace

void add_kolmakov(std::vector<Formula>& table) {
    table.push_back(
        {"cyclic",
         "halving over a cyclic group with r steps back left out",
         "Kolmakov and Zhang, equations 15, 25, 36, 37 and 44 (reconstructed)",
         {{"p", 127, 1}, {"bytes", 9216}, {"a", 10}, {"b", 0.001}, {"g", 0.0002}, {"r", 0}},
         &cyclic});
}

}  // namespace weft::lab
