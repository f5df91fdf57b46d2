// SPDX-License-Identifier: BSD-3-Clause
// figures.hpp - compares the verifier's counts for calls of up to 64 ranks with formulas.
#pragma once

#include <algorithm>
#include <bit>

#include "plan/schedule/step.hpp"
#include "tests/model/collectives/proof.hpp"

namespace weft::collectives {

using Count = std::uint64_t;

/// Expected counts of one call. `total` (sent by all ranks), `sent_max` and `reduced_max` (by one
/// rank) are in elements. Most tests list the values in the order of the members.
struct Figures {
    Count rounds = 0, messages = 0, total = 0, sent_max = 0, reduced_max = 0, signals = 0;
};
inline constexpr Count kOpen = ~Count{0};  ///< no formula: the count is not compared

/// Returns the number of rounds of a call in which each put has the number of its round.
inline Count put_rounds(const std::vector<plan::Program>& programs) {
    Count rounds = 0;
    for (const plan::Program& program : programs)
        for (const plan::Step& step : program.steps)
            if (step.kind == plan::StepKind::put) rounds = std::max<Count>(rounds, step.signal + 1);
    return rounds;
}

inline void expect_figures(const plan::Verdict& verdict, const Figures& figures,
                           const std::string& call) {
    ASSERT_TRUE(verdict.valid) << call << ": " << verdict.error;
    const auto expect = [&](const char* name, Count actual, Count formula, Count unit) {
        if (formula != kOpen) {
            EXPECT_EQ(actual, formula * unit) << name << " of " << call;
        }
    };
    expect("rounds", verdict.rounds, figures.rounds, 1);
    expect("messages", verdict.messages, figures.messages, 1);
    expect("bytes", verdict.bytes_total, figures.total, 8);
    expect("bytes sent by one rank", verdict.bytes_sent_max, figures.sent_max, 8);
    expect("bytes reduced by one rank", verdict.reduced_bytes_max, figures.reduced_max, 8);
    expect("signals", verdict.signals, figures.signals, 1);
}

/// Calls visit(n, root) for up to 64 ranks: with all roots for n <= 17, else with three roots. The
/// root is 0 if the collective has none.
template <class Visit>
void for_each_call(std::string_view collective, Visit visit) {
    for (Rank size = 1; size <= 64; ++size) {
        for (Rank root = 0; root < (is_rooted(collective) ? size : 1); ++root)
            if (size <= 17 || root == 0 || root == size / 3 || root == size - 1)
                visit(static_cast<Count>(size), root);
    }
}

/// Compares all calls of an algorithm with figures_of(n, root), for buffers of elements_of(n)
/// elements.
template <class Elements, class FiguresOf>
void expect_all(std::string_view collective, const std::string& text, Elements elements_of,
                FiguresOf figures_of) {
    const AlgorithmSpec spec = *parse_spec(text);
    const Properties properties = (*find_algorithm(collective, spec))->properties_of(spec);
    for_each_call(collective, [&](Count n, Rank root) {
        if (properties.power_of_two && !std::has_single_bit(n)) return;
        const auto verdict = prove(collective, spec,
                                   {.size = static_cast<Rank>(n),
                                    .root = is_rooted(collective) ? root : plan::kNoRank,
                                    .elements = elements_of(n)});
        expect_figures(verdict, figures_of(n, static_cast<Count>(root)),
                       fmt::format("{} {} on {} ranks, root {}", collective, text, n, root));
    });
}

// Elements of a buffer of n ranks: one for each rank, or the largest power of two up to n.
inline Count one_per_rank(Count n) {
    return n;
}
inline Count power_of_two_up_to(Count n) {
    return std::bit_floor(n);
}

inline Count log2_floor(Count n) {
    return static_cast<Count>(std::bit_width(n) - 1);
}
inline Count log2_ceil(Count n) {
    return static_cast<Count>(std::bit_width(n - 1));
}
inline Count one_if(bool holds) {
    return holds ? 1 : 0;
}
/// Returns the logarithm of n to base k, rounded up.
inline Count rounds_in_base(Count k, Count n) {
    Count rounds = 0;
    for (Count reach = 1; reach < n; reach *= k) ++rounds;
    return rounds;
}
/// Returns the number of nonzero digits of a number in base k.
inline Count nonzero_digits(Count k, Count number) {
    Count digits = 0;
    for (; number > 0; number /= k) digits += one_if(number % k != 0);
    return digits;
}
/// Returns the number of nonzero digits in base k of all numbers below n.
inline Count nonzero_digits_below(Count k, Count n) {
    Count sum = 0;
    for (Count number = 0; number < n; ++number) sum += nonzero_digits(k, number);
    return sum;
}
/// Returns the maximum number of nonzero digits in base k of a number below n.
inline Count digits_max(Count k, Count n) {
    Count largest = 0;
    for (Count number = 0; number < n; ++number)
        largest = std::max(largest, nonzero_digits(k, number));
    return largest;
}
/// Counts the numbers below n that have one nonzero digit in base k.
inline Count single_digits(Count k, Count n) {
    Count sum = 0;
    for (Count reach = 1; reach < n; reach *= k) sum += std::min(k - 1, (n - 1) / reach);
    return sum;
}
/// Returns the number of levels below the root in a complete k-ary tree of n ranks.
inline Count kary_levels(Count k, Count n) {
    Count levels = 0;
    for (Count full = 1, level = 1; full < n; ++levels) full += level *= k;
    return levels;
}

}  // namespace weft::collectives
