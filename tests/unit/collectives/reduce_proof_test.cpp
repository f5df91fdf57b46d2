// SPDX-License-Identifier: BSD-3-Clause
// Goal: reductions to a root are right for every size, root and piece, with the rounds, messages and bytes of
// their formulas, and in rank order where that is asked for. Method: the verifier.
#include <algorithm>

#include "tests/unit/collectives/proof.hpp"

namespace weft::collectives {
namespace {

constexpr const char* kTrees[] = {"flat",        "kary",         "kary:k=3", "binomial",
                                  "knomial:k=3", "logp-optimal", "chain",    "pipelined-binary"};

/// The same tree turned round serves a broadcast.
const char* broadcast_of(const char* tree) {
    return std::string_view(tree) == "binomial" ? "knomial:k=2" : tree;
}

TEST(ReduceProof, TreesMirrorTheBroadcastAlongThem) {
    for (const char* tree : kTrees) {
        for_each_rooted_request([&](const GenerateRequest& request) {
            const auto verdict = prove("reduce", tree, request);
            const auto n = static_cast<std::uint64_t>(request.size);
            ASSERT_TRUE(verdict.valid) << tree << " " << n << ": " << verdict.error;
            const auto broadcast = prove("broadcast", broadcast_of(tree), request);
            EXPECT_EQ(verdict.rounds, broadcast.rounds) << tree << " " << n;
            EXPECT_EQ(verdict.messages, n - 1) << tree;
            EXPECT_EQ(verdict.signals, 0U) << tree;
            EXPECT_EQ(verdict.bytes_total, (n - 1) * request.elements * 8) << tree;
            EXPECT_EQ(verdict.bytes_sent_max, n > 1 ? request.elements * 8 : 0) << tree;
            // Who sends most there receives and reduces most here.
            EXPECT_EQ(verdict.reduced_bytes_max, broadcast.bytes_sent_max) << tree << " " << n;
            EXPECT_TRUE(verdict.bit_identical);
            EXPECT_TRUE(verdict.ordered || request.root != 0) << tree;
        });
    }
}

TEST(ReduceProof, WhereOrderCountsItIsKeptForOneMessageMore) {
    for (const char* tree : kTrees) {
        const bool flat = std::string_view(tree) == "flat";
        for (int size = 1; size <= 17; ++size) {
            for (Rank root = 0; root < size; ++root) {
                for (const std::uint32_t segments : {1U, 3U}) {
                    const auto verdict = prove("reduce", tree,
                                               {.size = size,
                                                .root = root,
                                                .segments = segments,
                                                .elements = 5,
                                                .ordered = true});
                    const auto n = static_cast<std::uint64_t>(size);
                    ASSERT_TRUE(verdict.valid) << tree << " " << size << ": " << verdict.error;
                    EXPECT_TRUE(verdict.ordered) << tree << " " << size << " root " << root;
                    EXPECT_EQ(verdict.messages, segments * (n - 1 + (root == 0 || flat ? 0 : 1)))
                        << tree;
                }
            }
        }
    }
}

TEST(ReduceProof, PipelinesAndOddCountsAreRight) {
    for (const char* tree : kTrees) {
        for (int size = 1; size <= 17; ++size) {
            for (const std::uint32_t segments : {2U, 5U}) {
                const auto n = static_cast<std::uint64_t>(size);
                const std::uint64_t elements = (n + segments) % 4;  // none, too few and enough
                const auto verdict = prove(
                    "reduce", tree,
                    {.size = size, .root = size / 2, .segments = segments, .elements = elements});
                ASSERT_TRUE(verdict.valid) << tree << " " << size << ": " << verdict.error;
                EXPECT_EQ(verdict.messages, elements == 0 ? 0 : segments * (n - 1)) << tree;
                EXPECT_EQ(verdict.bytes_total, (n - 1) * elements * 8) << tree;
            }
        }
    }
}

TEST(ReduceProof, PipelinesHaveConstantDescriptors) {
    for (const std::string tree : {"chain:segments=", "pipelined-binary:segments="}) {
        std::uint64_t descriptors = 0;
        for (const int segments : {2, 9, 50}) {
            const auto verdict = prove("reduce", tree + std::to_string(segments),
                                       {.size = 13, .root = 4, .elements = 1000});
            EXPECT_TRUE(verdict.valid) << tree << ": " << verdict.error;
            if (descriptors == 0) descriptors = verdict.descriptors_max;
            EXPECT_EQ(verdict.descriptors_max, descriptors);
        }
    }
}

TEST(ReduceProof, ProgramsRewrittenForNodesStayRight) {
    for (const char* tree : kTrees) {
        for (const bool ordered : {false, true}) {
            const auto programs = generate_all(
                "reduce", *parse_spec(tree),
                {.size = 11, .root = 3, .segments = 3, .elements = 6, .ordered = ordered});
            for (Rank per_node = 1; per_node <= 11; ++per_node) {
                const auto verdict = prove("reduce", on_nodes(programs, per_node), 6);
                EXPECT_TRUE(verdict.valid)
                    << tree << " on nodes of " << per_node << ": " << verdict.error;
            }
        }
    }
}

}  // namespace
}  // namespace weft::collectives
