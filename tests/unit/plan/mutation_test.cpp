// SPDX-License-Identifier: BSD-3-Clause
// Goal: a mistake in a valid set of programs changes the verifier's verdict or counts.
// Method: thousands of single mutations of known algorithms. The test prints the mutations that
// change nothing, and accepts only removed flushes and swapped operands among them.
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
    std::printf("%d mutations, %d rejected, %zu kinds changed nothing:\n", mutations, faults,
                survivors.size());
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
    // Returns true if every mutation of the kind is detected.
    const auto detected = [](const test::Sample& sample, test::MutationKind kind) {
        int changed = 0;
        int tried = 0;
        const Verdict original = judge(sample, sample.programs);
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            const auto mutation = test::mutate(sample.programs, kind, seed);
            if (!mutation) continue;
            ++tried;
            if (!test::same_facts(original, judge(sample, mutation->programs))) ++changed;
        }
        EXPECT_GT(tried, 0);
        return changed == tried;
    };
    using enum test::MutationKind;
    // Doubling, all-to-all, ring, chain, tree, barrier.
    const std::vector<test::Sample> all = test::samples();
    for (const auto kind : {drop_put, duplicate_put, retarget_put, drop_wait, swap_operands})
        EXPECT_TRUE(detected(all[0], kind)) << static_cast<int>(kind);
    EXPECT_TRUE(detected(all[0], drop_flush));
    EXPECT_TRUE(detected(all[0], reuse_slot));
    EXPECT_TRUE(detected(all[1], swap_operands));
    EXPECT_TRUE(detected(all[3], one_copy));
    EXPECT_TRUE(detected(all[3], drop_signal));
    EXPECT_TRUE(detected(all[4], one_copy));
    EXPECT_TRUE(detected(all[5], drop_signal));
}

}  // namespace
}  // namespace weft::plan
