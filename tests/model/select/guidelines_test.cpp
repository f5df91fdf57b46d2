// SPDX-License-Identifier: BSD-3-Clause
// Goal: predicted times of the chosen algorithms obey self-consistent guidelines. A barrier takes
// at most the time of an allreduce, which includes a barrier. More bytes take at least the same
// time. An allreduce takes at most 1.5 times the sum of a reduce and a broadcast.
// Method: predictions for several machines, nodes, numbers of ranks and sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "collectives/registry.hpp"
#include "run/team/choice.hpp"

namespace weft::run {
namespace {

/// A team on a machine.
struct Setting {
    std::string name;
    plan::Machine machine;
    Rank ranks;
};

std::vector<Setting> settings() {
    std::vector<Setting> all;
    for (const Rank ranks : {2, 3, 5, 6, 7, 8, 11, 12, 13, 16, 23, 32, 48, 97, 127}) {
        for (const std::int64_t processors : {2, 4096}) {
            for (const Rank each : {ranks, 1, 4}) {
                if (each > ranks) continue;
                Setting setting{
                    fmt::format("{} ranks, {} a node, {} processors", ranks, each, processors),
                    machine_over(""), ranks};
                for (Rank rank = 0; rank < ranks; ++rank)
                    setting.machine.node_of.push_back(rank / each);
                setting.machine.host_ranks = ranks;
                setting.machine.host_processors = processors;
                all.push_back(std::move(setting));
            }
        }
    }
    return all;
}

plan::RankedCandidate chosen(const Setting& setting, std::string_view collective,
                             std::uint64_t bytes) {
    const auto choice =
        rank_algorithms(setting.machine, setting.ranks,
                        {.collective = collective, .elements = bytes / 8, .element_bytes = 8});
    EXPECT_TRUE(choice.ok()) << setting.name << ' ' << collective;
    return choice->candidates[choice->chosen];
}

/// Returns the predicted time of the chosen algorithm, or nothing for an unknown collective.
std::optional<plan::Time> best_time(const Setting& setting, std::string_view collective,
                                    std::uint64_t bytes) {
    if (collectives::find_contract(collective) == nullptr) return std::nullopt;
    return chosen(setting, collective, bytes).alone;
}

TEST(Guidelines, ABarrierTakesNoLongerThanAnAllreduce) {
    int compared = 0;
    for (const Setting& setting : settings()) {
        const plan::RankedCandidate allreduce = chosen(setting, "allreduce", 8);
        // Barriers have only k-ary trees. A binomial tree can fit the nodes better, for example
        // that of 11 ranks on nodes of 4.
        if (allreduce.algorithm.starts_with("reduce-broadcast")) continue;
        EXPECT_LE(best_time(setting, "barrier", 0), allreduce.alone) << setting.name;
        ++compared;
    }
    EXPECT_GT(compared, 60);
}

TEST(Guidelines, MoreBytesTakeNoLessTime) {
    for (const Setting& setting : settings()) {
        for (const std::string_view collective : {"allreduce", "broadcast"}) {
            std::optional<plan::Time> before;
            for (std::uint64_t bytes = 8; bytes <= 1 << 20; bytes *= 8) {
                // in_stream is the time that the choice compares.
                const plan::Time time = chosen(setting, collective, bytes).in_stream;
                if (before) {
                    EXPECT_LE(*before, time) << setting.name << ' ' << collective << ' ' << bytes;
                }
                before = time;
            }
        }
    }
}

TEST(Guidelines, AnAllreduceTakesNoLongerThanReduceAndBroadcast) {
    if (collectives::find_contract("reduce") == nullptr) GTEST_SKIP() << "no contract of reduce";
    for (const Setting& setting : settings()) {
        for (const std::uint64_t bytes : {8U, 4096U, 1U << 20}) {
            // An allreduce cannot yet combine an arbitrary reduce with an arbitrary broadcast, so
            // it may take up to 1.5 times their sum.
            EXPECT_LE(2 * *best_time(setting, "allreduce", bytes),
                      3 * (*best_time(setting, "reduce", bytes) +
                           *best_time(setting, "broadcast", bytes)))
                << setting.name << ' ' << bytes;
        }
    }
}

/// Returns a team with blocks of consecutive ranks on nodes or, if `round_robin`, one rank after
/// the other on the next node.
Setting setting_of(Rank ranks, Rank nodes, bool round_robin) {
    Setting setting{
        fmt::format("{} ranks on {} nodes{}", ranks, nodes, round_robin ? ", dealt" : ""),
        machine_over(""), ranks};
    const Rank each = (ranks + nodes - 1) / nodes;
    for (Rank rank = 0; rank < ranks; ++rank)
        setting.machine.node_of.push_back(round_robin ? rank % nodes : rank / each);
    setting.machine.host_ranks = each;
    setting.machine.host_processors = 4096;
    return setting;
}

/// Expects that the chosen algorithm has programs for rank 0 and the last rank.
void expect_programs(const Setting& setting, CallClass call) {
    const auto choice = rank_algorithms(setting.machine, setting.ranks, call);
    ASSERT_TRUE(choice.ok()) << setting.name << ' ' << call.collective;
    const plan::Contract& contract = collectives::contract(call.collective);
    for (const Rank rank : {0, setting.ranks - 1}) {
        const auto program = collectives::generate(
            call.collective, *collectives::parse_spec(choice->algorithm()),
            {.rank = rank,
             .size = setting.ranks,
             .root = collectives::is_rooted(call.collective) ? 0 : plan::kNoRank,
             .elements = contract.vector_elements(setting.ranks, call.elements),
             .element_bytes = call.element_bytes,
             .ordered = call.ordered,
             .layout = plan::Layout::of(setting.machine.node_of)});
        EXPECT_TRUE(program.ok()) << setting.name << ' ' << call.collective << ' '
                                  << choice->algorithm() << ": "
                                  << (program.ok() ? "" : program.failure().text);
    }
}

TEST(Choice, TheChosenAlgorithmHasProgramsForTheTeam) {
    for (const Rank ranks : {8, 12, 96, 97}) {
        for (const Rank nodes : {1, 2, 4, ranks}) {
            for (const bool round_robin : {false, true}) {
                const Setting setting = setting_of(ranks, nodes, round_robin);
                for (const std::string_view collective : collectives::collectives())
                    for (const std::uint64_t elements : {1U, 1024U})
                        for (const bool ordered : {false, true})
                            expect_programs(setting, {.collective = collective,
                                                      .elements = elements,
                                                      .element_bytes = 8,
                                                      .ordered = ordered});
            }
        }
    }
}

}  // namespace
}  // namespace weft::run
