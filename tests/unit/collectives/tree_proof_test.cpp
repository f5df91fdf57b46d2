// SPDX-License-Identifier: BSD-3-Clause
// Goal: broadcasts and barriers along trees are right for every size and root, with the rounds,
// messages and bytes of their formulas. Method: the verifier; the formulas are computed apart.
#include <algorithm>
#include <bit>
#include <map>
#include <queue>

#include "collectives/patterns/double_tree.hpp"
#include "tests/unit/collectives/proof.hpp"

namespace weft::collectives {
namespace {

/// Levels below the root of the shallowest tree of n ranks with k children each.
std::uint64_t kary_levels(std::uint64_t k, std::uint64_t n) {
    std::uint64_t levels = 0;
    for (std::uint64_t full = 1, level = 1; full < n; ++levels) {
        level *= k;
        full += level;
    }
    return levels;
}

/// Digits in base k that are not 0, at most, of numbers below n.
std::uint64_t digits_max(std::uint64_t k, std::uint64_t n) {
    std::uint64_t most = 0;
    for (std::uint64_t number = 0; number < n; ++number) {
        std::uint64_t digits = 0;
        for (std::uint64_t rest = number; rest > 0; rest /= k) digits += rest % k != 0 ? 1 : 0;
        most = std::max(most, digits);
    }
    return most;
}

struct Tree {
    const char* spec;
    std::uint64_t (*rounds)(std::uint64_t n);
    std::uint64_t (*sends_max)(std::uint64_t n);  ///< puts of the busiest rank
};

std::uint64_t fewer(std::uint64_t k, std::uint64_t n) {
    return std::min(k, n - 1);
}
/// Children of the root of a k-nomial tree: the numbers below n with one digit that is not 0.
std::uint64_t knomial_children(std::uint64_t k, std::uint64_t n) {
    std::uint64_t children = 0;
    for (std::uint64_t reach = 1; reach < n; reach *= k)
        children += std::min(k - 1, (n - 1) / reach);
    return children;
}

const Tree kTrees[] = {
    {"kary:k=1", [](std::uint64_t n) { return n - 1; },
     [](std::uint64_t n) { return fewer(1, n); }},
    {"kary", [](std::uint64_t n) { return kary_levels(2, n); },
     [](std::uint64_t n) { return fewer(2, n); }},
    {"kary:k=3", [](std::uint64_t n) { return kary_levels(3, n); },
     [](std::uint64_t n) { return fewer(3, n); }},
    {"kary:k=63", [](std::uint64_t n) { return kary_levels(63, n); },
     [](std::uint64_t n) { return fewer(63, n); }},
    {"knomial:k=2", [](std::uint64_t n) { return digits_max(2, n); },
     [](std::uint64_t n) { return knomial_children(2, n); }},
    {"knomial:k=3", [](std::uint64_t n) { return digits_max(3, n); },
     [](std::uint64_t n) { return knomial_children(3, n); }},
    {"knomial", [](std::uint64_t n) { return digits_max(4, n); },
     [](std::uint64_t n) { return knomial_children(4, n); }},
    {"chain", [](std::uint64_t n) { return n - 1; }, [](std::uint64_t n) { return fewer(1, n); }},
    {"pipelined-binary", [](std::uint64_t n) { return kary_levels(2, n); },
     [](std::uint64_t n) { return fewer(2, n); }},
};

TEST(TreeProof, BroadcastsHaveTheRoundsAndBytesOfTheirFormulas) {
    for (const Tree& tree : kTrees) {
        for_each_rooted_request([&](const GenerateRequest& request) {
            const auto verdict = prove("broadcast", tree.spec, request);
            const auto n = static_cast<std::uint64_t>(request.size);
            const std::uint64_t bytes = request.elements * 8;
            ASSERT_TRUE(verdict.valid) << tree.spec << " " << n << ": " << verdict.error;
            EXPECT_TRUE(verdict.bit_identical && verdict.ordered);
            EXPECT_EQ(verdict.rounds, tree.rounds(n)) << tree.spec << " " << n;
            EXPECT_EQ(verdict.messages, n - 1);
            EXPECT_EQ(verdict.signals, 0U);
            EXPECT_EQ(verdict.bytes_total, (n - 1) * bytes);
            EXPECT_EQ(verdict.bytes_sent_max, tree.sends_max(n) * bytes) << tree.spec << " " << n;
            EXPECT_EQ(verdict.reduced_bytes_max, 0U);
        });
    }
}

TEST(TreeProof, TwoHalvesTravelApart) {
    for_each_rooted_request([&](const GenerateRequest& request) {
        const auto n = static_cast<std::uint64_t>(request.size);
        const std::uint64_t bytes = request.elements * 8;
        for (const char* spec : {"split-binary", "double-tree"}) {
            const auto verdict = prove("broadcast", spec, request);
            ASSERT_TRUE(verdict.valid) << spec << " " << n << ": " << verdict.error;
            EXPECT_TRUE(verdict.bit_identical && verdict.ordered);
            EXPECT_EQ(verdict.messages, 2 * (n - 1)) << spec;
            EXPECT_EQ(verdict.bytes_total, (n - 1) * bytes) << spec;
            if (std::string_view(spec) == "double-tree") {
                EXPECT_EQ(verdict.rounds, static_cast<std::uint64_t>(std::bit_width(n - 1))) << n;
                EXPECT_LE(verdict.bytes_sent_max, bytes + 8) << n;  // halves may differ by one
                continue;
            }
            // Down the tree and across; counterparts on the right may be less deep.
            EXPECT_LE(verdict.rounds, kary_levels(2, n) + 1) << n;
            EXPECT_GE(verdict.rounds, n > 2 ? kary_levels(2, n) : (n - 1)) << n;
            EXPECT_LE(verdict.descriptors_max, 3U) << n;
        }
    });
}

TEST(TreeProof, ScatterAndAllgatherMoveWhatTheirFormulasSay) {
    for (int size = 1; size <= 64; ++size) {
        for (Rank root = 0; root < size; ++root) {
            if (size > 17 && root != size / 3) continue;
            const auto n = static_cast<std::uint64_t>(size);
            std::uint64_t bits = 0;
            std::uint64_t bits_max = 0;
            for (std::uint64_t v = 0; v < n; ++v) {
                const auto set = static_cast<std::uint64_t>(std::popcount(v));
                bits += set;
                bits_max = std::max(bits_max, set);
            }
            const auto verdict = prove("broadcast", "scatter-allgather",
                                       {.size = size, .root = root, .elements = n});
            ASSERT_TRUE(verdict.valid) << size << ": " << verdict.error;
            EXPECT_TRUE(verdict.bit_identical && verdict.ordered && verdict.synchronizing);
            EXPECT_EQ(verdict.rounds, n - 1 + bits_max) << n;
            EXPECT_EQ(verdict.messages, (n - 1) * (n + 1));
            EXPECT_EQ(verdict.bytes_total, (bits + n * (n - 1)) * 8);
        }
    }
    for (int size = 1; size <= 9; ++size) {
        for (const std::uint64_t elements : {0U, 1U, 8U, 40U}) {
            for (const std::uint32_t segments : {2U, 5U}) {
                const auto verdict =
                    prove("broadcast", "scatter-allgather",
                          {.size = size, .root = 0, .segments = segments, .elements = elements});
                EXPECT_TRUE(verdict.valid) << size << ": " << verdict.error;
            }
        }
    }
}

TEST(TreeProof, NoRankHasChildrenInBothTrees) {
    for (int size = 2; size <= 600; ++size) {
        const patterns::DoubleTree trees(size);
        for (Rank v = 1; v < size; ++v) {
            const bool first = trees.place(0, v).children[0] >= 0;
            const bool second = trees.place(1, v).children[0] >= 0;
            EXPECT_FALSE(first && second) << v << " of " << size;
        }
    }
}

TEST(TreeProof, PipelinesAndOddCountsAreRight) {
    for (const char* spec : {"kary:k=3", "knomial:k=3", "logp-optimal", "chain", "pipelined-binary",
                             "split-binary", "double-tree"}) {
        const std::uint64_t parts = spec[0] == 's' || spec[0] == 'd' ? 2 : 1;  // of each segment
        for (int size = 1; size <= 17; ++size) {
            for (Rank root = 0; root < size; ++root) {
                for (const std::uint32_t segments : {2U, 5U}) {
                    const auto n = static_cast<std::uint64_t>(size);
                    const std::uint64_t elements = (n + segments) % 4;  // none, too few and enough
                    const GenerateRequest request{
                        .size = size, .root = root, .segments = segments, .elements = elements};
                    const auto verdict = prove("broadcast", spec, request);
                    ASSERT_TRUE(verdict.valid) << spec << " " << size << ": " << verdict.error;
                    EXPECT_EQ(verdict.messages, elements == 0 ? 0 : parts * segments * (n - 1));
                    EXPECT_EQ(verdict.bytes_total, (n - 1) * elements * 8);
                }
            }
        }
    }
}

TEST(TreeProof, PipelinesCutLongVectorsByThemselves) {
    const GenerateRequest request{.size = 5, .root = 0, .elements = 40'000, .element_bytes = 8};
    for (const char* spec : {"chain", "pipelined-binary"}) {
        const auto programs = generate_all("broadcast", *parse_spec(spec), request);
        EXPECT_EQ(programs.front().segments, 39U);
        EXPECT_TRUE(prove("broadcast", programs, request.elements).valid);
    }
    const auto few = generate_all("broadcast", *parse_spec("chain:segments=3"), request);
    EXPECT_EQ(few.front().segments, 3U);
}

TEST(TreeProof, PipelinesHaveConstantDescriptors) {
    for (const std::string spec : {"chain:segments=", "pipelined-binary:segments="}) {
        std::uint64_t descriptors = 0;
        for (const int segments : {2, 9, 50}) {
            const auto verdict = prove("broadcast", spec + std::to_string(segments),
                                       {.size = 13, .root = 4, .elements = 1000});
            EXPECT_TRUE(verdict.valid) << spec << ": " << verdict.error;
            if (descriptors == 0) descriptors = verdict.descriptors_max;
            EXPECT_EQ(verdict.descriptors_max, descriptors);
        }
    }
}

struct Costs {
    std::int64_t latency, overhead, gap;
};

/// When the last rank has the message: each rank puts to its children in the order of its steps.
std::int64_t time_of(const std::vector<plan::Program>& programs, Rank root, Costs costs) {
    std::map<Rank, std::int64_t> has{{root, 0}};
    std::queue<Rank> next{{root}};
    std::int64_t last = 0;
    while (!next.empty()) {
        const Rank rank = next.front();
        next.pop();
        std::int64_t start = has[rank];
        last = std::max(last, start);
        for (const plan::Step& step : programs[static_cast<std::size_t>(rank)].steps) {
            if (step.kind != plan::StepKind::put) continue;
            has[step.peer] = start + 2 * costs.overhead + costs.latency;
            start += std::max(costs.gap, costs.overhead);
            next.push(step.peer);
        }
    }
    return last;
}

/// The least time for n ranks: everybody who has the message sends on, the earliest arrival counts.
std::int64_t least_time(Rank size, Costs costs) {
    using Later = std::greater<>;
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, Later> arrivals;
    std::int64_t last = 0;
    arrivals.push(costs.latency + 2 * costs.overhead);
    for (Rank rank = 1; rank < size; ++rank) {
        last = arrivals.top();
        arrivals.pop();
        arrivals.push(last + std::max(costs.gap, costs.overhead));  // the sender's next one
        arrivals.push(last + costs.latency + 2 * costs.overhead);   // and the receiver's first
    }
    return last;
}

TEST(TreeProof, TheLogpTreeTakesTheLeastTimeThatThereIs) {
    for (const Costs costs : {Costs{6, 2, 4}, Costs{1, 0, 1}, Costs{50, 2, 3}, Costs{1, 5, 20}}) {
        const auto spec = *parse_spec(fmt::format("logp-optimal:latency={},overhead={},gap={}",
                                                  costs.latency, costs.overhead, costs.gap));
        for (int size = 1; size <= 64; ++size) {
            const Rank root = size / 2;
            const auto programs =
                generate_all("broadcast", spec, {.size = size, .root = root, .elements = 1});
            const auto verdict = prove("broadcast", programs, 1);
            EXPECT_TRUE(verdict.valid) << size << ": " << verdict.error;
            EXPECT_EQ(verdict.messages, static_cast<std::uint64_t>(size - 1));
            EXPECT_EQ(time_of(programs, root, costs), least_time(size, costs)) << size;
        }
    }
    EXPECT_EQ(least_time(8, {6, 2, 4}), 24);  // the example of Karp et al.
}

TEST(TreeProof, OneRankOfAMillionIsGeneratedAlone) {
    for (const char* text : {"kary:k=3", "knomial:k=5", "logp-optimal", "chain"}) {
        const auto spec = *parse_spec(text);
        for (const Rank rank : {0, 1, 654321, 999999}) {
            const auto program = generate(
                "broadcast", spec, {.rank = rank, .size = 1000000, .root = 0, .elements = 1});
            ASSERT_TRUE(program.ok()) << text;
            EXPECT_LT(program->steps.size(), 60U) << text;
        }
    }
}

TEST(TreeProof, BarriersSynchronizeUpAndDown) {
    for (int size = 1; size <= 64; ++size) {
        for (const int k : {1, 2, 3, 4, 9, 63}) {
            const auto verdict =
                prove("barrier", fmt::format("tree:k={}", k), {.size = size, .elements = 0});
            const auto n = static_cast<std::uint64_t>(size);
            ASSERT_TRUE(verdict.valid) << size << " k=" << k << ": " << verdict.error;
            EXPECT_TRUE(verdict.synchronizing);
            EXPECT_EQ(verdict.rounds, 2 * kary_levels(static_cast<std::uint64_t>(k), n));
            EXPECT_EQ(verdict.signals, 2 * (n - 1));
            EXPECT_EQ(verdict.messages, 0U);
        }
    }
}

TEST(TreeProof, ProgramsRewrittenForNodesStayRight) {
    const auto check = [](std::string_view collective, const char* text, std::uint64_t elements) {
        const GenerateRequest request{.size = 11, .root = 3, .elements = elements};
        const auto programs = generate_all(collective, *parse_spec(text), request);
        for (Rank per_node = 1; per_node <= 11; ++per_node) {
            const auto verdict = prove(collective, on_nodes(programs, per_node), elements);
            EXPECT_TRUE(verdict.valid)
                << text << " on nodes of " << per_node << ": " << verdict.error;
        }
    };
    for (const char* text :
         {"kary:k=3", "knomial:k=3", "logp-optimal:segments=3", "chain",
          "pipelined-binary:segments=4", "split-binary", "double-tree:segments=3"})
        check("broadcast", text, 6);
    for (const char* text : {"tree:k=1", "tree:k=3"}) check("barrier", text, 0);
}

}  // namespace
}  // namespace weft::collectives
