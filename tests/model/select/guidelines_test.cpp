// SPDX-License-Identifier: BSD-3-Clause
// Goal: choices of the library are consistent (self-consistent guidelines). A barrier takes at most
// the time of an allreduce, which implies one. Twice the bytes take at least the same time. A
// collective takes at most the time of collectives that it can be composed of.
// Method: predictions of the choices, for several machines, nodes, numbers of ranks and sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "collectives/registry.hpp"
#include "run/team/choice.hpp"

namespace weft::run {
namespace {

struct Place {
    std::string name;
    plan::Machine machine;
    Rank ranks;
};

std::vector<Place> places() {
    std::vector<Place> all;
    for (const Rank ranks : {2, 3, 5, 6, 7, 8, 11, 12, 13, 16, 23, 32, 48, 97, 127}) {
        for (const std::int64_t processors : {2, 4096}) {
            for (const Rank each : {ranks, 1, 4}) {
                if (each > ranks) continue;
                Place place{
                    fmt::format("{} ranks, {} a node, {} processors", ranks, each, processors),
                    machine_over(""), ranks};
                for (Rank rank = 0; rank < ranks; ++rank)
                    place.machine.node_of.push_back(rank / each);
                place.machine.host_ranks = ranks;
                place.machine.host_processors = processors;
                all.push_back(std::move(place));
            }
        }
    }
    return all;
}

plan::RankedCandidate chosen(const Place& place, std::string_view collective, std::uint64_t bytes) {
    const auto choice =
        rank_algorithms(place.machine, place.ranks,
                        {.collective = collective, .elements = bytes / 8, .element_bytes = 8});
    EXPECT_TRUE(choice.ok()) << place.name << ' ' << collective;
    return choice->candidates[choice->chosen];
}

/// Returns the predicted time of the choice, or nothing for an unknown collective.
std::optional<plan::Time> best(const Place& place, std::string_view collective,
                               std::uint64_t bytes) {
    if (collectives::find_contract(collective) == nullptr) return std::nullopt;
    return chosen(place, collective, bytes).predicted;
}

TEST(Guidelines, ABarrierTakesNoLongerThanAnAllreduce) {
    int compared = 0;
    for (const Place& place : places()) {
        const plan::RankedCandidate allreduce = chosen(place, "allreduce", 8);
        // A binomial tree of 11 ranks happens to match nodes of 4; barriers have only k-ary trees.
        if (allreduce.algorithm.starts_with("reduce-broadcast")) continue;
        EXPECT_LE(best(place, "barrier", 0), allreduce.predicted) << place.name;
        ++compared;
    }
    EXPECT_GT(compared, 60);
}

TEST(Guidelines, MoreBytesTakeNoLessTime) {
    for (const Place& place : places()) {
        for (const std::string_view collective : {"allreduce", "broadcast"}) {
            std::optional<plan::Time> before;
            for (std::uint64_t bytes = 8; bytes <= 1 << 20; bytes *= 8) {
                // The choice compares this time.
                const plan::Time time = chosen(place, collective, bytes).in_stream;
                if (before) {
                    EXPECT_LE(*before, time) << place.name << ' ' << collective << ' ' << bytes;
                }
                before = time;
            }
        }
    }
}

TEST(Guidelines, AnAllreduceTakesNoLongerThanReduceAndBroadcast) {
    if (collectives::find_contract("reduce") == nullptr) GTEST_SKIP() << "no contract of reduce";
    for (const Place& place : places()) {
        for (const std::uint64_t bytes : {8U, 4096U, 1U << 20}) {
            // An allreduce cannot yet combine an arbitrary reduce with an arbitrary broadcast, so
            // it may take up to 1.5 times their sum.
            EXPECT_LE(2 * *best(place, "allreduce", bytes),
                      3 * (*best(place, "reduce", bytes) + *best(place, "broadcast", bytes)))
                << place.name << ' ' << bytes;
        }
    }
}

/// Returns ranks in blocks on nodes, or dealt round-robin to them.
Place place_of(Rank ranks, Rank nodes, bool dealt) {
    Place place{fmt::format("{} ranks on {} nodes{}", ranks, nodes, dealt ? ", dealt" : ""),
                machine_over(""), ranks};
    const Rank each = (ranks + nodes - 1) / nodes;
    for (Rank rank = 0; rank < ranks; ++rank)
        place.machine.node_of.push_back(dealt ? rank % nodes : rank / each);
    place.machine.host_ranks = each;
    place.machine.host_processors = 4096;
    return place;
}

/// Expects that the chosen algorithm has programs for rank 0 and the last rank.
void expect_programs(const Place& place, CallClass call) {
    const auto choice = rank_algorithms(place.machine, place.ranks, call);
    ASSERT_TRUE(choice.ok()) << place.name << ' ' << call.collective;
    const plan::Contract& contract = collectives::contract(call.collective);
    for (const Rank rank : {0, place.ranks - 1}) {
        const auto program = collectives::generate(
            call.collective, *collectives::parse_spec(choice->algorithm()),
            {.rank = rank,
             .size = place.ranks,
             .root = collectives::is_rooted(call.collective) ? 0 : plan::kNoRank,
             .elements = contract.vector_elements(place.ranks, call.elements),
             .element_bytes = call.element_bytes,
             .ordered = call.ordered,
             .layout = plan::Layout::of(place.machine.node_of)});
        EXPECT_TRUE(program.ok()) << place.name << ' ' << call.collective << ' '
                                  << choice->algorithm() << ": "
                                  << (program.ok() ? "" : program.failure().text);
    }
}

TEST(Choice, TheChosenAlgorithmHasProgramsForTheTeam) {
    for (const Rank ranks : {8, 12, 96, 97}) {
        for (const Rank nodes : {1, 2, 4, ranks}) {
            for (const bool dealt : {false, true}) {
                const Place place = place_of(ranks, nodes, dealt);
                for (const std::string_view collective : collectives::collectives())
                    for (const std::uint64_t elements : {1U, 1024U})
                        for (const bool ordered : {false, true})
                            expect_programs(place, {.collective = collective,
                                                    .elements = elements,
                                                    .element_bytes = 8,
                                                    .ordered = ordered});
            }
        }
    }
}

}  // namespace
}  // namespace weft::run
