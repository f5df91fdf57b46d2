// SPDX-License-Identifier: BSD-3-Clause
// Goal: collectives along trees take exactly the rounds, messages, bytes and reductions of their
// formulas. The LogP tree is optimal, pipelines cut long buffers into segments, and the program of
// one rank out of a million is short.
// Method: the verifier's counts are compared with formulas; the LogP model is simulated; the steps
// of programs are counted.
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <ranges>

#include "collectives/patterns/range_tree.hpp"
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/figures.hpp"

namespace weft::collectives {
namespace {

struct TreeRow {
    std::string spec;
    std::function<Count(Count n)> depth;
    std::function<Count(Count n)> children_max;
};

std::vector<TreeRow> trees() {
    std::vector<TreeRow> rows{
        {"flat", [](Count n) { return one_if(n > 1); }, [](Count n) { return n - 1; }}};
    const auto add_kary = [&](const std::string& spec, Count k) {
        rows.push_back({spec, [=](Count n) { return kary_levels(k, n); },
                        [=](Count n) { return std::min(k, n - 1); }});
    };
    const auto add_knomial = [&](const std::string& spec, Count k) {
        rows.push_back({spec, [=](Count n) { return digits_max(k, n); },
                        [=](Count n) { return single_digits(k, n); }});
    };
    add_kary("kary", 2);
    add_kary("pipelined-binary", 2);
    add_kary("chain", 1);
    for (const Count k : {1U, 3U, 63U}) add_kary(fmt::format("kary:k={}", k), k);
    add_knomial("knomial", 4);
    add_knomial("binomial", 2);
    for (const Count k : {2U, 3U}) add_knomial(fmt::format("knomial:k={}", k), k);
    return rows;
}

TEST(TreeProof, BroadcastsHaveTheRoundsAndBytesOfTheirFormulas) {
    for (const TreeRow& tree : trees())
        expect_all("broadcast", tree.spec, one_per_rank, [&](Count n, Count) {
            return Figures{tree.depth(n), n - 1, n * (n - 1), tree.children_max(n) * n};
        });
}

TEST(ReduceProof, ReductionsHaveTheRoundsAndBytesOfTheirBroadcasts) {
    for (const TreeRow& tree : trees())
        expect_all("reduce", tree.spec, one_per_rank, [&](Count n, Count) {
            return Figures{tree.depth(n), n - 1, n * (n - 1), n * one_if(n > 1),
                           tree.children_max(n) * n};
        });
    expect_all("reduce", "logp-optimal", one_per_rank, [](Count n, Count root) {
        const auto broadcast =
            prove("broadcast", "logp-optimal",
                  {.size = static_cast<Rank>(n), .root = static_cast<Rank>(root), .elements = n});
        return Figures{broadcast.rounds, n - 1, n * (n - 1), n * one_if(n > 1),
                       broadcast.bytes_sent_max / 8};
    });
}

TEST(ReduceProof, RankOrderTakesAtMostOneMoreMessage) {
    for (const TreeRow& tree : trees()) {
        for (Rank size = 1; size <= 17; ++size) {
            for (Rank root = 0; root < size; ++root) {
                const auto verdict =
                    prove("reduce", tree.spec,
                          {.size = size, .root = root, .elements = 5, .ordered = true});
                ASSERT_TRUE(verdict.valid && verdict.ordered) << tree.spec << ' ' << size;
                const Count extra = one_if(root != 0 && tree.spec != "flat");
                EXPECT_EQ(verdict.messages, static_cast<Count>(size - 1) + extra) << tree.spec;
            }
        }
    }
}

TEST(ReduceBroadcast, EverySizeAndTreeIsRight) {
    for (const TreeRow& tree : trees()) {
        const std::string spec = fmt::format("reduce-broadcast:tree=({})", tree.spec);
        expect_all("allreduce", spec, one_per_rank, [&](Count n, Count) {
            return Figures{2 * tree.depth(n), 2 * (n - 1), 2 * n * (n - 1), kOpen,
                           tree.children_max(n) * n};
        });
        const auto verdict = prove("allreduce", spec, {.size = 31, .elements = 1});
        EXPECT_TRUE(verdict.ordered && verdict.bit_identical && verdict.synchronizing);
        EXPECT_LE(verdict.descriptors_max, tree.children_max(31) + 1);
    }
}

/// Returns the sum of the depths of all ranks: the blocks of all messages of a gather.
Count depths(const std::string& tree, Rank size) {
    const auto programs =
        generate_all("broadcast", *parse_spec(tree), {.size = size, .root = 0, .elements = 1});
    std::vector<Count> depth(static_cast<std::size_t>(size), 0);
    std::queue<Rank> next{{0}};
    for (; !next.empty(); next.pop())
        for (const plan::Step& step : programs[static_cast<std::size_t>(next.front())].steps) {
            if (step.kind != plan::StepKind::put) continue;
            depth[static_cast<std::size_t>(step.peer)] =
                depth[static_cast<std::size_t>(next.front())] + 1;
            next.push(step.peer);
        }
    return std::accumulate(depth.begin(), depth.end(), Count{0});
}

TEST(TreeProof, GathersAndScattersSendEachBlockOverItsPath) {
    for (const TreeRow& tree : trees()) {
        const auto total = [&](Count n) { return depths(tree.spec, static_cast<Rank>(n)); };
        for (const char* collective : {"gather", "scatter"}) {
            // figures_test.cpp has the flat tree; no gather or scatter uses a knomial tree.
            if (tree.spec == "flat" || tree.spec.starts_with("knomial")) continue;
            expect_all(collective, tree.spec, one_per_rank, [&](Count n, Count) {
                return Figures{tree.depth(n), n - 1, total(n), kOpen};
            });
            const auto verdict =
                prove(collective, tree.spec, {.size = 31, .root = 5, .elements = 31});
            EXPECT_LE(verdict.descriptors_max, collective[0] == 'g' ? 1 : tree.children_max(31));
        }
        expect_all(
            "allgather", fmt::format("gather-broadcast:tree=({})", tree.spec), one_per_rank,
            [&](Count n, Count) {
                return Figures{2 * tree.depth(n), 2 * (n - 1), total(n) + n * (n - 1), kOpen};
            });
    }
}

TEST(TreeProof, PipelinedAllreducesGoUpAndDownTheirTrees) {
    const auto expect = [](const std::string& spec, auto rounds_of) {
        expect_all("allreduce", spec, one_per_rank, [&](Count n, Count) {
            const Count signals_to_itself = spec == "dual-root" ? 2 * one_if(n > 1) : 0;
            return Figures{rounds_of(n), 2 * (n - 1), 2 * n * (n - 1),
                           kOpen,        kOpen,       signals_to_itself};
        });
        for (const Rank size : {2, 3, 9, 16, 31})
            for (const Count segments : {3U, 7U, 20U}) {
                const auto n = static_cast<Count>(size);
                const auto verdict =
                    prove("allreduce", fmt::format("{}:segments={}", spec, segments),
                          {.size = size, .elements = 40, .ordered = true});
                ASSERT_TRUE(verdict.valid && verdict.ordered && verdict.bit_identical)
                    << spec << ' ' << size << verdict.error;
                EXPECT_EQ(verdict.messages, 2 * segments * (n - 1));
                EXPECT_LE(verdict.descriptors_max, 10U);
            }
    };
    expect("chain", [](Count n) { return 2 * (n - 1); });
    expect("pipelined-binary", [](Count n) { return 2 * kary_levels(2, n); });
    expect("dual-root", [](Count n) { return n == 1 ? 0 : 2 * kary_levels(2, (n + 1) / 2) + 1; });
}

TEST(TreeProof, TheTwoHalvesTakeSeparateTrees) {
    const auto twice = [](Count n) { return 2 * n; };
    const auto messages = [](Count n) { return 2 * (n - 1); };
    const auto total = [](Count n) { return 2 * n * (n - 1); };
    const auto buffer = [](Count n) { return 2 * n * one_if(n > 1); };
    const auto few = [](Count n) { return n == 2 || n == 3 || n == 5; };
    expect_all("broadcast", "double-tree", twice, [&](Count n, Count) {
        return Figures{log2_ceil(n), messages(n), total(n), buffer(n), 0};
    });
    expect_all("reduce", "double-tree", twice, [&](Count n, Count) {
        return Figures{log2_ceil(n), messages(n), total(n), buffer(n), buffer(n)};
    });
    // Split-binary adds an exchange of the halves, after a broadcast or before a reduce. With two
    // and four ranks, the deepest rank has no counterpart.
    expect_all("reduce", "split-binary", twice, [&](Count n, Count) {
        const Count levels = log2_floor(n);
        return Figures{n == 1 || n == 2 || n == 4 ? levels : levels + 1, messages(n), total(n),
                       buffer(n),
                       n == 1   ? 0
                       : few(n) ? 2 * n
                                : 3 * n};
    });
    expect_all("broadcast", "split-binary", twice, [&](Count n, Count) {
        return Figures{kOpen, messages(n), total(n), kOpen, 0};
    });
    for (Rank size = 1; size <= 64; ++size) {  // a counterpart may be on a higher level
        const auto n = static_cast<Count>(size);
        const auto verdict =
            prove("broadcast", "split-binary", {.size = size, .root = size / 3, .elements = 2 * n});
        EXPECT_LE(verdict.rounds, kary_levels(2, n) + 1) << n;
        EXPECT_GE(verdict.rounds, n > 2 ? kary_levels(2, n) : n - 1) << n;
        EXPECT_LE(verdict.descriptors_max, 3U) << n;
    }
    expect_all("allreduce", "double-tree", twice, [&](Count n, Count) {
        return Figures{2 * log2_ceil(n), 2 * messages(n), 2 * total(n), kOpen, kOpen};
    });
    for (Rank size = 1; size <= 64; ++size) {
        const auto verdict = prove("allreduce", "double-tree", {.size = size, .elements = 20});
        EXPECT_LE(verdict.reduced_bytes_max, 160U) << size;
        EXPECT_TRUE(verdict.ordered || size % 2 == 0) << size;
    }
}

TEST(TreeProof, SegmentsBeyondTwoTakeACreditEach) {
    for (Rank size = 2; size <= 17; ++size) {
        for (const Count segments : {2U, 3U, 7U}) {
            const auto n = static_cast<Count>(size);
            const GenerateRequest request{
                .size = size, .root = size / 3, .elements = 2 * n * segments};
            const auto trees =
                prove("reduce", fmt::format("double-tree:segments={}", segments), request);
            const auto split =
                prove("reduce", fmt::format("split-binary:segments={}", segments), request);
            ASSERT_TRUE(trees.valid && split.valid) << size << trees.error << split.error;
            EXPECT_EQ(trees.signals, 2 * (segments - 2) * (n - 1));
            EXPECT_EQ(split.signals, (segments - 2) * (n - 1 + one_if(n % 2 == 0)));
        }
    }
}

TEST(TreeProof, PipelinesDivideLongBuffersByDefault) {
    const GenerateRequest request{.size = 5, .root = 0, .elements = 40'000, .element_bytes = 8};
    for (const char* spec : {"chain", "pipelined-binary"}) {
        const auto programs = generate_all("broadcast", *parse_spec(spec), request);
        EXPECT_EQ(programs.front().segments, 39U);
        EXPECT_TRUE(prove("broadcast", programs, request.elements).valid);
    }
    const auto given = generate_all("broadcast", *parse_spec("chain:segments=3"), request);
    EXPECT_EQ(given.front().segments, 3U);
}

/// LogP costs, in any unit of time.
struct Costs {
    std::int64_t latency, overhead, gap;
};

/// Returns the time at which the last rank has the message. Each rank puts to its children in the
/// order of its steps.
std::int64_t time_of(const std::vector<plan::Program>& programs, Rank root, Costs costs) {
    std::map<Rank, std::int64_t> arrivals{{root, 0}};  // time at which each rank has the message
    std::queue<Rank> next{{root}};
    std::int64_t last = 0;
    while (!next.empty()) {
        const Rank rank = next.front();
        next.pop();
        std::int64_t start = arrivals[rank];
        last = std::max(last, start);
        for (const plan::Step& step : programs[static_cast<std::size_t>(rank)].steps) {
            if (step.kind != plan::StepKind::put) continue;
            arrivals[step.peer] = start + 2 * costs.overhead + costs.latency;
            start += std::max(costs.gap, costs.overhead);
            next.push(step.peer);
        }
    }
    return last;
}

/// Returns the optimal time: each rank that has the message keeps sending it to further ranks.
std::int64_t least_time(Rank size, Costs costs) {
    using Later = std::greater<>;
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, Later> arrivals;
    std::int64_t last = 0;
    arrivals.push(costs.latency + 2 * costs.overhead);
    for (Rank rank = 1; rank < size; ++rank) {
        last = arrivals.top();
        arrivals.pop();
        arrivals.push(last + std::max(costs.gap, costs.overhead));  // the sender's next message
        arrivals.push(last + costs.latency + 2 * costs.overhead);   // the receiver's first
    }
    return last;
}

TEST(TreeProof, TheLogpTreeTakesTheMinimalTime) {
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

/// Returns, by number of ranks up to `size`, the least time under LogGP in which all ranks get
/// their blocks. Tries all numbers of blocks that the root may send first. `gathers`: the root gets
/// the blocks of all ranks, and may receive any number of them last.
std::vector<std::int64_t> least_times_of_blocks(Rank size, patterns::LogGP costs, bool gathers) {
    const auto [latency, overhead, block] = costs;
    std::vector<std::int64_t> times{0, 0};
    for (std::size_t n = 2; n <= static_cast<std::size_t>(size); ++n) {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (std::size_t m = 1; m < n; ++m) {
            const auto bytes = static_cast<std::int64_t>(m) * block;
            const std::int64_t subtree = latency + overhead + times[m];
            const std::int64_t time = gathers ? std::max(times[n - m], bytes + subtree)
                                              : bytes + std::max(times[n - m], subtree);
            least = std::min(least, overhead + time);
        }
        times.push_back(least);
    }
    return times;
}

TEST(TreeProof, TheLoggpTreeTakesTheMinimalTime) {
    struct Case {
        std::int64_t latency, overhead, block;
    };
    for (const Case c :
         {Case{6, 2, 1}, Case{50, 2, 0}, Case{1, 1, 9}, Case{30, 5, 3}, Case{0, 0, 1}}) {
        const patterns::LogGP costs{c.latency, c.overhead, c.block};
        const auto least = least_times_of_blocks(64, costs, /*gathers=*/false);
        const auto least_gather = least_times_of_blocks(64, costs, /*gathers=*/true);
        const auto spec = *parse_spec(fmt::format("loggp-optimal:latency={},overhead={},block={}",
                                                  c.latency, c.overhead, c.block));
        for (Rank size = 1; size <= 64; ++size) {
            const auto tree = patterns::block_tree(size, costs);
            // The time at which the last rank has its block.
            const std::function<std::int64_t(Rank)> time = [&](Rank nodes) {
                std::int64_t now = 0, last = 0;
                for (const patterns::Branch& branch : tree.branches(nodes)) {
                    now += c.overhead + branch.size * c.block;
                    last = std::max(last, now + c.latency + c.overhead + time(branch.size));
                }
                return last;
            };
            EXPECT_EQ(time(size), least[static_cast<std::size_t>(size)]) << size;
            const auto gather = patterns::block_tree(size, costs, /*gathers=*/true);
            // The time at which the root has received all blocks.
            const std::function<std::int64_t(Rank)> gather_time = [&](Rank nodes) {
                std::int64_t now = 0;
                for (const patterns::Branch& branch : std::views::reverse(gather.branches(nodes)))
                    now = c.overhead + std::max(now, gather_time(branch.size) + c.overhead +
                                                         branch.size * c.block + c.latency);
                return now;
            };
            EXPECT_EQ(gather_time(size), least_gather[static_cast<std::size_t>(size)]) << size;
            for (const char* collective : {"scatter", "gather"}) {
                const auto verdict = prove(
                    collective, spec,
                    {.size = size, .root = size / 2, .elements = static_cast<std::uint64_t>(size)});
                EXPECT_TRUE(verdict.valid) << collective << ' ' << size << ": " << verdict.error;
                EXPECT_EQ(verdict.messages, static_cast<std::uint64_t>(size - 1));
            }
        }
    }
    // Two messages of 2 + 1, then the latency of 6 and the receiver's overhead of 2.
    EXPECT_EQ(least_times_of_blocks(3, {6, 2, 1}, /*gathers=*/false).back(), 14);
}

TEST(TreeProof, TheProgramOfOneRankOfAMillionIsSmall) {
    struct Case {
        const char* collective;
        const char* spec;
        std::uint32_t descriptors_max;
    };
    for (const Case& c : {Case{"broadcast", "kary:k=3", 3}, Case{"broadcast", "knomial:k=5", 36},
                          Case{"broadcast", "logp-optimal", 30}, Case{"broadcast", "chain", 1},
                          Case{"broadcast", "binomial", 20}, Case{"reduce", "knomial:k=5", 1},
                          Case{"allreduce", "reduce-broadcast:tree=(kary:k=2)", 3},
                          Case{"allreduce", "a4,a4,a4,a5,a5,a5,a5,a5,a5", 33}}) {
        std::uint32_t slots = 0;
        for (const Rank rank : {0, 1, 654'321, 999'999}) {
            const GenerateRequest request{.rank = rank, .size = 1'000'000, .elements = 1};
            GenerateRequest rooted = request;
            if (is_rooted(c.collective)) rooted.root = 0;
            const auto program = generate(c.collective, *parse_spec(c.spec), rooted);
            ASSERT_TRUE(program.ok()) << c.spec << ": " << program.failure().text;
            EXPECT_LE(program->descriptors(), c.descriptors_max) << c.spec;
            EXPECT_LT(program->steps.size(), 100U) << c.spec;
            if (slots == 0) slots = program->slots;
            EXPECT_EQ(program->slots, slots) << c.spec;
        }
    }
}

}  // namespace
}  // namespace weft::collectives
