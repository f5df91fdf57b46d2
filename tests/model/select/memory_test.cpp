// SPDX-License-Identifier: BSD-3-Clause
// Goal: for long buffers, weft chooses the algorithm that was fastest in measurements.
// Method: choices with built-in costs, and with costs that `weft fit` measured. A model without
// costs of copies, put targets or exposed buffers would choose differently.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "plan/select/select.hpp"
#include "run/job/measured_files.hpp"
#include "run/team/choice.hpp"

namespace weft::plan {
namespace {

base::Result<Choice> choice_of(std::string_view collective, const Machine& machine, Rank ranks,
                               std::uint64_t bytes) {
    return run::rank_algorithms(
        machine, ranks, {.collective = collective, .elements = bytes / 8, .element_bytes = 8});
}

std::string chosen(std::string_view collective, const Machine& machine, Rank ranks,
                   std::uint64_t bytes) {
    const auto choice = choice_of(collective, machine, ranks, bytes);
    EXPECT_TRUE(choice.ok()) << choice.failure().text;
    return choice->algorithm();
}

/// If one of two ranks only sends, successive calls overlap, and the busier rank determines the
/// time of a stream of calls. The machine alternates between two speeds: in a stream, a scan of 64
/// KiB takes 1.8 or 2.6 us through put targets, and 2.5 or 3.2 to 6.8 us in slices.
TEST(MemoryCosts, TheBusierOfTwoLocalRanksDecides) {
    const auto costs = run::parse_costs(
        "near_latency_ns 107\nnear_issue_ns 2.1\nnear_receive_ns 2.1\nnear_ns_per_byte 0.0239\n"
        "near_slot_ns 15\nreduce_ns_per_byte 0.0095\nexpose_ns 461\nmapped_ns 215\n"
        "mapped_ns_per_byte 0.0089\nmapped_reduce_ns_per_byte 0.0044\ncopy_ns_per_byte 0.0105\n"
        "cold_ns_per_byte 0.0055\n");
    ASSERT_TRUE(costs.ok());
    Machine machine = costs->over(run::machine_over(""));
    machine.direct = true;
    const auto choice = choice_of("scan", machine, 2, 64 << 10);
    ASSERT_TRUE(choice.ok());
    const auto candidate = [&](std::string_view name) {
        return *std::ranges::find(choice->candidates, name, &RankedCandidate::algorithm);
    };
    const RankedCandidate linear = candidate("linear:segments=1");
    EXPECT_LT(linear.in_stream, linear.alone);
    // An algorithm in which ranks wait for each other is not faster in a stream.
    const RankedCandidate mapped = candidate("mapped");
    EXPECT_LT(mapped.alone, linear.alone);
    EXPECT_EQ(mapped.in_stream, mapped.alone);
    EXPECT_LT(linear.in_stream, mapped.in_stream);
    EXPECT_EQ(choice->algorithm(), "doubling-123:segments=2") << "rank 0 puts before it copies";
    EXPECT_EQ(chosen("reduce", machine, 2, 64 << 10), "flat") << "1.74 us, in place 1.85";
    for (const char* collective : {"allreduce", "scan", "broadcast"})
        EXPECT_FALSE(chosen(collective, machine, 2, 0).empty()) << "calls without bytes";
}

/// Two ranks with a processor each, over TCP, times in us. From 256 KiB on, a put into a buffer
/// takes less than a copy from a put target (1 MiB: broadcast 94 and 116, scan 149 and 184,
/// gather 128 and 146). A reduction of 1 MiB takes 139 in two pieces, 151 as a whole, and 178 in
/// halves in both directions.
TEST(MemoryCosts, TwoRemoteRanksUseDirectDeliveryForLongBuffers) {
    Machine machine = run::machine_over("net");
    machine.node_of = {0, 1};
    for (const char* collective : {"broadcast", "gather", "scatter", "allgather", "alltoall",
                                   "allreduce", "scan", "exscan"}) {
        EXPECT_TRUE(chosen(collective, machine, 2, 1 << 20).ends_with(":into=vector"))
            << collective;
        EXPECT_FALSE(chosen(collective, machine, 2, 64 << 10).ends_with(":into=vector"))
            << collective;
    }
    EXPECT_EQ(chosen("reduce", machine, 2, 1 << 20), "chain:segments=2");
}

/// On two ranks, two trees are equal to one tree with twice the messages: a double tree of 1 KiB
/// takes 0.2 us, a flat tree 0.04 us.
TEST(MemoryCosts, DoubleTreesAreNoCandidatesForTwoRanks) {
    for (const char* collective : {"broadcast", "reduce", "allreduce"}) {
        const auto has_two_trees = [&](Rank ranks) {
            const auto choice = choice_of(collective, run::machine_over(""), ranks, 1024);
            return std::ranges::any_of(choice->candidates, [](const RankedCandidate& candidate) {
                return candidate.algorithm.starts_with("double-tree");
            });
        };
        EXPECT_FALSE(has_two_trees(2)) << collective;
        EXPECT_TRUE(has_two_trees(3)) << collective;
    }
}

/// The root of a reduction with put targets may continue while its local peers are in later calls.
/// 64 KiB of eight ranks on two processors take 10 us through put targets and 24 us in place; with
/// four ranks 5 to 7 and 10 us.
TEST(MemoryCosts, ShortReductionsOfOversubscribedRanksUsePutTargets) {
    for (const Rank ranks : {4, 8}) {
        Machine oversubscribed = run::machine_over("net");
        oversubscribed.host_ranks = ranks;
        oversubscribed.host_processors = 2;
        oversubscribed.direct = true;
        EXPECT_NE(chosen("reduce", oversubscribed, ranks, 64 << 10), "mapped") << ranks;
        EXPECT_EQ(chosen("reduce", oversubscribed, ranks, 1 << 20), "mapped") << ranks;
    }
}

/// Costs fitted on an EPYC, which alternates between two speeds. Flat gathers and scatters of 64
/// KiB take 4.2 to 19 us with two ranks and 13 to 41 us with four; in place 3.7 to 5.5 and 12 to 18
/// us. Broadcasts, whose root reads the same bytes repeatedly, take 6.5 to 22 us flat and 12 to 14
/// us in place, exchanges of two ranks 8 to 28 us through put targets and 9 to 12 us in place.
TEST(MemoryCosts, LongLocalPutsOccupySenderAndReceiver) {
    const auto costs = run::parse_costs(
        "near_latency_ns 206\nnear_issue_ns 13.8\nnear_receive_ns 13.8\n"
        "near_ns_per_byte 0.0715\nnear_slot_ns 45\nnear_turn_ns 2453\ncall_ns 48\n"
        "reduce_ns_per_byte 0.0272\nexpose_ns 1222\nmapped_ns 153\nmapped_ns_per_byte 0.0362\n"
        "mapped_reduce_ns_per_byte 0.0283\ncopy_ns_per_byte 0.0226\ncold_ns_per_byte 0.008\n"
        "cache_bytes 524288\n");
    ASSERT_TRUE(costs.ok());
    for (const Rank ranks : {2, 4, 8}) {
        Machine machine = run::machine_over("");
        machine.host_ranks = ranks;
        machine.host_processors = 2;
        machine = costs->over(machine);
        machine.direct = true;
        for (const char* collective : {"gather", "scatter", "alltoall"})
            EXPECT_EQ(chosen(collective, machine, ranks, 64 << 10), "mapped") << collective;
        if (ranks > 2) {
            EXPECT_EQ(chosen("broadcast", machine, ranks, 64 << 10), "flat");
            EXPECT_NE(chosen("reduce", machine, ranks, 64 << 10), "mapped");
        }
    }
}

/// Costs of another `weft fit`. For 1 KiB and four ranks, a chain takes 0.46 us, a binomial tree
/// 0.57, a flat tree 0.68. For 64 KiB and eight ranks, a knomial tree takes 33 us, and a flat tree,
/// whose root reduces all inputs, 40 us. Values are geometric means of ten tournaments.
TEST(MemoryCosts, ReductionsFromPutTargetsOccupyTheReceiver) {
    const auto costs = run::parse_costs(
        "near_latency_ns 194.8\nnear_issue_ns 4.2\nnear_receive_ns 4.2\n"
        "near_ns_per_byte 0.0681\nnear_slot_ns 32\nnear_turn_ns 1765\ncall_ns 33.4\n"
        "reduce_ns_per_byte 0.0238\nexpose_ns 822\nmapped_ns 300\nmapped_ns_per_byte 0.0281\n"
        "mapped_reduce_ns_per_byte 0.0241\ncopy_ns_per_byte 0.0309\ncold_ns_per_byte 0.0047\n"
        "cache_bytes 524288\n");
    ASSERT_TRUE(costs.ok());
    const auto choice_on = [&](Rank ranks, std::uint64_t bytes) {
        Machine machine = run::machine_over("");
        machine.host_ranks = ranks;
        machine.host_processors = 2;
        machine = costs->over(machine);
        machine.direct = true;
        return chosen("reduce", machine, ranks, bytes);
    };
    EXPECT_EQ(choice_on(4, 1 << 10), "chain");
    EXPECT_EQ(choice_on(8, 64 << 10), "knomial");
}

/// Neither the owner of a put target filled by the network nor its local peers have the data in
/// their caches. A scatter of 1 MiB to 4 + 4 ranks takes 2.3 ms with direct delivery, and 5.2 ms
/// with one message to the other node.
TEST(MemoryCosts, ReadingPutTargetsCostsLocalPeersAsMuchAsOwners) {
    Machine machine = run::machine_over("net");
    machine.node_of = {0, 0, 0, 0, 1, 1, 1, 1};
    machine.host_ranks = 8;
    machine.host_processors = 2;
    machine.direct = true;
    EXPECT_EQ(chosen("scatter", machine, 8, 1 << 20), "flat:into=vector");
    machine.slot_byte_fs = 0;
    EXPECT_NE(chosen("scatter", machine, 8, 1 << 20), "flat:into=vector");
}

}  // namespace
}  // namespace weft::plan
