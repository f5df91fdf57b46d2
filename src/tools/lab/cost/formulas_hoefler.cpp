// SPDX-License-Identifier: BSD-3-Clause
// formulas_hoefler.cpp - Hoefler and Moor, Energy, memory and runtime tradeoffs, sections 3 and 4.
//
// Idea     LogGP with o > g: each message costs its sender o + sG and its receiver o. Dynamic
//          energy is e per message and E per byte; memory is d for each message of the busiest
//          rank. `total` adds the static power over the time, once for all ranks.
// Holds    Exact forms. The paper's tables drop some significant terms (an o for each level of
//          k-ary trees, levels of complete trees). Their values are also given, as time_table
//          and time_complete. Times are in microseconds, energies in microjoules, G in
//          microseconds per byte.
#include <cmath>

#include "tools/lab/cost/formulas_by_paper.hpp"

namespace weft::lab {

namespace {

struct Machine {
    explicit Machine(std::span<const double> v)
        : p(v[0]), s(v[1]), L(v[2]), o(v[3]), G(v[4]), e(v[5]), E(v[6]), watt(v[7]), d(v[8]) {
        k = v.size() > 9 ? v[9] : 2;
        segments = k;
    }
    double p, s, L, o, G, e, E, watt, d;
    double k;         ///< tenth argument: degree of a tree, or
    double segments;  ///< pieces of a pipeline

