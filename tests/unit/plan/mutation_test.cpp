// SPDX-License-Identifier: BSD-3-Clause
// Goal: a mistake in a valid set of programs changes the verifier's verdict or one of its facts
// (counts and properties).
// Method: the test makes thousands of single mutations of known algorithms and prints those that
// change nothing. Only removed flushes and swapped operands may be among them.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "tests/support/mutate.hpp"
#include "tests/support/sample_programs.hpp"

namespace weft::plan {
namespace {

Verdict judge(const test::Sample& sample, const std::vector<Program>& programs) {
    return verify({.programs = programs, .contract = &sample.contract, .elements = 37});
}

TEST(Mutation, EachMutationChangesTheVerdictOrAFact) {
    int mutations = 0;
    int faults = 0;
    std::map<std::string, int> survivors;
    for (const test::Sample& sample : test::samples()) {
        const Verdict original = judge(sample, sample.programs);
        ASSERT_TRUE(original.valid) << sample.name << ": " << original.error;
        for (std::uint64_t seed = 0; seed < 1000; ++seed) {
            const test::Mutation mutation = test::mutate(sample.programs, seed);
            const Verdict verdict = judge(sample, mutation.programs);
            ++mutations;
            if (!verdict.valid) {
                ++faults;
                EXPECT_NE(verdict.error.find("rank "), std::string::npos) << verdict.error;
            }
            if (test::same_facts(original, verdict))
                ++survivors[std::string(sample.name) + ": " + mutation.description];
        }
    }
    std::printf("%d mutations, %d rejected; %zu descriptions of mutations without effect:\n",
                mutations, faults, survivors.size());
    for (const auto& [description, times] : survivors)
        std::printf("  %s (%d times)\n", description.c_str(), times);
    EXPECT_GT(faults, mutations * 8 / 10);
    for (const auto& [description, times] : survivors) {
        const bool harmless = description.find("(flush)") != std::string::npos ||
                              description.find("swapped") != std::string::npos;
        EXPECT_TRUE(harmless) << description;
    }
}

TEST(Mutation, EachKindOfMutationIsDetected) {
    // Returns true if every mutation of the kind changes the verdict or a fact.
    const auto detected = [](const test::Sample& sample, test::MutationKind kind) {
        int undetected = 0;
        int mutations = 0;
        const Verdict original = judge(sample, sample.programs);
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            const auto mutation = test::mutate(sample.programs, kind, seed);
            if (!mutation) continue;
            ++mutations;
            if (test::same_facts(original, judge(sample, mutation->programs))) ++undetected;
        }
        EXPECT_GT(mutations, 0);
        return undetected == 0;
    };
    using enum test::MutationKind;
    const std::vector<test::Sample> samples = test::samples();
    const test::Sample &doubling = samples[0], &all_to_all = samples[1], &chain = samples[3],
                       &tree = samples[4], &barrier = samples[5];
    for (const auto kind :
         {drop_put, duplicate_put, retarget_put, drop_wait, swap_operands, drop_flush, reuse_slot})
        EXPECT_TRUE(detected(doubling, kind)) << to_string(kind);
    EXPECT_TRUE(detected(all_to_all, swap_operands));
    EXPECT_TRUE(detected(chain, one_copy));
    EXPECT_TRUE(detected(chain, drop_signal));
    EXPECT_TRUE(detected(tree, one_copy));
    EXPECT_TRUE(detected(barrier, drop_signal));
}

}  // namespace
}  // namespace weft::plan
