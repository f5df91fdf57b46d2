// SPDX-License-Identifier: BSD-3-Clause
// Goal: predictions have the stated costs, calls get the properties that they require, and choices
// agree with measurements.
// Method: predictions are compared with figures and with the simulator, and choices with the
// fastest algorithms measured on a machine with two processors.
#include "plan/select/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "collectives/registry.hpp"
#include "plan/select/prediction.hpp"
#include "run/team/choice.hpp"
#include "run/team/stencil_exchange.hpp"
#include "tools/simulate/simulate.hpp"

namespace weft::plan {
namespace {

Machine machine_of(Rank ranks, Rank nodes, std::int64_t processors) {
    Machine machine = run::machine_over("");
    for (Rank rank = 0; rank < ranks; ++rank)
        machine.node_of.push_back(static_cast<Rank>(std::int64_t{rank} * nodes / ranks));
    machine.host_ranks = ranks;
    machine.host_processors = processors;
    return machine;
}

Candidate candidate(std::string_view collective, const std::string& text, Rank size,
                    const BufferSize& buffer, const Layout& layout = {}) {
    const collectives::GenerateRequest request{
        .size = size,
        .root = collectives::is_rooted(collective) ? 0 : kNoRank,
        .elements = buffer.elements,
        .element_bytes = buffer.element_bytes,
        .layout = layout};
    Candidate candidate{.algorithm = text, .ordered = true, .bit_identical = true};
    candidate.program = [=, spec = *collectives::parse_spec(text)](Rank rank) {
        collectives::GenerateRequest of_rank = request;
        of_rank.rank = rank;
        return collectives::generate(collective, spec, of_rank);
    };
    return candidate;
}

base::Result<PredictedCost> predict(const Machine& machine, Rank size, const Candidate& candidate,
                                    const BufferSize& buffer) {
    return Prediction(machine, size, candidate, buffer)
        .full(kStepsOfSample, std::numeric_limits<Time>::max());
}

Time predicted(const Machine& machine, Rank size, const Candidate& candidate,
               const BufferSize& buffer) {
    const auto time = predict(machine, size, candidate, buffer);
    EXPECT_TRUE(time.ok()) << time.failure().text;
    return time->alone;
}

/// Simulates the programs of all ranks, each rank on its own node. Returns the time.
Time simulated(const Machine& machine, Rank size, const Candidate& candidate,
               const BufferSize& buffer) {
    MessageModel model;
    model.latency = machine.far.latency;
    model.busy_base = machine.far.issue;
    model.byte_fs = machine.far.byte_fs;
    model.receive = machine.far.receive;
    lab::SimulationInputs setup;
    setup.model = model;
    lab::ImagePart part(model, buffer);
    for (Rank rank = 0; rank < size; ++rank) EXPECT_TRUE(part.add(*candidate.program(rank)).ok());
    return lab::simulate_generic({&part, 1}, setup)->makespan;
}

TEST(Predict, ThousandsOfRanksAgreeWithTheirPrograms) {
    // Predictions for 1024 ranks use the programs of a few ranks. The time grows linearly with the
    // ranks if one rank sends to or receives from all, and logarithmically along a tree.
    for (const auto& [collective, spec] :
         {std::pair{"barrier", "central"}, {"broadcast", "binomial"}, {"broadcast", "flat"}}) {
        const BufferSize buffer{1, 8};
        const Machine machine = machine_of(1024, 1024, 4096);
        const Candidate tried = candidate(collective, spec, 1024, buffer);
        const Time sampled = predicted(machine, 1024, tried, buffer);
        const Time exact = simulated(machine, 1024, tried, buffer);
        EXPECT_NEAR(static_cast<double>(sampled), static_cast<double>(exact),
                    static_cast<double>(exact) * 0.01)
            << spec;
    }
}

TEST(Predict, LocalPutsAreCheaperOnSeveralNodes) {
    const BufferSize buffer{1, 8};
    const Machine two_nodes = machine_of(8, 2, 64);
    const Machine eight_nodes = machine_of(8, 8, 64);
    const auto time_of = [&](const Machine& machine, const char* spec) {
        return predicted(machine, 8, candidate("allreduce", spec, 8, buffer), buffer);
    };
    EXPECT_LT(time_of(two_nodes, "a4,a2"), time_of(eight_nodes, "a4,a2"));
    EXPECT_LT(time_of(two_nodes, "a4,a2"), time_of(two_nodes, "a2,a4"));  // a4 is within a node
}

/// Returns costs that are easy to add up, in ns: latency 100, 10 to send, 20 to receive, 1 for a
/// byte, 7 for a slot (remote: 9), and 1000 until another rank runs on the processor (a turn).
Machine plain_machine(Rank ranks, Rank nodes, std::int64_t processors) {
    Machine machine = machine_of(ranks, nodes, processors);
    machine.reduce = machine.reduce_byte_fs = machine.call = 0;
    machine.near = {.latency = 100'000,
                    .issue = 10'000,
                    .receive = 20'000,
                    .byte_fs = 1'000'000,
                    .slot = 7'000,
                    .turn = 1'000'000};
    machine.far = machine.near;
    machine.far.slot = 9'000;
    return machine;
}

TEST(Predict, APayloadLargerThanACellAddsTheCostOfASlot) {
    for (const Rank nodes : {1, 2}) {
        const auto time_of = [&](std::int64_t processors, std::uint64_t elements) {
            const BufferSize buffer{elements, 8};
            return predicted(plain_machine(2, nodes, processors), 2,
                             candidate("allreduce", "a2", 2, buffer), buffer);
        };
        EXPECT_EQ(time_of(2, 6), 100'000 + 10'000 + 48'000 + 20'000);
        const Time slot = nodes == 1 ? 7'000 : 9'000;
        EXPECT_EQ(time_of(2, 7), 100'000 + 10'000 + 56'000 + slot + 20'000);
        // Both ranks share a processor: two turns, and the work of two ranks. The receiver of a
        // remote message also handles its bytes.
        const Time byte_uses = nodes == 1 ? 2 : 4;
        EXPECT_EQ(time_of(1, 6), 2'100'000 + 2 * 30'000 + byte_uses * 48'000);
        EXPECT_EQ(time_of(1, 7), 2'100'000 + 2 * (30'000 + slot) + byte_uses * 56'000);
    }
}

TEST(Predict, RanksThatShareAProcessorTakeTurns) {
    const BufferSize buffer{1, 8};
    Machine machine = plain_machine(4, 2, 1);  // two ranks on each node; a node is a host
    machine.host_ranks = 2;
    machine.far = {.latency = 500'000,
                   .issue = 40'000,
                   .receive = 60'000,
                   .byte_fs = 2'000'000,
                   .turn = 3'000'000};
    // Three phases (within nodes, between nodes, within nodes) with a latency and two turns each.
    // In addition the work of 6 local messages and 2 remote messages, whose bytes count
    // twice, on 2 processors.
    const Time waits = 2'100'000 + 6'500'000 + 2'100'000;
    const Time work = (6 * (10'000 + 8'000 + 20'000) + 2 * (40'000 + 2 * 16'000 + 60'000)) / 2;
    const char* const spec = "hierarchical:node=(a2),net=(a2)";
    const Candidate hierarchy =
        candidate("allreduce", spec, 4, buffer, Layout::of(machine.node_of));
    const auto found = predict(machine, 4, hierarchy, buffer);
    ASSERT_TRUE(found.ok()) << found.failure().text;
    EXPECT_EQ(found->alone, waits + work);
    EXPECT_EQ(found->in_stream, found->alone) << "calls that synchronize do not overlap";
    EXPECT_EQ(found->messages, 8U);

    // One message from rank 0 to rank 1, in a single call and in a stream of calls. In a stream
    // rank 0 is ahead, so rank 1 does not wait.
    const Candidate flat = candidate("broadcast", "flat", 2, buffer);
    const auto flat_alone = predict(plain_machine(2, 1, 1), 2, flat, buffer);
    ASSERT_TRUE(flat_alone.ok());
    EXPECT_EQ(flat_alone->alone, 2'100'000 + 38'000);
    EXPECT_EQ(flat_alone->in_stream, 38'000);
    // `call` is each rank's time to enter a call. With a processor for each rank it overlaps with
    // waits.
    Machine with_entry = plain_machine(2, 1, 1);
    with_entry.call = 45'000;
    const auto flat_with_entry = predict(with_entry, 2, flat, buffer);
    EXPECT_EQ(flat_with_entry->alone, flat_alone->alone + 2 * 45'000);
    EXPECT_EQ(flat_with_entry->in_stream, 38'000 + 2 * 45'000);
    with_entry.host_processors = 2;
    EXPECT_EQ(predicted(with_entry, 2, flat, buffer), 100'000 + 38'000);
    EXPECT_EQ(predicted(plain_machine(2, 1, 2), 2, flat, buffer), 100'000 + 38'000);
}

TEST(Select, RequirementsOfCallsAreMet) {
    const BufferSize buffer{1, 8};
    const Machine machine = machine_of(8, 8, 64);
    std::vector<Candidate> candidates{
        candidate("allreduce", "a8", 8, buffer), candidate("allreduce", "a2,a2,a2", 8, buffer),
        candidate("allreduce", "butterfly", 8, buffer), candidate("allreduce", "a3", 8, buffer)};
    candidates[1].bit_identical = false;
    candidates[2].ordered = false;
    const auto unrestricted = select(machine, 8, candidates, buffer, {});
    ASSERT_TRUE(unrestricted.ok());
    // The butterfly takes the same time and is listed later. a3 needs three ranks.
    EXPECT_EQ(unrestricted->algorithm(), "a2,a2,a2");
    EXPECT_EQ(unrestricted->candidates.size(), 3U);
    const auto ordered = select(machine, 8, candidates, buffer, {.ordered = true});
    EXPECT_EQ(ordered->algorithm(), "a2,a2,a2");
    const auto identical = select(machine, 8, candidates, buffer, {.bit_identical = true});
    EXPECT_EQ(identical->algorithm(), "butterfly");
    EXPECT_NE(identical->reason.find("a2,a2,a2 would take"), std::string::npos);
    const auto both =
        select(machine, 8, candidates, buffer, {.ordered = true, .bit_identical = true});
    EXPECT_EQ(both->algorithm(), "a8");
    candidates.resize(3);
    candidates.erase(candidates.begin());
    EXPECT_FALSE(
        select(machine, 8, candidates, buffer, {.ordered = true, .bit_identical = true}).ok());
}

std::string chosen(std::string_view collective, const Machine& machine, Rank ranks,
                   std::uint64_t bytes) {
    const auto choice = run::rank_algorithms(
        machine, ranks, {.collective = collective, .elements = bytes / 8, .element_bytes = 8});
    EXPECT_TRUE(choice.ok()) << choice.failure().text;
    return choice->algorithm();
}

TEST(Select, ObjectivesAndLimitsOfDescriptorsDecideBeforeTime) {
    const auto choose = [](Preference preference) {
        return run::rank_algorithms(machine_of(64, 64, 64), 64,
                                    {.collective = "allreduce",
                                     .elements = 128,
                                     .element_bytes = 8,
                                     .preference = preference});
    };
    const auto chosen_of = [](const Choice& choice) { return choice.candidates[choice.chosen]; };
    const RankedCandidate quickest = chosen_of(*choose({}));
    EXPECT_EQ(quickest.descriptors, 0U);  // not counted for the usual objective

    // Two trees send 2 x 63 messages of 1 KiB, fewer bytes than any exchange of whole buffers. A
    // message costs 16.5 pJ, a byte 8100 pJ, and the call's time 0.5 W.
    const auto economical = choose({.objective = base::Objective::energy});
    const RankedCandidate least = chosen_of(*economical);
    EXPECT_EQ(least.algorithm, "reduce-broadcast:tree=(kary:k=4)");
    EXPECT_GT(least.alone, quickest.alone);
    EXPECT_EQ(least.energy_pj,
              126 * 33 / 2 + 126 * 1024 * 8100 + static_cast<std::uint64_t>(least.alone) / 2);
    for (const RankedCandidate& other : economical->candidates)
        EXPECT_GE(other.energy_pj, least.energy_pj) << other.algorithm;
    EXPECT_TRUE(economical->reason.starts_with("least energy")) << economical->reason;

    const auto small = choose({.objective = base::Objective::descriptors});
    const std::uint64_t fewest = chosen_of(*small).descriptors;
    for (const RankedCandidate& other : small->candidates)
        EXPECT_GE(other.descriptors, fewest) << other.algorithm;
    EXPECT_TRUE(small->reason.starts_with("fewest descriptors")) << small->reason;

    const auto limited = choose({.descriptors_max = 3});
    EXPECT_LE(chosen_of(*limited).descriptors, 3U);
    for (const RankedCandidate& other : limited->candidates) {
        EXPECT_EQ(other.fulfils, other.descriptors <= 3) << other.algorithm;
        if (other.descriptors <= 3) {
            EXPECT_GE(other.in_stream, chosen_of(*limited).in_stream) << other.algorithm;
        }
    }
    EXPECT_GT(chosen_of(*limited).in_stream, quickest.in_stream);
    if (fewest > 1) {
        const auto none = choose({.descriptors_max = static_cast<std::uint32_t>(fewest - 1)});
        ASSERT_FALSE(none.ok());
        EXPECT_NE(none.failure().text.find("WEFT_DESCRIPTORS_MAX"), std::string::npos);
    }
}

TEST(Select, ChoicesAgreeWithMeasurementsOnTwoProcessors) {
    // The fastest algorithms by medians of weft bench, on one node, and over TCP on nodes of one
    // rank.
    for (const Rank ranks : {4, 8, 16}) {
        EXPECT_EQ(chosen("barrier", machine_of(ranks, 1, 2), ranks, 0),
                  fmt::format("dissemination:k={}", ranks - 1));
        EXPECT_EQ(chosen("allreduce", machine_of(ranks, 1, 2), ranks, 8),
                  fmt::format("a{}", ranks));
        EXPECT_EQ(chosen("barrier", machine_of(ranks, ranks, 2), ranks, 0), "central");
        for (const std::uint64_t bytes : {8U, 4096U, 65536U})
            EXPECT_EQ(chosen("allreduce", machine_of(ranks, ranks, 2), ranks, bytes),
                      fmt::format("c{0}m{0},e{0}m{0}", ranks));
    }
    EXPECT_EQ(chosen("allreduce", machine_of(8, 1, 2), 8, 4096), "c8m8,e8m8");
    EXPECT_EQ(chosen("allreduce", machine_of(2, 2, 2), 2, 8), "a2");
    EXPECT_EQ(chosen("barrier", machine_of(2, 1, 2), 2, 0), "dissemination");
}

TEST(Select, OverlappingCallsBetweenNodesAreChosenByWork) {
    const auto over_net = [](std::int64_t processors) {
        Machine machine = run::machine_over("net");
        machine.node_of = {0, 1, 2, 3};
        machine.host_ranks = 4;
        machine.host_processors = processors;
        return machine;
    };
    // Measured time of a call in a stream, in us: scan 6 to 7 (recursive doubling 10 to 14),
    // broadcast 6 to 7 (flat 10 to 14).
    EXPECT_TRUE(chosen("scan", over_net(2), 4, 8).starts_with("linear"));
    EXPECT_NE(chosen("broadcast", over_net(2), 4, 8), "flat");
    EXPECT_FALSE(chosen("scan", over_net(64), 4, 8).starts_with("linear"));
    // In a stream only work counts, and one message is less work than its pieces.
    EXPECT_EQ(chosen("scan", over_net(2), 4, 65536), "linear:segments=1");
    // Long buffers: a root that sends to all shares its processor with a receiver
    // (flat 635, binomial 326).
    EXPECT_EQ(chosen("broadcast", over_net(2), 4, 1 << 20), "binomial:into=vector");
    // Puts of whole buffers need no put targets: scan 307 us (four pieces 465), exscan 288 (848).
    for (const char* collective : {"scan", "exscan"})
        EXPECT_EQ(chosen(collective, over_net(2), 4, 1 << 20), "linear:into=vector");
    // In a chain of 64 ranks, waits still count.
    Machine large = over_net(2);
    large.node_of.resize(64);
    for (std::size_t i = 0; i < 64; ++i) large.node_of[i] = static_cast<Rank>(i);
    large.host_ranks = 64;
    EXPECT_FALSE(chosen("broadcast", large, 64, 8).starts_with("chain"));
}

/// Times of a call in a stream, in us: medians of weft bench, four or eight ranks on four
/// nodes of one host.
TEST(Select, RepliesAndTheBusiestProcessorLimitAStream) {
    const auto over_net = [](Rank ranks) {
        Machine machine = machine_of(ranks, 4, 2);
        machine.far = run::machine_over("net").far;
        return machine;
    };
    // Other algorithms wait for answers in each call: 14 us, linear 4 us.
    for (const std::uint64_t bytes : {8U, 1024U, 4096U})
        for (const char* collective : {"scan", "exscan"})
            EXPECT_EQ(chosen(collective, over_net(8), 8, bytes), "linear") << bytes;
    // kary sends the same number of messages as binomial, but three of them from the root's
    // processor: 7.1 us, binomial 4.5 us.
    EXPECT_EQ(chosen("broadcast", over_net(4), 4, 8), "binomial");
    EXPECT_EQ(chosen("scatter", over_net(4), 4, 8), "binomial");
}

/// Each method of reading data of local peers has its costs, and the reason names the method.
TEST(Select, TheReasonNamesTheLocalTransferMethod) {
    Machine machine = machine_of(2, 1, 2);
    const auto ranked = [](const Machine& on, std::uint64_t elements) {
        return *run::rank_algorithms(
            on, 2, {.collective = "broadcast", .elements = elements, .element_bytes = 8});
    };
    const auto has_reason = [](const Choice& choice, std::string_view words) {
        return choice.reason.find(words) != std::string::npos;
    };
    EXPECT_FALSE(has_reason(ranked(machine, 1 << 17), "buffers of local peers"));
    machine.direct = true;
    const Choice in_place = ranked(machine, 1 << 17);
    EXPECT_EQ(in_place.algorithm(), "mapped");
    EXPECT_TRUE(has_reason(in_place, "by using buffers of local peers in place"))
        << in_place.reason;
    Machine slow = machine;
    slow.mapped *= 100;
    EXPECT_TRUE(has_reason(ranked(slow, 1 << 13), "through put targets"));
    EXPECT_FALSE(
        has_reason(ranked(machine, 1), "buffers of local peers"));  // the buffer is too short
    const Choice copied = ranked(with_kernel_copies(machine), 1 << 17);
    EXPECT_EQ(copied.algorithm(), "mapped");
    EXPECT_TRUE(has_reason(copied, "by having the kernel copy")) << copied.reason;
    EXPECT_GT(copied.candidates[copied.chosen].alone, in_place.candidates[in_place.chosen].alone);
}

/// With one rank on each node there are no local peers. Blocks of different sizes use put targets.
TEST(Select, TheReasonNamesDirectDelivery) {
    const auto ranked = [](bool counted) {  // `counted`: with blocks of different sizes
        run::CallClass call{.collective = "allgather", .elements = 1 << 17, .element_bytes = 8};
        call.counted = counted;
        return *run::rank_algorithms(machine_of(4, 4, 4), 4, call);
    };
    const auto count_direct = [](const Choice& choice) {
        return std::ranges::count(choice.candidates, true, &RankedCandidate::delivers_directly);
    };
    const Choice choice = ranked(false);
    EXPECT_GT(count_direct(choice), 0);
    EXPECT_EQ(choice.reason.find("local peers"), std::string::npos) << choice.reason;
    EXPECT_NE(choice.reason.find("putting into the buffers of ranks on other nodes"),
              std::string::npos)
        << choice.reason;
    EXPECT_EQ(count_direct(ranked(true)), 0);
}

TEST(Predict, AccessInPlaceOnAMiddleNodeIsNoted) {
    Machine machine = machine_of(6, 1, 6);
    machine.node_of = {0, 1, 1, 1, 1, 2};  // rank 0 and the last rank have no local peer
    machine.direct = true;
    const BufferSize buffer{1 << 17, 8};
    const char* const spec = "hierarchical:node=flat,net=recursive-doubling,near=mapped";
    const Candidate hierarchy =
        candidate("allreduce", spec, 6, buffer, Layout::of(machine.node_of));
    const auto found = predict(machine, 6, hierarchy, buffer);
    ASSERT_TRUE(found.ok()) << found.failure().text;
    EXPECT_TRUE(found->in_place);
}

TEST(Select, OverlappingCallsOnSharedProcessorsAreChosenByWork) {
    for (const char* collective : {"scan", "exscan"}) {
        for (const Rank ranks : {8, 16}) {
            for (const std::uint64_t bytes : {8U, 64U, 1024U}) {
                EXPECT_EQ(chosen(collective, machine_of(ranks, 1, 2), ranks, bytes), "linear");
                const bool reductions_count = collective[0] == 'e' && ranks == 16 && bytes == 1024;
                EXPECT_EQ(chosen(collective, machine_of(ranks, 1, 64), ranks, bytes),
                          reductions_count ? "doubling-123" : "recursive-doubling");
            }
        }
    }
    // A root that receives from all ranks is a bottleneck. In measurements, flat trees take 1.2 to
    // 1.9 times the time of binomial trees with 4 ranks, and about the same time with 8 and 16.
    EXPECT_NE(chosen("reduce", machine_of(4, 1, 2), 4, 8), "flat");
    EXPECT_EQ(chosen("broadcast", machine_of(16, 1, 2), 16, 8), "flat");
    // A root that sends is a bottleneck if it writes several cells of another processor in a row,
    // as in a scatter; a broadcast has one cell for all ranks. A scatter with 8 ranks takes 0.9 us
    // with flat, 0.5 us with binomial.
    for (const Rank ranks : {4, 8, 16})
        EXPECT_EQ(chosen("scatter", machine_of(ranks, 1, 2), ranks, 8), "binomial") << ranks;
}

/// Measured times on two processors in us, in slices (and in a chain of ranks): with 2 ranks 26
/// (67) for 1 MiB and 2.7 (5.2) for 64 KiB; with 4 ranks 69 (106) for 1 MiB.
TEST(Select, LongScansInPlaceAreDividedIntoSlices) {
    for (const auto& [ranks, bytes] : {std::pair{2, 64U << 10}, {2, 1U << 20}, {4, 1U << 20}}) {
        for (const Rank processors : {Rank{2}, ranks}) {
            Machine machine = machine_of(ranks, 1, processors);
            machine.direct = true;
            EXPECT_EQ(chosen("scan", machine, ranks, bytes), "mapped") << ranks << " " << bytes;
        }
    }
}

TEST(Select, ShortBuffersAreNotUsedInPlace) {
    Machine machine = machine_of(2, 1, 2);
    machine.direct = true;
    for (const char* collective : {"allreduce", "reduce", "scan", "broadcast"}) {
        EXPECT_NE(chosen(collective, machine, 2, 16384), "mapped") << collective;
        EXPECT_EQ(chosen(collective, machine, 2, 1 << 20), "mapped") << collective;
    }
    // Of input and output, the buffer with a block for each rank decides whether a call is long.
    EXPECT_NE(chosen("gather", machine, 2, 8192), "mapped");
}

TEST(Select, ShortBlocksOfManyNeighborsAreCombined) {
    using collectives::NeighborWay;
    const auto stencil = collectives::Stencil::make(
        collectives::Grid({3, 3, 3}, {true, true, true}), collectives::box_offsets(3, 1));
    for (const auto data : {collectives::NeighborData::same, collectives::NeighborData::own}) {
        const auto way_on = [&](const Machine& machine, std::uint64_t bytes) {
            return *run::quicker_way(machine, *stencil, data, bytes);
        };
        const Machine machine = machine_of(27, 27, 27);
        EXPECT_EQ(way_on(machine, 8), NeighborWay::combined);  // 6 messages instead of 26
        EXPECT_EQ(way_on(machine_of(27, 27, 2), 8), NeighborWay::combined);
    }
    EXPECT_EQ(*run::quicker_way(machine_of(27, 27, 27), *stencil, collectives::NeighborData::own,
                                1 << 20),
              NeighborWay::direct);
    // On a line, combining saves no message.
    const auto line =
        collectives::Stencil::make(collectives::Grid({27}, {true}), collectives::box_offsets(1, 1));
    EXPECT_EQ(*run::quicker_way(machine_of(27, 27, 27), *line, collectives::NeighborData::own, 8),
              NeighborWay::direct);
}

TEST(Select, AMillionRanksCanBeRanked) {
    Machine machine = run::machine_over("");
    machine.node_of.resize(1'000'000);
    for (std::size_t i = 0; i < machine.node_of.size(); ++i)
        machine.node_of[i] = static_cast<Rank>(i);
    for (const char* collective : {"barrier", "broadcast", "allreduce"}) {
        const auto choice =
            run::rank_algorithms(machine, 1'000'000, {.collective = collective, .elements = 8});
        ASSERT_TRUE(choice.ok()) << choice.failure().text;
        EXPECT_GT(choice->candidates.size(), 1U);
    }
}

}  // namespace
}  // namespace weft::plan
