// SPDX-License-Identifier: BSD-3-Clause
// Goal: the algorithm that is chosen takes about the least simulated time of all candidates, for
// any number of ranks and nodes, with a processor for each rank or shared ones. A first choice
// reads few programs.
// Method: the programs of all ranks of every candidate are simulated with the same costs. Programs
// that the selector generates are counted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "collectives/collective_traits.hpp"
#include "run/team/choice.hpp"
#include "tests/support/full_mode.hpp"
#include "tools/lab/cost/cost.hpp"

namespace weft::run {
namespace {

struct Team {
    const char* name;         ///< "RANKS on NODES"
    std::vector<Rank> nodes;  ///< number of ranks of each node
};

std::vector<Rank> even(Rank nodes, Rank each) {
    return std::vector<Rank>(static_cast<std::size_t>(nodes), each);
}

plan::Machine machine_of(const Team& team) {
    plan::Machine machine = machine_over("verbs;ofi_rxm");
    for (std::size_t node = 0; node < team.nodes.size(); ++node)
        machine.node_of.insert(machine.node_of.end(), static_cast<std::size_t>(team.nodes[node]),
                               static_cast<Rank>(node));
    machine.host_processors = machine.host_ranks = 1;
    return machine;
}

std::vector<std::uint64_t> sizes() {
    if (test::full_mode()) return {1, 16, 128, 1024, 8192};
    return {1, 100, 8192};
}

/// Returns the time of a call in a stream by the programs of all ranks.
plan::Time simulated(const plan::Machine& machine, const CallClass& call,
                     const std::string& algorithm) {
    const auto ranks = static_cast<Rank>(machine.node_of.size());
    const auto candidate = candidate_for(machine, ranks, call, algorithm);
    EXPECT_TRUE(candidate.ok()) << algorithm;
    lab::Programs programs{.size = ranks};
    programs.program_of = candidate->program;
    programs.banks = candidate->banks;
    const auto found = lab::simulate_call(programs, buffer_of(ranks, call), machine);
    EXPECT_TRUE(found.ok()) << algorithm;
    return found ? found->in_stream : 0;
}

/// Compares the choices of all collectives with the best candidates. Returns their times, divided
/// by the times of the best candidates, in increasing order.
std::vector<double> relative_times(const plan::Machine& machine, const char* name) {
    const auto ranks = static_cast<Rank>(machine.node_of.size());
    std::vector<double> ratios;
    for (const collectives::CollectiveTraits& traits : collectives::kCollectives) {
        if (traits.has_counts()) continue;
        for (const std::uint64_t elements : sizes()) {
            const CallClass call{.collective = traits.name,
                                 .elements = traits.has_data() ? elements : 0,
                                 .element_bytes = 8};
            const auto choice = rank_algorithms(machine, ranks, call);
            EXPECT_TRUE(choice.ok()) << traits.name;
            if (!choice) continue;
            const auto chosen = static_cast<double>(simulated(machine, call, choice->algorithm()));
            double best = chosen;
            for (const plan::RankedCandidate& candidate : choice->candidates)
                best = std::min(best,
                                static_cast<double>(simulated(machine, call, candidate.algorithm)));
            ratios.push_back(chosen / best);
            EXPECT_LE(chosen, 1.3 * best)
                << name << ": " << traits.name << ' ' << elements << ' ' << choice->algorithm();
            if (!traits.has_data()) break;
        }
    }
    std::ranges::sort(ratios);
    return ratios;
}

TEST(Prediction, ChoosesAboutTheBestCandidate) {
    const std::vector<Team> teams{{"33 on a node", {33}},       {"65 on a node", {65}},
                                  {"66 on 66", even(66, 1)},    {"97 on 97", even(97, 1)},
                                  {"127 on 127", even(127, 1)}, {"130 on 13", even(13, 10)},
                                  {"66 on uneven", {30, 1, 35}}};
    for (const Team& team : teams) {
        for (const std::int64_t processors : {4, 130}) {
            plan::Machine machine = machine_of(team);
            machine.host_ranks = std::ranges::max(team.nodes);
            machine.host_processors = std::min(machine.host_ranks, processors);
            const std::vector<double> ratios = relative_times(machine, team.name);
            EXPECT_LE(ratios[ratios.size() * 9 / 10], 1.05) << team.name << ' ' << processors;
        }
    }
}

/// Returns the processor time of an action in ms.
template <class Action>
double milliseconds(Action action) {
    const auto begin = std::clock();
    action();
    return 1000 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

base::Result<ChosenAlgorithm> choose(const plan::Machine& machine, Rank ranks, const Call& call) {
    return choose_algorithm({.size = ranks, .machine = machine, .provider = "none"},
                            rounded(class_of(call)));
}

TEST(Prediction, TheFirstCallOfEachCollectiveIsPredictedFast) {
    // Limit in ms, several times the usual time: builds may be unoptimized and machines busy.
    constexpr double kMillisecondsMax = 500;
    const plan::Machine machine = machine_of({"2304 on 128", even(128, 18)});
    for (const collectives::CollectiveTraits& traits : collectives::kCollectives) {
        if (traits.has_counts()) continue;
        for (const std::size_t count : {1U, 16U, 128U, 1024U, 8192U}) {
            const Call call{.collective = traits.collective,
                            .count = traits.has_data() ? count : 0,
                            .type = Type::float64,
                            .op = Op::sum,
                            .root = traits.rooted() ? 0 : -1};
            std::string chosen;
            const double taken = milliseconds([&] {
                const auto choice = choose(machine, 2304, call);
                if (choice) chosen = choice->text;
            });
            EXPECT_FALSE(chosen.empty()) << traits.name;
            EXPECT_LT(taken, kMillisecondsMax) << traits.name << ' ' << count;
            fmt::print("{} {}: {:.1f} ms: {}\n", traits.name, count, taken, chosen);
            if (!traits.has_data()) break;
        }
    }
}

TEST(Prediction, TheFirstCallGetsTheBestCandidateFast) {
    constexpr double kSecondsMax = 0.5;  // also for unoptimized builds
    const plan::Machine machine = machine_of({"2304 on 128", even(128, 18)});
    for (const std::size_t count : {1U, 8192U}) {
        const Call call{.collective = Collective::allreduce,
                        .count = count,
                        .type = Type::float64,
                        .op = Op::sum};
        const auto begin = std::clock();
        const auto chosen = choose(machine, 2304, call);
        const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        ASSERT_TRUE(chosen.ok());
        EXPECT_LT(seconds, kSecondsMax);
        const auto all = rank_algorithms(machine, 2304, class_of(call));
        EXPECT_EQ(chosen->text, all->algorithm()) << count;
        fmt::print("{} elements: {:.1f} ms\n", count, seconds * 1000);
    }
}

TEST(Prediction, SkippedCandidatesWouldNotBeChosen) {
    for (const Team& team : {Team{"66 on uneven", {30, 1, 35}}, Team{"130 on 13", even(13, 10)},
                             Team{"97 on a node", {97}}}) {
        const plan::Machine machine = machine_of(team);
        const auto ranks = static_cast<Rank>(machine.node_of.size());
        for (const collectives::CollectiveTraits& traits : collectives::kCollectives) {
            if (traits.has_counts()) continue;
            for (const std::size_t count : {1U, 128U, 8192U}) {
                const Call call{.collective = traits.collective,
                                .count = traits.has_data() ? count : 0,
                                .type = Type::float64,
                                .root = traits.rooted() ? 0 : -1};
                const auto chosen = choose(machine, ranks, call);
                const auto all = rank_algorithms(machine, ranks, class_of(call));
                ASSERT_TRUE(chosen.ok() && all.ok()) << traits.name;
                EXPECT_EQ(chosen->text, all->algorithm())
                    << team.name << ' ' << traits.name << ' ' << count;
            }
        }
    }
}

/// Work of a choice: the numbers of generated programs and of their steps.
struct Effort {
    std::uint64_t programs = 0;
    std::uint64_t steps = 0;
};

Effort effort_of(const plan::Machine& machine, const CallClass& call, std::string& chosen) {
    const auto ranks = static_cast<Rank>(machine.node_of.size());
    auto candidates = *candidates_for(machine, ranks, call);
    Effort effort;
    for (plan::Candidate& candidate : candidates)
        candidate.program = [&effort, made = candidate.program](Rank rank) {
            auto program = made(rank);
            ++effort.programs;
            if (program) effort.steps += program->steps.size();
            return program;
        };
    const auto choice = plan::select(machine, ranks, candidates, buffer_of(ranks, call),
                                     {.bit_identical = call.bit_identical}, plan::Scope::chosen);
    EXPECT_TRUE(choice.ok());
    if (choice) chosen = choice->algorithm();
    return effort;
}

TEST(Prediction, TheFirstCallGeneratesFewPrograms) {
    // For 2,304 ranks, all programs are generated for a few candidates only, and never for a
    // candidate with a step for each rank.
    constexpr std::uint64_t kProgramsMax = 14'000;
    constexpr std::uint64_t kStepsMax = 400'000;
    const plan::Machine machine = machine_of({"2304 on 128", even(128, 18)});
    for (const collectives::CollectiveTraits& traits : collectives::kCollectives) {
        if (traits.has_counts()) continue;
        for (const std::uint64_t elements : {1U, 8192U}) {
            const CallClass call{.collective = traits.name,
                                 .elements = traits.has_data() ? elements : 0,
                                 .element_bytes = 8,
                                 .bit_identical = traits.reduces()};
            std::string chosen;
            const Effort effort = effort_of(machine, call, chosen);
            EXPECT_LE(effort.programs, kProgramsMax) << traits.name << ' ' << elements;
            EXPECT_LE(effort.steps, kStepsMax) << traits.name << ' ' << elements;
            fmt::print("{} {}: {} programs, {} steps: {}\n", traits.name, elements, effort.programs,
                       effort.steps, chosen);
        }
    }
}

TEST(Prediction, TheSimulatorsBestCandidateIsChosen) {
    const auto chosen = [](const Team& team, const CallClass& call) {
        const plan::Machine machine = machine_of(team);
        const auto choice =
            rank_algorithms(machine, static_cast<Rank>(machine.node_of.size()), call);
        EXPECT_TRUE(choice.ok()) << team.name;
        return choice->algorithm();
    };
    CallClass call{
        .collective = "allreduce", .elements = 8192, .element_bytes = 8, .bit_identical = true};
    EXPECT_EQ(chosen({"63 on a node", {63}}, call), "generalized");
    EXPECT_EQ(chosen({"63 on 63", even(63, 1)}, call), "generalized:segments=2");
    call.elements = 16;
    EXPECT_EQ(chosen({"252 on 14", even(14, 18)}, call), "multi-object-small");
    // Integers may be added in any order, so `generalized` may have any r.
    call = {.collective = "allreduce", .elements = 4096, .element_bytes = 4};
    for (const Team& team : {Team{"127 on a node", {127}}, Team{"127 on 127", even(127, 1)}}) {
        plan::Time best = simulated(machine_of(team), call, "generalized");
        for (int r = 1; r <= 7; ++r)
            best = std::min(best,
                            simulated(machine_of(team), call, fmt::format("generalized:r={}", r)));
        EXPECT_LE(simulated(machine_of(team), call, chosen(team, call)), best) << team.name;
    }
}

}  // namespace
}  // namespace weft::run
