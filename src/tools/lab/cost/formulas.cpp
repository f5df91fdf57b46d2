// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/cost/formulas.hpp"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <queue>

namespace weft::lab {

namespace {

using Values = std::span<const double>;

/// Return ceil(log2 p) and floor(log2 p) of a whole number.
double log2_up(double p) {
    double steps = 0;
    for (double reach = 1; reach < p; reach *= 2) ++steps;
    return steps;
}
double log2_down(double p) {
    double steps = 0;
    for (double reach = 2; reach <= p; reach *= 2) ++steps;
    return steps;
}

// Ruefenacht et al., and Karp et al.

constexpr FormulaArgument kRatio[] = {{"ratio", 4}};
constexpr FormulaArgument kLogP[] = {{"p", 8, 1, 1e7}, {"latency", 6}, {"overhead", 2}, {"gap", 4}};

FormulaResults optimal_messages(Values v) {
    const double ratio = v[0];
    const auto cost = [ratio](double b) { return (ratio + b) / std::log(b + 1); };
    const double real = messages_optimal(ratio, std::numbers::e);
    double best = std::max(1.0, std::floor(real));
    if (cost(best + 1) < cost(best)) ++best;
    return {{"messages", real},
            {"messages_printed", messages_optimal(ratio, 1)},
            {"messages_whole", best},
            {"cost_per_log", cost(best)}};
}

/// Evaluates Karp et al.: each rank with the value continues to send it; the earliest receivers
/// form the tree.
FormulaResults optimal_tree(Values v) {
    const double overhead = v[2];
    const double gap = std::max(v[3], overhead);
    std::priority_queue<double, std::vector<double>, std::greater<>> arrivals;
    double last = 0;
    arrivals.push(2 * overhead + v[1]);
    for (int ranks = 1; ranks < static_cast<int>(v[0]); ++ranks) {
        last = arrivals.top();
        arrivals.pop();
        arrivals.push(last + gap);                  // the next message of the same sender
        arrivals.push(last + 2 * overhead + v[1]);  // the first message of the receiver
    }
    return {{"time", last}};
}

// Rabenseifner, Optimization of collective reduction operations, section 3. a: start-up of an
// exchange, b: per byte exchanged, g: per byte reduced, n: bytes. fa and fb: cost of a
// one-directional message relative to a bidirectional one. p' = 2^floor(log2 p), where the paper
// prints ceil. Doubling for a p that is not a power of two is given as printed (one more message)
// and as in MPICH (two more messages and a reduction).

constexpr const char* kRabenseifner = "Rabenseifner, section 3";
constexpr FormulaArgument kReduction[] = {{"p", 8, 1},    {"bytes", 32768}, {"a", 1}, {"b", 0.001},
                                          {"g", 0.00025}, {"fa", 1},        {"fb", 1}};

struct Reduction {
    explicit Reduction(Values v)
        : p(v[0]), n(v[1]), a(v[2]), b(v[3]), g(v[4]), fa(v[5]), fb(v[6]) {}
    double p, n, a, b, g, fa, fb;

