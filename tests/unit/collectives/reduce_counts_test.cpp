// SPDX-License-Identifier: BSD-3-Clause
// Goal: reductions to a root that cut the vector are right for every size, root, count and piece, with exactly
// the rounds, messages, bytes and reductions of their formulas. Method: the verifier; the formulas are computed
// apart, on vectors that divide evenly, and odd counts are only proved right.
#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "tests/unit/collectives/proof.hpp"

namespace weft::collectives {
namespace {

/// All roots of small sizes, some of larger ones.
void for_each_root(const std::function<void(std::uint64_t, Rank)>& visit) {
    for (int size = 1; size <= 64; ++size) {
        for (Rank root = 0; root < size; ++root) {
            if (size > 17 && root != 0 && root != size / 3 && root != size - 1) continue;
            visit(static_cast<std::uint64_t>(size), root);
        }
    }
}

plan::Verdict prove_reduce(const std::string& spec, std::uint64_t n, Rank root,
                           std::uint64_t elements) {
    const auto verdict =
        prove("reduce", spec, {.size = static_cast<int>(n), .root = root, .elements = elements});
    EXPECT_TRUE(verdict.valid) << spec << ' ' << n << " to " << root << ": " << verdict.error;
    EXPECT_TRUE(verdict.bit_identical);
    EXPECT_EQ(verdict.signals, 0U) << spec;
    return verdict;
}

std::uint64_t log2_floor(std::uint64_t n) {
    return static_cast<std::uint64_t>(std::bit_width(n) - 1);
}

/// What number `number` of a gather to number `top` sends, of m bytes: once, where it first differs.
std::uint64_t gathered(std::uint64_t m, std::uint64_t number, std::uint64_t top) {
    return number == top ? 0 : m >> std::bit_width(number ^ top);
}

TEST(ReduceCounts, ARingSendsAVectorFromEachRank) {
    for_each_root([](std::uint64_t n, Rank root) {
        const auto verdict = prove_reduce("ring", n, root, n);
        EXPECT_TRUE(verdict.synchronizing) << n;
        EXPECT_EQ(verdict.rounds, n > 1 ? n : 0);
        EXPECT_EQ(verdict.messages, (n + 1) * (n - 1));
        EXPECT_EQ(verdict.bytes_total, (n + 1) * (n - 1) * 8);
        EXPECT_EQ(verdict.bytes_sent_max, n > 1 ? n * 8 : 0);
        EXPECT_EQ(verdict.reduced_bytes_max, (n - 1) * 8);
    });
}

/// Longest chain of messages: fold, halve, gather; the numbers of pairs begin two messages later.
std::uint64_t halving_rounds(std::uint64_t p, std::uint64_t pairs, std::uint64_t top) {
    std::vector<std::uint64_t> depth(p);
    for (std::uint64_t number = 0; number < pairs; ++number) depth[number] = 2;
    for (std::uint64_t bit = 1; bit < p; bit *= 2) {
        const std::vector<std::uint64_t> before = depth;
        for (std::uint64_t number = 0; number < p; ++number)
            depth[number] = std::max(before[number], before[number ^ bit] + 1);
    }
    for (std::uint64_t bit = p / 2; bit > 0; bit /= 2)
        for (std::uint64_t number = 0; number < p; ++number)
            if (((number ^ top) & (bit | ~(2 * bit - 1))) == 0)
                depth[number] = std::max(depth[number], depth[number ^ bit] + 1);
    return *std::ranges::max_element(depth);
}

TEST(ReduceCounts, HalvingDoublingHasRabenseifnersFigures) {
    for_each_root([](std::uint64_t n, Rank root) {
        const std::uint64_t p = std::bit_floor(n);
        const std::uint64_t pairs = n - p;
        const std::uint64_t m = 2 * p * 8;
        const auto place = static_cast<std::uint64_t>(root);
        const std::uint64_t top = place < 2 * pairs ? place / 2 : place - pairs;
        const auto verdict = prove_reduce("halving-doubling", n, root, 2 * p);
        EXPECT_TRUE(verdict.ordered) << n;
        EXPECT_TRUE(verdict.synchronizing || pairs > 0) << n;
        const std::uint64_t steps = log2_floor(n);
        EXPECT_EQ(verdict.rounds, halving_rounds(p, pairs, top)) << n << " to " << root;
        EXPECT_LE(verdict.rounds, 2 * steps + (pairs > 0 ? 2 : 0)) << n;
        EXPECT_TRUE(verdict.rounds == 2 * steps || pairs > 0) << n;
        EXPECT_EQ(verdict.messages, p * steps + p - 1 + 3 * pairs) << n;
        EXPECT_EQ(verdict.bytes_total, p * m - m + 3 * pairs * m / 2 + steps * m / 2) << n;
        std::uint64_t most = pairs > 0 ? m : 0;  // who does not speak for its pair
        for (std::uint64_t number = 0; number < p; ++number)
            most =
                std::max(most, m - m / p + (number < pairs ? m / 2 : 0) + gathered(m, number, top));
        EXPECT_EQ(verdict.bytes_sent_max, most) << n << " to " << root;
        EXPECT_EQ(verdict.reduced_bytes_max, m - m / p + (pairs > 0 ? m / 2 : 0)) << n;
    });
}

TEST(ReduceCounts, BinaryBlocksSendUpOnce) {
    for_each_root([](std::uint64_t n, Rank root) {
        const std::uint64_t p = std::bit_floor(n);
        const std::uint64_t m = p * 8;
        const bool outside = static_cast<std::uint64_t>(root) >= p;
        const std::uint64_t top = outside ? 0 : static_cast<std::uint64_t>(root);
        const auto verdict = prove_reduce("binary-blocks", n, root, p);
        EXPECT_TRUE(verdict.ordered) << n;
        EXPECT_TRUE(verdict.synchronizing || n != p) << n;
        EXPECT_EQ(verdict.rounds, 2 * log2_floor(n)) << n;
        // All ranks of smaller blocks send a vector: what they halve, and the rest up.
        std::uint64_t total = (n - p) * m;
        std::uint64_t most = n > p ? m : 0;
        for (std::uint64_t number = 0; number < p; ++number) {
            const std::uint64_t sent =
                m - m / p + gathered(m, number, top) + (outside && number == 0 ? m / p : 0);
            total += sent;
            most = std::max(most, sent);
        }
        EXPECT_EQ(verdict.bytes_total, total) << n;
        EXPECT_EQ(verdict.bytes_sent_max, most) << n;
        EXPECT_EQ(verdict.reduced_bytes_max, n > p ? m : m - m / p) << n;
        if (n == p) {
            const auto halving = prove_reduce("halving-doubling", n, root, p);
            EXPECT_EQ(verdict.messages, halving.messages) << n;
            EXPECT_EQ(verdict.bytes_sent_max, halving.bytes_sent_max) << n;
        }
    });
}

TEST(ReduceCounts, TwoHalvesTravelApart) {
    for_each_root([](std::uint64_t n, Rank root) {
        const std::uint64_t m = 2 * n * 8;
        for (const bool trees : {true, false}) {
            const auto verdict =
                prove_reduce(trees ? "double-tree" : "split-binary", n, root, 2 * n);
            EXPECT_EQ(verdict.messages, 2 * (n - 1));
            EXPECT_EQ(verdict.bytes_total, (n - 1) * m);
            EXPECT_EQ(verdict.bytes_sent_max, n > 1 ? m : 0);
            if (trees) {
                EXPECT_EQ(verdict.rounds, static_cast<std::uint64_t>(std::bit_width(n - 1))) << n;
                EXPECT_EQ(verdict.reduced_bytes_max, n > 1 ? m : 0) << n;
                continue;
            }
            // An exchange, then up; of two and four ranks the one without a counterpart is deepest.
            const std::uint64_t levels = log2_floor(n);
            EXPECT_EQ(verdict.rounds, n == 1 || n == 2 || n == 4 ? levels : levels + 1) << n;
            const bool few = n == 2 || n == 3 || n == 5;
            EXPECT_EQ(verdict.reduced_bytes_max, n == 1 ? 0 : few ? m : m / 2 * 3) << n;
        }
    });
}

TEST(ReduceCounts, PiecesOfTheTreesCostACreditEach) {
    for (int size = 2; size <= 17; ++size) {
        for (const std::uint64_t segments : {2U, 3U, 7U}) {
            const auto n = static_cast<std::uint64_t>(size);
            const GenerateRequest request{
                .size = size, .root = size / 3, .elements = 2 * n * segments};
            const auto trees =
                prove("reduce", fmt::format("double-tree:segments={}", segments), request);
            ASSERT_TRUE(trees.valid) << size << ": " << trees.error;
            EXPECT_EQ(trees.messages, 2 * segments * (n - 1));
            EXPECT_EQ(trees.signals, 2 * (segments - 2) * (n - 1));
            const auto split =
                prove("reduce", fmt::format("split-binary:segments={}", segments), request);
            ASSERT_TRUE(split.valid) << size << ": " << split.error;
            EXPECT_EQ(split.messages, 2 * segments * (n - 1));
            EXPECT_EQ(split.signals, (segments - 2) * (n - 1 + (n % 2 == 0 ? 1 : 0)));
        }
    }
}

TEST(ReduceCounts, PipelinesHaveConstantDescriptors) {
    for (const std::string spec :
         {"ring", "halving-doubling", "binary-blocks", "double-tree", "split-binary"}) {
        std::uint64_t descriptors = 0;
        for (const int segments : {3, 9, 50}) {
            const auto verdict = prove("reduce", fmt::format("{}:segments={}", spec, segments),
                                       {.size = 13, .root = 4, .elements = 1000});
            EXPECT_TRUE(verdict.valid) << spec << ": " << verdict.error;
            if (descriptors == 0) descriptors = verdict.descriptors_max;
            EXPECT_EQ(verdict.descriptors_max, descriptors) << spec;
        }
    }
}

/// Those that cut the vector into blocks or halves; the others are proved in reduce_proof_test.cpp.
bool cuts(std::string_view spec) {
    constexpr std::array kNames{"ring", "halving-doubling", "binary-blocks", "double-tree",
                                "split-binary"};
    return std::ranges::any_of(kNames, [&](const char* name) { return spec.starts_with(name); });
}

TEST(ReduceCounts, EveryAlgorithmIsRightForEveryCountPieceAndRoot) {
    std::uint32_t turn = 0;
    for (const std::string& spec : specs_to_try("reduce")) {
        const std::uint64_t most = cuts(spec) ? 17 : 7;
        for_each_root([&](std::uint64_t n, Rank root) {
            // All of their sizes up to 64 were proved above, for other counts.
            if (n > most && (!cuts(spec) || spec.find(':') != spec.npos || root != 0)) return;
            for (const std::uint64_t elements :
                 {std::uint64_t{0}, std::uint64_t{1}, n - 1, n, n + 1}) {
                if (n > most && elements != n + 1) continue;
                const bool ordered = (*find_algorithm("reduce", *parse_spec(spec)))
                                         ->properties_of(*parse_spec(spec))
                                         .ordered;
                const auto verdict = prove("reduce", spec,
                                           {.size = static_cast<int>(n),
                                            .root = root,
                                            .segments = 1 + turn++ % 3,
                                            .elements = elements,
                                            .ordered = ordered});
                ASSERT_TRUE(verdict.valid) << spec << ' ' << n << " to " << root << " of "
                                           << elements << ": " << verdict.error;
                EXPECT_TRUE(verdict.ordered || !ordered) << spec << ' ' << n << " to " << root;
            }
        });
    }
}

TEST(ReduceCounts, WhatDoesNotKeepRankOrderIsRefusedWhereItCounts) {
    for (const char* spec : {"ring", "double-tree", "split-binary"}) {
        const auto refused = generate("reduce", *parse_spec(spec),
                                      {.size = 6, .root = 0, .elements = 6, .ordered = true});
        ASSERT_FALSE(refused.ok()) << spec;
        EXPECT_EQ(refused.failure().text,
                  fmt::format("reduce {} combines ranks out of order, and the operation does not "
                              "commute",
                              spec));
    }
}

TEST(ReduceCounts, ProgramsRewrittenForNodesStayRight) {
    for (const std::string& spec : specs_to_try("reduce")) {
        for (const int size : {6, 7, 11}) {
            const auto programs =
                generate_all("reduce", *parse_spec(spec),
                             {.size = size, .root = 3, .segments = 3, .elements = 6});
            for (Rank per_node = 1; per_node <= size; ++per_node) {
                const auto verdict = prove("reduce", on_nodes(programs, per_node), 6);
                EXPECT_TRUE(verdict.valid) << spec << " of " << size << " on nodes of " << per_node
                                           << ": " << verdict.error;
            }
        }
    }
}

}  // namespace
}  // namespace weft::collectives