    [[nodiscard]] double bytes_time() const { return s * G; }
    [[nodiscard]] double log() const { return std::log2(p); }
    /// Returns the energy of `messages` messages of `bytes` bytes each, in microjoules.
    [[nodiscard]] double energy(double messages, double bytes) const {
        return messages * (e + bytes * E) * 1e-6;
    }
    /// Returns time, energies and memory, each also doubled, for both directions of a tree.
    [[nodiscard]] FormulaResults results(double time, double dynamic, double messages_max) const {
        const double memory = d * messages_max;
        return {{"time", time},
                {"dynamic", dynamic},
                {"total", time * watt + dynamic},
                {"memory", memory},
                {"time_twice", 2 * time},
                {"dynamic_twice", 2 * dynamic},
                {"total_twice", 2 * (time * watt + dynamic)},
                {"memory_twice", 2 * memory}};
    }
};

FormulaResults flat_tree(std::span<const double> v) {
    const Machine m(v);
    return m.results(m.L + m.o * m.p + m.bytes_time() * (m.p - 1), m.energy(m.p - 1, m.s), m.p - 1);
}

FormulaResults kary_tree(std::span<const double> v) {
    const Machine m(v);
    const auto levels = [&](double ranks) {
        double height = 0;
        for (double reach = 1; reach < ranks; reach *= m.k) ++height;
        return height;
    };
    const double level = m.L + m.k * (m.o + m.bytes_time());
    double complete = 0;  // levels of the complete tree below its root
    for (double held = 1, row = 1; held < m.p; held += row, ++complete) row *= m.k;
    const double printed = levels(m.p);
    FormulaResults results = m.results((level + m.o) * printed, m.energy(m.p - 1, m.s), m.k);
    results.emplace_back("time_table", level * printed);
    results.emplace_back("time_complete", (level + m.o) * complete);
    results.emplace_back("time_table_twice", 2 * level * printed);
    return results;
}

FormulaResults binomial_tree(std::span<const double> v) {
    const Machine m(v);
    return m.results((m.L + 2 * m.o + m.bytes_time()) * m.log(), m.energy(m.p - 1, m.s), m.log());
}

FormulaResults binomial_tree_personalised(std::span<const double> v) {
    const Machine m(v);
    return m.results((2 * m.o + m.L) * m.log() + m.bytes_time() * (m.p - 1),
                     (m.e * (m.p - 1) + m.s * m.E * m.p / 2 * m.log()) * 1e-6, m.log());
}

FormulaResults split_binary_tree(std::span<const double> v) {
    const Machine m(v);
    const double half = m.bytes_time() / 2;
    return m.results((m.L + 2 * (m.o + half) + m.o) * log2_up(m.p) + 2 * m.o + m.L + half,
                     2 * m.energy(m.p - 1, m.s / 2), 3);
}

double pipelined_time(const Machine& m, double bytes) {
    const double piece = m.o + bytes / m.segments * m.G;
    return 2 * piece * m.segments + m.L + m.o + (m.o + 2 * piece + m.L) * (std::floor(m.log()) - 1);
}

FormulaResults pipelined_binary_tree(std::span<const double> v) {
    const Machine m(v);
    FormulaResults results = m.results(
        pipelined_time(m, m.s), m.energy((m.p - 1) * m.segments, m.s / m.segments), 2 * m.segments);
    results.emplace_back("segments_optimal", std::sqrt(m.bytes_time() * (m.log() - 1) / m.o));
    return results;
}

FormulaResults double_tree(std::span<const double> v) {
    const Machine m(v);
    const double trees = 2 * m.energy((m.p - 1) * m.segments, m.s / 2 / m.segments);
    return m.results(m.L + 3 * m.o + m.bytes_time() + pipelined_time(m, m.s / 2),
                     2 * m.energy(1, m.s / 2) + trees, 2 * m.segments);
}

FormulaResults direct(std::span<const double> v) {
    const Machine m(v);
    FormulaResults results = m.results(m.L + (m.p - 1) * (m.o + m.bytes_time()) + m.o,
                                       m.energy(m.p * (m.p - 1), m.s), m.p - 1);
    results.emplace_back("time_printed", m.L + (m.p - 1) * (m.o + m.bytes_time()));
    return results;
}

FormulaResults butterfly(std::span<const double> v) {
    const Machine m(v);
    return m.results((2 * m.o + m.bytes_time() + m.L) * m.log(), m.energy(m.p * m.log(), m.s),
                     m.log());
}

FormulaResults butterfly_personalised(std::span<const double> v) {
    const Machine m(v);
    return m.results((2 * m.o + m.L) * m.log() + m.bytes_time() * (m.p - 1),
                     (m.e * m.p * m.log() + m.s * m.E * (m.p - 1) * m.p) * 1e-6, m.log());
}

}  // namespace

void add_hoefler(std::vector<Formula>& table) {
    const std::vector<FormulaArgument> machine{
        {"p", 8, 1},       {"bytes", 8},           {"latency", 6},
        {"overhead", 4.7}, {"byte_time", 0.00073}, {"e_pj", 16.5},
        {"byte_pj", 8100}, {"static_w", 0.5},      {"descriptor_bytes", 32}};
    const auto with = [&](FormulaArgument more) {
        std::vector<FormulaArgument> arguments = machine;
        arguments.push_back(more);
        return arguments;
    };
    const std::string_view source = "Hoefler and Moor, section 3.1";
    table.push_back({"flat-tree", "one rank sends to all", source, machine, &flat_tree});
    table.push_back(
        {"kary-tree", "a regular tree of degree k", source, with({"k", 2, 2}), &kary_tree});
    table.push_back({"binomial-tree", "a binomial tree", source, machine, &binomial_tree});
    table.push_back({"binomial-tree-personalised", "a binomial tree, a block for each rank", source,
                     machine, &binomial_tree_personalised});
    table.push_back({"split-binary-tree", "a binary tree, half of the data on each side", source,
                     machine, &split_binary_tree});
    table.push_back({"pipelined-binary-tree", "a binary tree in segments", source,
                     with({"segments", 16, 1}), &pipelined_binary_tree});
    table.push_back({"double-tree", "two binary trees in segments", source,
                     with({"segments", 16, 1}), &double_tree});
    table.push_back({"direct", "each rank sends to each other", source, machine, &direct});
    table.push_back({"butterfly", "recursive doubling", source, machine, &butterfly});
    table.push_back({"butterfly-personalised", "recursive doubling of blocks", source, machine,
                     &butterfly_personalised});
}

}  // namespace weft::lab
