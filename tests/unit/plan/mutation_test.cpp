// SPDX-License-Identifier: BSD-3-Clause
// Goal: a mistake in a sound set of programs changes the verdict or one of the facts.
// Method: thousands of single mutations of known algorithms. Those that change nothing are printed;
//         they have to be mutations that cannot matter.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "plan/verify/verify.hpp"
#include "tests/support/mutate.hpp"
#include "tests/support/sample_programs.hpp"

namespace weft::plan {
namespace {

struct Case {
    const char* name;
    std::vector<Program> programs;
    Contract contract;
};

std::vector<Case> cases() {
    return {
        {"doubling 8", test::recursive_doubling(8), test::allreduce_contract()},
        {"all-to-all 5", test::all_to_all_reduce(5), test::allreduce_contract()},
        {"ring 5", test::ring(5), test::allreduce_contract()},
        {"chain 4x6", test::chain_broadcast(4, 6, 2), test::broadcast_contract()},
        {"tree 7x5", test::tree_allreduce(7, 5, 2), test::allreduce_contract()},
        {"barrier 6", test::dissemination_barrier(6), test::barrier_contract()},
    };
}

Verdict judge(const Case& test, const std::vector<Program>& programs) {
    return verify({.programs = programs, .contract = &test.contract, .elements = 37});
}

bool differ(const Verdict& a, const Verdict& b) {
    return a.valid != b.valid || a.rounds != b.rounds || a.messages != b.messages ||
           a.signals != b.signals || a.bytes_total != b.bytes_total ||
           a.bytes_sent_max != b.bytes_sent_max || a.reduced_bytes_max != b.reduced_bytes_max ||
           a.ordered != b.ordered || a.bit_identical != b.bit_identical ||
           a.synchronizing != b.synchronizing || a.slots_max != b.slots_max ||
           a.descriptors_max != b.descriptors_max;
}

TEST(Mutation, ChangesTheVerdictOrAFact) {
    int mutations = 0;
    int faults = 0;
    std::map<std::string, int> survivors;
    for (const Case& test : cases()) {
        const Verdict sound = judge(test, test.programs);
        ASSERT_TRUE(sound.valid) << test.name << ": " << sound.error;
        for (std::uint64_t seed = 0; seed < 1000; ++seed) {
            const test::Mutation mutation = test::mutate(test.programs, seed);
            const Verdict verdict = judge(test, mutation.programs);
            ++mutations;
            if (!verdict.valid) {
                ++faults;
                EXPECT_NE(verdict.error.find("rank "), std::string::npos) << verdict.error;
            }
            if (!differ(sound, verdict))
                ++survivors[std::string(test.name) + ": " + mutation.description];
        }
    }
    std::printf("%d mutations, %d found unsound, %zu kinds changed nothing:\n", mutations, faults,
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

TEST(Mutation, EachKindIsFoundWhereItMatters) {
    const auto found = [](const Case& test, test::MutationKind kind) {
        int changed = 0;
        int tried = 0;
        const Verdict sound = judge(test, test.programs);
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            const auto mutation = test::mutate(test.programs, kind, seed);
            if (!mutation) continue;
            ++tried;
            if (differ(sound, judge(test, mutation->programs))) ++changed;
        }
        EXPECT_GT(tried, 0);
        return changed == tried;
    };
    using enum test::MutationKind;
    const std::vector<Case> all = cases();
    for (const auto kind : {drop_put, duplicate_put, retarget_put, drop_wait, swap_operands})
        EXPECT_TRUE(found(all[0], kind)) << static_cast<int>(kind);
    EXPECT_TRUE(found(all[0], drop_local));
    EXPECT_TRUE(found(all[0], reuse_slot));
    EXPECT_TRUE(found(all[1], swap_operands));
    EXPECT_TRUE(found(all[3], one_copy));
    EXPECT_TRUE(found(all[3], drop_signal));
    EXPECT_TRUE(found(all[4], one_copy));
    EXPECT_TRUE(found(all[5], drop_signal));
}

}  // namespace
}  // namespace weft::plan
