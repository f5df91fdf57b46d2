// SPDX-License-Identifier: BSD-3-Clause
// formulas_rabenseifner.cpp - Rabenseifner, Optimization of collective reduction
// operations, section 3.
//
// Idea     a: start-up of an exchange, b: per byte exchanged, g: per byte reduced, n: bytes. fa and
//          fb: cost of a one-directional message relative to a bidirectional one.
// Holds    p' = 2^floor(log2 p), where the paper prints ceil. Doubling for a p that is not a
//          power of two is given as printed (one more message) and as in MPICH (two more messages
//          and a reduction).
#include <cmath>

#include "tools/lab/cost/formulas_by_paper.hpp"

namespace weft::lab {

namespace {

struct Arguments {
    explicit Arguments(std::span<const double> v)
        : p(v[0]), n(v[1]), a(v[2]), b(v[3]), g(v[4]), fa(v[5]), fb(v[6]) {}
    double p, n, a, b, g, fa, fb;

    [[nodiscard]] double one_way() const { return fa * a + n * fb * b; }
    [[nodiscard]] bool whole_power() const { return log2_up(p) == log2_down(p); }
    [[nodiscard]] double power() const { return std::exp2(log2_down(p)); }
};

FormulaResults tree(std::span<const double> v) {
    const Arguments x(v);
    const double steps = log2_up(x.p);
    return {{"time_reduce", steps * (x.one_way() + x.n * x.g)},
            {"time", steps * (2 * x.one_way() + x.n * x.g)}};
}

FormulaResults doubling(std::span<const double> v) {
    const Arguments x(v);
    const double step = x.a + x.n * x.b + x.n * x.g;
    const double more = x.whole_power() ? 0 : 1;
    return {{"time", log2_down(x.p) * step + more * (2 * x.one_way() + x.n * x.g)},
            {"time_printed", log2_up(x.p) * step + more * x.one_way()}};
}

FormulaResults halving(std::span<const double> v) {
    const Arguments x(v);
    const double n = x.n;
    const double steps = log2_down(x.p);
    if (x.whole_power()) {
        return {{"time", 2 * steps * x.a + 2 * n * x.b + n * x.g - (2 * n * x.b + n * x.g) / x.p},
                {"time_reduce", steps * (1 + x.fa) * x.a + (1 + x.fb) * n * x.b + n * x.g -
                                    (n * (x.b + x.fb * x.b) + n * x.g) / x.p}};
    }
    const double rest = 1.5 * n * x.g;
    return {{"time", (2 * steps + 2 + x.fa) * x.a + (3 + (1 + x.fb) / 2) * n * x.b + rest -
                         (2 * n * x.b + n * x.g) / x.power()},
            {"time_reduce", (steps + 1) * (1 + x.fa) * x.a + (1 + (1 + x.fb) / 2 + x.fb) * n * x.b +
                                rest - ((1 + x.fb) * n * x.b + n * x.g) / x.power()}};
}

FormulaResults ring(std::span<const double> v) {
    const Arguments x(v);
    const double n = x.n;
    return {{"time", 2 * (x.p - 1) * x.a + 2 * n * x.b + n * x.g - (2 * n * x.b + n * x.g) / x.p},
            {"time_reduce", (x.p - 1) * (1 + x.fa) * x.a + n * (1 + x.fb) * x.b + n * x.g -
                                (n * (1 + x.fb) * x.b + n * x.g) / x.p}};
}

}  // namespace

void add_rabenseifner(std::vector<Formula>& table) {
    const std::vector<FormulaArgument> arguments{{"p", 8, 1},  {"bytes", 32768}, {"a", 1},
                                                 {"b", 0.001}, {"g", 0.00025},   {"fa", 1},
                                                 {"fb", 1}};
    const std::string_view source = "Rabenseifner, section 3";
    table.push_back({"tree", "reduce along a binomial tree, and back", source, arguments, &tree});
    table.push_back(
        {"doubling", "recursive doubling with whole vectors", source, arguments, &doubling});
    table.push_back({"halving", "recursive halving, then doubling or collecting at the root",
                     source, arguments, &halving});
    table.push_back({"ring", "pairwise exchange, then a ring", source, arguments, &ring});
}

}  // namespace weft::lab