    [[nodiscard]] double one_way() const { return fa * a + n * fb * b; }
    [[nodiscard]] bool whole_power() const { return log2_up(p) == log2_down(p); }
    [[nodiscard]] double power() const { return std::exp2(log2_down(p)); }
};

FormulaResults halving(Values v) {
    const Reduction x(v);
    const double n = x.n;
    const double steps = log2_down(x.p);
    if (x.whole_power())
        return {{"time", 2 * steps * x.a + 2 * n * x.b + n * x.g - (2 * n * x.b + n * x.g) / x.p},
                {"time_reduce", steps * (1 + x.fa) * x.a + (1 + x.fb) * n * x.b + n * x.g -
                                    (n * (x.b + x.fb * x.b) + n * x.g) / x.p}};
    const double rest = 1.5 * n * x.g;
    return {{"time", (2 * steps + 2 + x.fa) * x.a + (3 + (1 + x.fb) / 2) * n * x.b + rest -
                         (2 * n * x.b + n * x.g) / x.power()},
            {"time_reduce", (steps + 1) * (1 + x.fa) * x.a + (1 + (1 + x.fb) / 2 + x.fb) * n * x.b +
                                rest - ((1 + x.fb) * n * x.b + n * x.g) / x.power()}};
}

// Kolmakov and Zhang, the generalised schedule over a cyclic group. L = ceil(log2 p) halving steps,
// N_0 = p, N_{i+1} = ceil(N_i / 2), and the same number of steps back. Omitting the last r steps
// back costs vectors that must be reduced R times, with R = N_{L-r}. a, b, g as above; vectors have
// bytes / p bytes. The numbers of vectors are exact for every p and r, and give `time`. Equation 36
// is an upper bound, reached for p = 2^L - 1. The equations' right-hand sides are reconstructed.

constexpr FormulaArgument kCyclic[] = {{"p", 127, 1}, {"bytes", 9216}, {"a", 10},
                                       {"b", 0.001},  {"g", 0.0002},   {"r", 0}};

struct VectorCounts {
    double steps = 0, sent = 0, reduced = 0;
};

/// Returns the vectors that each rank sends and reduces if `left_out` steps back are omitted.
VectorCounts counts_of(double p, double left_out) {
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

FormulaResults cyclic(Values v) {
    const double p = v[0], bytes = v[1], a = v[2], b = v[3], g = v[4];
    const double unit = bytes / p;
    const double steps = log2_up(p);
    const double r = std::min(v[5], steps);
    const auto time = [&](double left_out) {
        const VectorCounts counts = counts_of(p, left_out);
        return counts.steps * a + (counts.sent * b + counts.reduced * g) * unit;
    };
    const double more = std::exp2(r) - 1;
    const double bound = (2 * steps - r) * a + (2 * (p - 1) + more * (steps - 1)) * unit * b +
                         (p - 1 + more * (2 * steps - 2)) * unit * g;
    const double latency = steps * a + steps * bytes * b + (2 * steps - 2) * bytes * g;
    double best = 0;
    for (double left_out = 1; left_out <= steps; ++left_out)
        if (time(left_out) < time(best)) best = left_out;
    const double optimum = steps > 1 && bytes > 0 ? std::log2(a / (bytes * (b + 2 * g))) +
                                                        std::log2(p / ((steps - 1) * std::log(2.0)))
                                                  : 0;
    const VectorCounts counts = counts_of(p, r);
    return {{"time", time(r)},
            {"time_bound", r < steps ? bound : latency},
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

// Hoefler and Moor, Energy, memory and runtime tradeoffs, sections 3 and 4. LogGP with o > g: each
// message costs its sender o + sG and its receiver o. Dynamic energy is e per message and E per
// byte; memory is d for each message of the busiest rank. `total` adds the static power over the
// time, once for all ranks. The forms are exact. The paper's tables drop some significant terms: an
// o for each level of k-ary trees, and levels of complete trees. The results time_table and
// time_complete are the values of these tables. Times are in microseconds, energies in microjoules,
// G in microseconds per byte.

constexpr const char* kHoefler = "Hoefler and Moor, section 3.1";
constexpr std::array<FormulaArgument, 10> machine_with(FormulaArgument more) {
    return {{{"p", 8, 1},
             {"bytes", 8},
             {"latency", 6},
             {"overhead", 4.7},
             {"byte_time", 0.00073},
             {"e_pj", 16.5},
             {"byte_pj", 8100},
             {"static_w", 0.5},
             {"descriptor_bytes", 32},
             more}};
}
constexpr std::array kWithDegree = machine_with({"k", 2, 2});
constexpr std::array kWithSegments = machine_with({"segments", 16, 1});
constexpr std::span kMachine = std::span<const FormulaArgument>(kWithDegree).first(9);

/// Messages of all ranks, and their bytes.
struct Sent {
    double messages = 0, bytes = 0;
};

struct LogGp {
    explicit LogGp(Values v)
        : p(v[0]), s(v[1]), L(v[2]), o(v[3]), G(v[4]), e(v[5]), E(v[6]), watt(v[7]), d(v[8]) {
        k = segments = v.size() > 9 ? v[9] : 2;
    }
    double p, s, L, o, G, e, E, watt, d;
    // The tenth argument sets both; a formula uses one of them.
    double k;         ///< degree of a tree
    double segments;  ///< number of pieces in a pipeline

    [[nodiscard]] static Sent each(double messages, double bytes) {
        return {messages, messages * bytes};
    }
    [[nodiscard]] double bytes_time() const { return s * G; }
    [[nodiscard]] double log() const { return std::log2(p); }
    [[nodiscard]] double pipelined_time(double bytes) const {
        const double piece = o + bytes / segments * G;
        return 2 * piece * segments + L + o + (o + 2 * piece + L) * (std::floor(log()) - 1);
    }
    /// Returns messages, time, energies and memory; also doubled, for both directions of a tree.
    [[nodiscard]] FormulaResults results(double time, const Sent& sent, double messages_max) const {
        const double dynamic = (e * sent.messages + E * sent.bytes) * 1e-6;
        const double memory = d * messages_max;
        return {{"time", time},
                {"dynamic", dynamic},
                {"total", time * watt + dynamic},
                {"memory", memory},
                {"messages", sent.messages},
                {"time_twice", 2 * time},
                {"dynamic_twice", 2 * dynamic},
                {"total_twice", 2 * (time * watt + dynamic)},
                {"memory_twice", 2 * memory},
                {"messages_twice", 2 * sent.messages}};
    }
};

/// Returns the levels of the smallest complete tree of degree k, below its root.
double levels_of(double p, double k) {
    double levels = 0;
    for (double held = 1, row = 1; held < p; held += row, ++levels) row *= k;
    return levels;
}
/// Returns the sum of (levels - i) k^i for i = 0, 1, ...: the blocks of all subtrees on a path of a
/// complete tree.
double blocks_of_path(double levels, double k) {
    double blocks = 0;
    for (double i = 0, power = 1; i < levels; ++i, power *= k) blocks += (levels - i) * power;
    return blocks;
}
/// Returns the sum of i k^i for i = 1..levels: the levels through which all blocks go.
double levels_of_blocks(double levels, double k) {
    double sum = 0;
    for (double i = 1, power = k; i <= levels; ++i, power *= k) sum += i * power;
    return sum;
}

FormulaResults kary_tree(Values v) {
    const LogGp m(v);
    const double level = m.L + m.k * (m.o + m.bytes_time());
    double printed = 0;
    for (double reach = 1; reach < m.p; reach *= m.k) ++printed;
    FormulaResults results = m.results((level + m.o) * printed, m.each(m.p - 1, m.s), m.k);
    results.emplace_back("time_table", level * printed);
    results.emplace_back("time_complete", (level + m.o) * levels_of(m.p, m.k));
    results.emplace_back("time_table_twice", 2 * level * printed);
    return results;
}

/// `time` is as printed: the sum lacks a factor k, as every child gets the blocks of its subtree.
/// `time_complete` is exact for complete trees. `dynamic` has the levels of the tree.
FormulaResults kary_tree_personalised(Values v) {
    const LogGp m(v);
    double printed = 0;
    for (double reach = 1; reach < m.p; reach *= m.k) ++printed;
    const double levels = levels_of(m.p, m.k);
    const auto time = [&](double height, double blocks) {
        return height * (m.L + m.o * (m.k + 1)) + m.bytes_time() * blocks;
    };
    FormulaResults results = m.results(time(printed, blocks_of_path(printed, m.k)),
                                       {m.p - 1, m.s * levels_of_blocks(levels, m.k)}, m.k);
    results.emplace_back("time_complete", time(levels, m.k * blocks_of_path(levels, m.k)));
    return results;
}

/// `time` is as printed: it counts blocks of one level more than there is below the root.
/// `time_complete` is exact for complete trees. `dynamic` has the messages of p ranks; the printed
/// energy has those of a complete tree.
FormulaResults pipelined_tree_personalised(Values v) {
    const LogGp m(v);
    const double levels = std::floor(m.log());
    const double block = m.bytes_time() / m.segments;
    const double start = m.o + (m.o + (std::exp2(levels) - 1) * block) * 2 * m.segments + m.L +
                         (m.o + m.L) * (levels - 1);
    const auto time = [&](double power) {
        return start + 2 * (m.o * (levels - 1) + block * (2 * (power - 1) - (levels - 1)));
    };
    FormulaResults results = m.results(
        time(std::exp2(levels)),
        {(m.p - 1) * m.segments, m.s * levels_of_blocks(levels_of(m.p, 2), 2)}, 2 * m.segments);
    results.emplace_back("time_complete", time(std::exp2(levels - 1)));
    return results;
}

/// Returns Formula::evaluate of a formula that takes a LogGp or a Reduction.
template <class Arguments, class Lambda>
constexpr auto evaluator(Lambda) {
    return +[](Values v) -> FormulaResults { return Lambda{}(Arguments(v)); };
}

constexpr Formula kFormulas[] = {
    {"messages-optimal", "messages in a row that make recursive multiplying fastest",
     "Ruefenacht et al., equation 5 (printed without 1/e)", kRatio, &optimal_messages},
    {"logp-tree", "the fastest tree from one rank to all", "Karp et al., 1993, LogP", kLogP,
     &optimal_tree},
    {"tree", "reduce along a binomial tree, and back", kRabenseifner, kReduction,
     evaluator<Reduction>([](const Reduction& x) -> FormulaResults {
         const double steps = log2_up(x.p);
         return {{"time_reduce", steps * (x.one_way() + x.n * x.g)},
                 {"time", steps * (2 * x.one_way() + x.n * x.g)}};
     })},
    {"doubling", "recursive doubling with whole vectors", kRabenseifner, kReduction,
     evaluator<Reduction>([](const Reduction& x) -> FormulaResults {
         const double step = x.a + x.n * x.b + x.n * x.g;
         const double more = x.whole_power() ? 0 : 1;
         return {{"time", log2_down(x.p) * step + more * (2 * x.one_way() + x.n * x.g)},
                 {"time_printed", log2_up(x.p) * step + more * x.one_way()}};
     })},
    {"halving", "recursive halving, then doubling or collecting at the root", kRabenseifner,
     kReduction, &halving},
    {"ring", "pairwise exchange, then a ring", kRabenseifner, kReduction,
     evaluator<Reduction>([](const Reduction& x) -> FormulaResults {
         const double n = x.n;
         return {
             {"time", 2 * (x.p - 1) * x.a + 2 * n * x.b + n * x.g - (2 * n * x.b + n * x.g) / x.p},
             {"time_reduce", (x.p - 1) * (1 + x.fa) * x.a + n * (1 + x.fb) * x.b + n * x.g -
                                 (n * (1 + x.fb) * x.b + n * x.g) / x.p}};
     })},
    {"cyclic", "halving over a cyclic group with r steps back left out",
     "Kolmakov and Zhang, equations 15, 25, 36, 37 and 44 (reconstructed)", kCyclic, &cyclic},
    {"flat-tree", "one rank sends to all", kHoefler, kMachine, evaluator<LogGp>([](const LogGp& m) {
         return m.results(m.L + m.o * m.p + m.bytes_time() * (m.p - 1), m.each(m.p - 1, m.s),
                          m.p - 1);
     })},
    {"kary-tree", "a regular tree of degree k", kHoefler, kWithDegree, &kary_tree},
    {"binomial-tree", "a binomial tree", kHoefler, kMachine, evaluator<LogGp>([](const LogGp& m) {
         return m.results((m.L + 2 * m.o + m.bytes_time()) * m.log(), m.each(m.p - 1, m.s),
                          m.log());
     })},
    {"binomial-tree-personalised", "a binomial tree, a block for each rank", kHoefler, kMachine,
     evaluator<LogGp>([](const LogGp& m) {
         return m.results((2 * m.o + m.L) * m.log() + m.bytes_time() * (m.p - 1),
                          {m.p - 1, m.s * m.p / 2 * m.log()}, m.log());
     })},
    {"kary-tree-personalised", "a regular tree of degree k, a block for each rank", kHoefler,
     kWithDegree, &kary_tree_personalised},
    {"split-binary-tree", "a binary tree, half of the data on each side", kHoefler, kMachine,
     evaluator<LogGp>([](const LogGp& m) {
         const double half = m.bytes_time() / 2;
         return m.results((m.L + 2 * (m.o + half) + m.o) * log2_up(m.p) + 2 * m.o + m.L + half,
                          m.each(2 * (m.p - 1), m.s / 2), 3);
     })},
    {"pipelined-binary-tree", "a binary tree in segments", kHoefler, kWithSegments,
     evaluator<LogGp>([](const LogGp& m) {
         FormulaResults results =
             m.results(m.pipelined_time(m.s), m.each((m.p - 1) * m.segments, m.s / m.segments),
                       2 * m.segments);
         results.emplace_back("segments_optimal", std::sqrt(m.bytes_time() * (m.log() - 1) / m.o));
         return results;
     })},
    {"pipelined-binary-tree-personalised", "a binary tree in segments, a block for each rank",
     kHoefler, kWithSegments, &pipelined_tree_personalised},
    {"pipeline", "a chain in segments", kHoefler, kWithSegments,
     evaluator<LogGp>([](const LogGp& m) {
         const double piece = m.o + m.bytes_time() / m.segments;
         return m.results((m.segments - 1) * piece + (m.p - 1) * (piece + m.L + m.o),
                          m.each((m.p - 1) * m.segments, m.s / m.segments), m.segments);
     })},
    {"double-tree", "two binary trees in segments", kHoefler, kWithSegments,
     evaluator<LogGp>([](const LogGp& m) {
         const double pieces = (m.p - 1) * m.segments;
         return m.results(m.L + 3 * m.o + m.bytes_time() + m.pipelined_time(m.s / 2),
                          {2 + 2 * pieces, m.s + 2 * pieces * (m.s / 2 / m.segments)},
                          2 * m.segments);
     })},
    {"direct", "each rank sends to each other", kHoefler, kMachine,
     evaluator<LogGp>([](const LogGp& m) {
         const double printed = m.L + (m.p - 1) * (m.o + m.bytes_time());
         FormulaResults results = m.results(printed + m.o, m.each(m.p * (m.p - 1), m.s), m.p - 1);
         results.emplace_back("time_printed", printed);
         return results;
     })},
    {"butterfly", "recursive doubling", kHoefler, kMachine, evaluator<LogGp>([](const LogGp& m) {
         return m.results((2 * m.o + m.bytes_time() + m.L) * m.log(), m.each(m.p * m.log(), m.s),
                          m.log());
     })},
    {"butterfly-personalised", "recursive doubling of blocks", kHoefler, kMachine,
     evaluator<LogGp>([](const LogGp& m) {
         return m.results((2 * m.o + m.L) * m.log() + m.bytes_time() * (m.p - 1),
                          {m.p * m.log(), m.s * (m.p - 1) * m.p}, m.log());
     })}};

template <class Named>
std::string names_of(const Named& all) {
    std::string names;
    for (const auto& each : all) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
    return names;
}

}  // namespace

double messages_optimal(double ratio, double scale) {
    using boost::math::policies::domain_error;
    using boost::math::policies::ignore_error;
    constexpr boost::math::policies::policy<domain_error<ignore_error>> kQuiet;  // returns NaN
    return std::exp(boost::math::lambert_w0((ratio - 1) / scale, kQuiet) + 1) - 1;
}

std::span<const Formula> formulas() {
    return kFormulas;
}

base::Result<FormulaResults> evaluate_formula(std::string_view name,
                                              std::span<const FormulaValue> given) {
    const auto formula = std::ranges::find(kFormulas, name, &Formula::name);
    if (formula == std::end(kFormulas))
        return base::fail(Status::argument, "unknown formula '{}'; known: {}", name,
                          names_of(kFormulas));
    std::vector<double> values;
    for (const FormulaArgument& argument : formula->arguments) values.push_back(argument.usual);
    for (const FormulaValue& value : given) {
        const auto at = std::ranges::find(formula->arguments, value.name, &FormulaArgument::name);
        if (at == formula->arguments.end())
            return base::fail(Status::argument, "{} has no argument '{}'; it has {}", name,
                              value.name, names_of(formula->arguments));
        if (!(value.value >= at->least && value.value <= at->most))
            return base::fail(Status::argument, "{}: {} is not in {}..{}", value.name, value.value,
                              at->least, at->most);
        values[static_cast<std::size_t>(at - formula->arguments.begin())] = value.value;
    }
    return formula->evaluate(values);
}

}  // namespace weft::lab
