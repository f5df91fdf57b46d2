// SPDX-License-Identifier: BSD-3-Clause
// Goal: one mistake in the programs of an allreduce changes the verifier's verdict or counts.
// Method: 10,000 random mutations of all schedules in the notation for up to 12 ranks, whole
// and in pipelined segments. The test prints mutations that change nothing.
#include <cstdio>
#include <map>
#include <random>

#include "collectives/notation/enumerate.hpp"
#include "tests/support/generate_all.hpp"
#include "tests/support/mutate.hpp"

namespace weft::collectives {
namespace {

constexpr Rank kRanksMax = 12;
constexpr int kMutations = 10'000;

struct Case {
    Rank size = 1;
    Schedule schedule;
    std::uint32_t segments = 1;
};

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (Rank size = 2; size <= kRanksMax; ++size) {
        for (const auto family :
             {ScheduleFamily::factored, ScheduleFamily::split, ScheduleFamily::merged}) {
            for_each_schedule(size, family, [&](const Schedule& schedule) {
                cases.push_back({size, schedule, 1});
                cases.push_back({size, schedule, 4});
                return true;
            });
        }
    }
    return cases;
}

std::vector<plan::Program> programs_of(const Case& tested) {
    return test::generate_all(
        "allreduce", AlgorithmSpec{.schedule = tested.schedule},
        {.size = tested.size, .segments = tested.segments, .elements = 37, .element_bytes = 8});
}

plan::Verdict judge(const std::vector<plan::Program>& programs) {
    return plan::verify({.programs = programs,
                         .contract = &contract("allreduce"),
                         .elements = 37,
                         .element_bytes = 8});
}

TEST(Mutation, TenThousandMistakesInSchedulesAreDetected) {
    constexpr std::uint64_t kSeed = 20240607;
    std::printf("seed %llu\n", static_cast<unsigned long long>(kSeed));
    std::mt19937_64 random(kSeed);
    const std::vector<Case> cases = all_cases();
    std::map<test::MutationKind, std::pair<int, int>> outcomes;  // tried, changed
    std::vector<std::string> survivors;
    for (int i = 0; i < kMutations; ++i) {
        const Case& tested = cases[random() % cases.size()];
        const std::vector<plan::Program> programs = programs_of(tested);
        const plan::Verdict original = judge(programs);
        ASSERT_TRUE(original.valid) << print(tested.schedule) << ": " << original.error;
        const std::uint64_t seed = random();
        const test::Mutation mutation = test::mutate(programs, seed);
        const plan::Verdict verdict = judge(mutation.programs);
        auto& [tried, changed] = outcomes[mutation.kind];
        ++tried;
        if (!test::same_facts(original, verdict)) {
            ++changed;
            continue;
        }
        survivors.push_back(fmt::format("{} of {} ranks, {} segments, seed {}: {}",
                                        print(tested.schedule), tested.size, tested.segments, seed,
                                        mutation.description));
    }
    for (const auto& [kind, outcome] : outcomes)
        std::printf("%s: %d tried, %d detected\n", to_string(kind), outcome.first, outcome.second);
    std::printf("%zu changed nothing:\n", survivors.size());
    for (const std::string& survivor : survivors) std::printf("  %s\n", survivor.c_str());
    // No step of these programs is redundant.
    EXPECT_TRUE(survivors.empty());
}

}  // namespace
}  // namespace weft::collectives
