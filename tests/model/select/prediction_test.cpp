// SPDX-License-Identifier: BSD-3-Clause
// Goal: the prediction for a candidate agrees within 5 % with the time that the generic simulation
// engine gives for its programs, for any number of ranks and any nodes. Choices are fast.
// Method: the programs of all ranks are simulated with the same costs, for every candidate of
// every collective. A prediction that extrapolates from 16, 32 and 64 ranks, or ignores nodes,
// would be wrong by factors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "collectives/registry.hpp"
#include "collectives/transfer.hpp"
#include "plan/schedule/step.hpp"
#include "plan/select/put_models.hpp"
#include "plan/simulate/simulate.hpp"
#include "run/team/choice.hpp"
#include "tests/support/full_mode.hpp"

namespace weft::run {
namespace {

struct Team {
    const char* name;
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

/// Returns the programs of all ranks, with puts to local peers: buffers are not used in place.
std::vector<plan::Program> programs_of(const CallClass& call, const std::string& algorithm,
                                       const plan::Layout& layout) {
    const auto spec =
        collectives::with_local_puts(call.collective, *collectives::parse_spec(algorithm));
    collectives::GenerateRequest request{
        .size = layout.size(),
        .root = collectives::is_rooted(call.collective) ? 0 : plan::kNoRank,
        .elements =
            collectives::contract(call.collective).vector_elements(layout.size(), call.elements),
        .element_bytes = call.element_bytes,
        .layout = layout};
    std::vector<plan::Program> programs;
    for (request.rank = 0; request.rank < request.size; ++request.rank)
        programs.push_back(*collectives::generate(call.collective, spec, request));
    return programs;
}

/// Returns the time of the generic engine.
plan::Time simulated(const plan::Machine& machine, const CallClass& call,
                     const std::string& algorithm) {
    const plan::Layout layout = plan::Layout::of(machine.node_of);
    const std::vector<plan::Program> programs = programs_of(call, algorithm, layout);
    const plan::VectorSize vector{
        collectives::contract(call.collective).vector_elements(layout.size(), call.elements),
        call.element_bytes};
    const plan::PutModels models = plan::put_models(machine, true, true);
    plan::Surroundings around;
    around.model = models.model;
    plan::ImagePart part(models.model, vector, models.far);
    for (const plan::Program& program : programs) EXPECT_TRUE(part.add(program).ok());
    const auto outcome = plan::simulate_generic({&part, 1}, around);
    EXPECT_TRUE(outcome.ok()) << algorithm;
    return outcome ? outcome->makespan : 0;
}

/// Compares all candidates with at most `messages_max` messages, for each count of elements.
/// Returns the number of compared candidates.
int compare(const Team& team, std::string_view collective,
            const std::vector<std::uint64_t>& elements, std::uint64_t messages_max) {
    const plan::Machine machine = machine_of(team);
    const auto ranks = static_cast<Rank>(machine.node_of.size());
    int compared = 0;
    for (const std::uint64_t count : elements) {
        const CallClass call{.collective = collective, .elements = count, .element_bytes = 8};
        const auto choice = rank_algorithms(machine, ranks, call);
        EXPECT_TRUE(choice.ok()) << team.name << ' ' << collective;
        if (!choice) continue;
        for (const plan::RankedCandidate& candidate : choice->candidates) {
            if (candidate.messages > messages_max) continue;
            const auto exact = static_cast<double>(simulated(machine, call, candidate.algorithm));
            EXPECT_NEAR(static_cast<double>(candidate.predicted), exact, 0.05 * exact)
                << team.name << ": " << collective << ' ' << count << ' ' << candidate.algorithm;
            ++compared;
        }
    }
    return compared;
}

std::vector<std::uint64_t> sizes() {
    if (test::full_mode()) return {1, 16, 128, 1024, 8192};
    return {1, 100, 8192};
}

TEST(Prediction, EveryCandidateAgreesWithTheGenericEngine) {
    const std::vector<Team> teams{{"33 on a node", {33}},       {"65 on a node", {65}},
                                  {"66 on 66", even(66, 1)},    {"97 on 97", even(97, 1)},
                                  {"127 on 127", even(127, 1)}, {"130 on 13", even(13, 10)},
                                  {"66 on uneven", {30, 1, 35}}};
    for (const Team& team : teams) {
        int compared = 0;
        for (const collectives::CollectiveTraits& traits : collectives::kCollectives)
            if (!traits.has_counts()) compared += compare(team, traits.name, sizes(), 20'000);
        EXPECT_GT(compared, 100) << team.name;
    }
}

/// If ranks share processors, a prediction from a few ranks' programs agrees with a prediction from
/// all programs. With a processor for each rank, an exact prediction equals the engine's time.
TEST(Prediction, RanksThatShareProcessorsAgreeWithAllPrograms) {
    for (const Team& team : {Team{"97 on a node", {97}}, Team{"66 on 66", even(66, 1)},
                             Team{"130 on 13", even(13, 10)}, Team{"40 on uneven", {9, 1, 30}}}) {
        plan::Machine machine = machine_of(team);
        const auto ranks = static_cast<Rank>(machine.node_of.size());
        machine.host_ranks = team.nodes.size() == 13 ? 10 : ranks;
        machine.host_processors = 4;
        plan::Machine not_shared = machine;
        not_shared.host_processors = ranks;
        int compared = 0;
        for (const collectives::CollectiveTraits& traits : collectives::kCollectives) {
            if (traits.has_counts()) continue;
            const CallClass call{.collective = traits.name,
                                 .elements = traits.has_data() ? std::uint64_t{100} : 0,
                                 .element_bytes = 8};
            const auto vector = vector_of(ranks, call);
            const auto candidates = candidates_for(machine, ranks, call, plan::Scope::all);
            ASSERT_TRUE(candidates.ok()) << traits.name;
            for (const plan::Candidate& candidate : *candidates) {
                const auto quick = plan::predict(machine, ranks, candidate, vector);
                const auto exact =
                    plan::predict(machine, ranks, candidate, vector, {.exact = true});
                if (!quick) continue;
                ASSERT_TRUE(exact.ok()) << exact.failure().text;
                const auto near = [&](plan::Time a, plan::Time b) {
                    EXPECT_NEAR(static_cast<double>(a), static_cast<double>(b),
                                0.05 * static_cast<double>(b))
                        << team.name << ": " << traits.name << ' ' << candidate.algorithm;
                };
                near(quick->time, exact->time);
                near(quick->in_stream, exact->in_stream);
                const auto fast =
                    plan::predict(not_shared, ranks, candidate, vector, {.exact = true});
                EXPECT_EQ(fast->time, simulated(not_shared, call, candidate.algorithm))
                    << team.name << ": " << traits.name << ' ' << candidate.algorithm;
                ++compared;
            }
        }
        EXPECT_GT(compared, 70) << team.name;
    }
}

TEST(Prediction, NodesOfThousandsOfRanksAreConsidered) {
    const Team even_nodes{"2304 on 128", even(128, 18)};
    const Team uneven{"1000 on 7", {143, 150, 1, 200, 199, 150, 157}};
    for (const Team& team : {even_nodes, uneven}) {
        EXPECT_GT(compare(team, "allreduce", {1024}, 30'000), 4) << team.name;
        if (!test::full_mode()) continue;
        int compared = 0;
        for (const collectives::CollectiveTraits& traits : collectives::kCollectives)
            if (!traits.has_counts()) compared += compare(team, traits.name, sizes(), 1'000'000);
        EXPECT_GT(compared, 500) << team.name;
    }
}

TEST(Prediction, RanksWithEqualProgramsArePredictedTogether) {
    // Uneven nodes, so that a few ranks never represent all. `same_as` returns a rank with an equal
    // program. The result must equal the result from all programs to the picosecond.
    const Team team{"21 on uneven", {4, 1, 4, 3, 4, 2, 3}};
    const plan::Machine machine = machine_of(team);
    const auto ranks = static_cast<Rank>(machine.node_of.size());
    int same = 0;
    for (const collectives::CollectiveTraits& traits : collectives::kCollectives) {
        if (traits.has_counts()) continue;
        for (const std::uint64_t elements : {1U, 100U, 8192U}) {
            const CallClass call{.collective = traits.name,
                                 .elements = traits.has_data() ? elements : 0,
                                 .element_bytes = 8};
            const auto candidates = candidates_for(machine, ranks, call, plan::Scope::all);
            ASSERT_TRUE(candidates.ok()) << traits.name;
            for (const plan::Candidate& candidate : *candidates) {
                if (!candidate.same_as) continue;
                for (Rank rank = 0; rank < ranks; ++rank)
                    same += candidate.same_as(ranks, rank) < rank ? 1 : 0;
                const auto quick = plan::predict(machine, ranks, candidate, vector_of(ranks, call));
                if (!quick) continue;
                EXPECT_EQ(quick->time, simulated(machine, call, candidate.algorithm))
                    << traits.name << ' ' << elements << ' ' << candidate.algorithm;
            }
        }
    }
    EXPECT_GT(same, 300);
}

/// Returns the processor time of an action in ms.
template <class Action>
double milliseconds(Action action) {
    const auto begin = std::clock();
    action();
    return 1000 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Prediction, TheFirstCallOfEachCollectiveIsPredictedFast) {
    // Limit in ms, several times the usual time: builds may be unoptimized and machines busy.
    constexpr double kMost = 500;
    const plan::Machine machine = machine_of({"2304 on 128", even(128, 18)});
    for (const collectives::CollectiveTraits& traits : collectives::kCollectives) {
        if (traits.has_counts()) continue;
        for (const std::size_t count : {1U, 16U, 128U, 1024U, 8192U}) {
            const Call call{.collective = traits.collective,
                            .count = traits.has_data() ? count : 0,
                            .type = Type::float64,
                            .op = Op::sum,
                            .root = traits.rooted() ? 0 : -1};
            const Chooser chooser(machine, 2304, nullptr, "none");
            std::string chosen;
            const double taken = milliseconds([&] {
                const auto choice = chooser.choose(call);
                if (choice) chosen = (*choice)->text;
            });
            EXPECT_FALSE(chosen.empty()) << traits.name;
            EXPECT_LT(taken, kMost) << traits.name << ' ' << count;
            fmt::print("{} {}: {:.1f} ms: {}\n", traits.name, count, taken, chosen);
            if (!traits.has_data()) break;
        }
    }
}

TEST(Prediction, TheFirstCallGetsTheBestCandidateFast) {
    constexpr double kSecondsMax = 0.5;  // also for unoptimized builds
    const plan::Machine machine = machine_of({"2304 on 128", even(128, 18)});
    const Chooser chooser(machine, 2304, nullptr, "none");
    for (const std::size_t count : {1U, 8192U}) {
        const Call call{.collective = Collective::allreduce,
                        .count = count,
                        .type = Type::float64,
                        .op = Op::sum};
        const auto begin = std::clock();
        const auto chosen = chooser.choose(call);
        const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        ASSERT_TRUE(chosen.ok());
        EXPECT_LT(seconds, kSecondsMax);
        const auto all = rank_algorithms(machine, 2304, class_of(call));
        EXPECT_EQ((*chosen)->text, all->algorithm()) << count;
        fmt::print("{} elements: {:.1f} ms\n", count, seconds * 1000);
    }
}

TEST(Prediction, SkippedCandidatesWouldNotBeChosen) {
    for (const Team& team : {Team{"66 on uneven", {30, 1, 35}}, Team{"130 on 13", even(13, 10)},
                             Team{"97 on a node", {97}}}) {
        const plan::Machine machine = machine_of(team);
        const auto ranks = static_cast<Rank>(machine.node_of.size());
        const Chooser chooser(machine, ranks, nullptr, "none");
        for (const collectives::CollectiveTraits& traits : collectives::kCollectives) {
            if (traits.has_counts()) continue;
            for (const std::size_t count : {1U, 128U, 8192U}) {
                const Call call{.collective = traits.collective,
                                .count = traits.has_data() ? count : 0,
                                .type = Type::float64,
                                .root = traits.rooted() ? 0 : -1};
                const auto chosen = chooser.choose(call);
                const auto all = rank_algorithms(machine, ranks, class_of(call));
                ASSERT_TRUE(chosen.ok() && all.ok()) << traits.name;
                EXPECT_EQ((*chosen)->text, all->algorithm())
                    << team.name << ' ' << traits.name << ' ' << count;
            }
        }
    }
}

/// Follows chains of messages back from some ranks; a chain is a lower bound of the time. Returns
/// the number of chains compared with predictions.
int compare_chains(const Team& team, const CallClass& call) {
    constexpr double kRounding = 1.002;  // predictions assume equally large blocks
    const plan::Machine machine = machine_of(team);
    const auto ranks = static_cast<Rank>(machine.node_of.size());
    const auto candidates = candidates_for(machine, ranks, call, plan::Scope::chosen);
    EXPECT_TRUE(candidates.ok());
    int compared = 0;
    for (const plan::Candidate& candidate : *candidates) {
        const auto predicted = plan::predict(machine, ranks, candidate, vector_of(ranks, call));
        if (!predicted) continue;
        for (const Rank rank : {0, 0, ranks / 3, ranks / 2, ranks - 1}) {  // 0: both kinds of chain
            plan::ChainEnd end{.rank = rank, .hops_max = 64};
            end.compares = compared++ % 2 == 0;
            const auto least =
                plan::least_time(machine, ranks, candidate, vector_of(ranks, call), end);
            EXPECT_TRUE(least.ok());
            EXPECT_LE(static_cast<double>(least->time),
                      kRounding * static_cast<double>(predicted->in_stream))
                << team.name << ' ' << call.collective << ' ' << call.elements << ' '
                << candidate.algorithm << " from " << rank;
        }
    }
    return compared;
}

TEST(Prediction, NoPredictionIsBelowAChainOfMessages) {
    // A candidate whose lower bound exceeds another's prediction is dropped without a prediction.
    // Chains follow the last messages, or the messages of the busiest senders.
    int compared = 0;
    for (const Team& team : {Team{"66 on uneven", {30, 1, 35}}, Team{"130 on 13", even(13, 10)}})
        for (const collectives::CollectiveTraits& traits : collectives::kCollectives)
            for (const std::uint64_t elements : {1U, 8192U})
                if (!traits.has_counts())
                    compared += compare_chains(team, {.collective = traits.name,
                                                      .elements = traits.has_data() ? elements : 0,
                                                      .element_bytes = 8});
    EXPECT_GT(compared, 1'000);
}

/// Work of a choice: the numbers of generated programs and of their steps.
struct Effort {
    std::uint64_t programs = 0;
    std::uint64_t steps = 0;
};

Effort effort_of(const plan::Machine& machine, const CallClass& call, std::string& chosen) {
    const auto ranks = static_cast<Rank>(machine.node_of.size());
    auto candidates = *candidates_for(machine, ranks, call, plan::Scope::chosen);
    Effort effort;
    for (plan::Candidate& candidate : candidates)
        candidate.program = [&effort, made = candidate.program](Rank size, Rank rank) {
            auto program = made(size, rank);
            ++effort.programs;
            if (program) effort.steps += program->steps.size();
            return program;
        };
    const auto choice = plan::select(machine, ranks, candidates, vector_of(ranks, call),
                                     {.bit_identical = call.bit_identical}, plan::Scope::chosen);
    EXPECT_TRUE(choice.ok());
    if (choice) chosen = choice->algorithm();
    return effort;
}

TEST(Prediction, TheFirstCallGeneratesFewPrograms) {
    // For 2,304 ranks, all programs are generated for a few candidates only, and never for a
    // candidate with a step for each rank.
    constexpr std::uint64_t kProgramsMax = 10'000;
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
    for (const Team& team : {Team{"63 on a node", {63}}, Team{"63 on 63", even(63, 1)}})
        EXPECT_EQ(chosen(team, call), "generalized") << team.name;
    call.elements = 16;
    EXPECT_EQ(chosen({"252 on 14", even(14, 18)}, call), "multi-object-small");
    // Integers may be added in any order, so r is not restricted.
    call = {.collective = "allreduce", .elements = 4096, .element_bytes = 4};
    for (const Team& team : {Team{"127 on a node", {127}}, Team{"127 on 127", even(127, 1)}}) {
        plan::Time best = simulated(machine_of(team), call, "generalized");
        for (int r = 1; r <= 7; ++r)
            best = std::min(best,
                            simulated(machine_of(team), call, fmt::format("generalized:r={}", r)));
        EXPECT_EQ(simulated(machine_of(team), call, chosen(team, call)), best) << team.name;
    }
}

}  // namespace
}  // namespace weft::run
