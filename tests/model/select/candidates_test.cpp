// SPDX-License-Identifier: BSD-3-Clause
// Goal: radices, trees and pieces that depend on the costs of the machine are among the candidates.
// Method: choices for the costs of a fast network, one rank on each node. At each point the chosen
// algorithm was within 2 % of the fastest of up to 580 specs with other parameters.
#include <gtest/gtest.h>

#include <string>

#include "run/bind/bind.hpp"
#include "run/job/measured_files.hpp"
#include "run/team/choice.hpp"

namespace weft::run {
namespace {

plan::Machine fast_network(Rank ranks) {
    const auto costs = parse_costs(
        "near_latency_ns 150\nnear_issue_ns 30\nnear_receive_ns 20\nnear_ns_per_byte 0.06\n"
        "far_latency_ns 900\nfar_issue_ns 150\nfar_receive_ns 100\nfar_ns_per_byte 0.05\n"
        "reduce_ns_per_byte 0.02\n");
    plan::Machine machine = costs->over(machine_over(""));
    for (Rank rank = 0; rank < ranks; ++rank) machine.node_of.push_back(rank);
    return machine;
}

std::string chosen(std::string_view collective, Rank ranks, std::uint64_t bytes) {
    const CallClass call{.collective = collective, .elements = bytes / 8, .element_bytes = 8};
    const auto choice = rank_algorithms(fast_network(ranks), ranks, call);
    EXPECT_TRUE(choice.ok()) << choice.failure().text;
    return choice.ok() ? choice->algorithm() : "";
}

TEST(Candidates, BruckHasTheRadixOfTheMachine) {
    EXPECT_EQ(chosen("alltoall", 61, 8), "bruck:k=8");
    EXPECT_EQ(chosen("alltoall", 61, 1024), "bruck:k=8");
    EXPECT_EQ(chosen("allgather", 61, 8), "bruck:k=8");
    EXPECT_EQ(chosen("allgather", 61, 4096), "bruck:k=8");
    EXPECT_EQ(chosen("allgather", 32, 65536), "bruck:k=6");
}

TEST(Candidates, TreesAreOptimalForTheMachine) {
    EXPECT_EQ(chosen("broadcast", 61, 8), "logp-optimal:latency=31,overhead=0,gap=4");
    EXPECT_EQ(chosen("broadcast", 113, 4096), "logp-optimal:latency=15,overhead=0,gap=4");
    EXPECT_EQ(chosen("reduce", 61, 8), "logp-optimal:latency=46,overhead=0,gap=4");
}

TEST(Candidates, PiecesBalanceBytesMessagesAndCredits) {
    EXPECT_EQ(chosen("broadcast", 61, 65536), "circulant:blocks=4,segments=3");
    EXPECT_EQ(chosen("broadcast", 61, 1 << 20), "circulant:blocks=15,segments=3");
    EXPECT_EQ(chosen("reduce", 61, 65536), "circulant:blocks=4,segments=3");
    EXPECT_EQ(chosen("reduce", 67, 1 << 20), "circulant:blocks=18,segments=2");
}

TEST(Candidates, ExchangesAreCutIntoSegments) {
    EXPECT_EQ(chosen("allreduce", 61, 65536), "generalized:r=2,segments=2");
    EXPECT_EQ(chosen("allreduce", 113, 65536), "generalized:r=3,segments=2");
    EXPECT_EQ(chosen("allreduce", 61, 1 << 20), "generalized:segments=2");
    EXPECT_EQ(chosen("allreduce", 67, 1 << 20), "generalized:segments=2");
}

TEST(Candidates, SegmentsWithoutRoomArePredictedOneAtATime) {
    // Eight copies of the slots exceed a bank of 2 MiB; two fit.
    const CallClass call{.collective = "allreduce", .elements = 102'400, .element_bytes = 8};
    // Returns true if a program that is predicted for this bank fits into 2 MiB.
    const auto fits_if_predicted_for = [&](std::uint64_t bank_bytes) {
        plan::Machine machine = fast_network(4);
        machine.bank_bytes = bank_bytes;
        const auto candidate = candidate_for(machine, 4, call, "recursive-doubling:segments=8");
        const auto program = candidate->program(1);
        return has_room(*program, {.elements = call.elements,
                                   .element_bytes = call.element_bytes,
                                   .shape = {.bulk_bytes = 2 << 20}});
    };
    EXPECT_TRUE(fits_if_predicted_for(2 << 20));
    EXPECT_FALSE(fits_if_predicted_for(64 << 20)) << "all segments are in flight";
}

}  // namespace
}  // namespace weft::run
