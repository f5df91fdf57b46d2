// SPDX-License-Identifier: BSD-3-Clause
// Goal: verify_by_fingerprints() and the symbolic verify() give equal verdicts, except on programs
// with races. Method: both check known algorithms, unchanged and with single mistakes. Handwritten
// faults have known errors.
#include "tests/support/fingerprint.hpp"

#include <gtest/gtest.h>

#include "tests/support/mutate.hpp"
#include "tests/support/prints.hpp"
#include "tests/support/sample_programs.hpp"
#include "tools/verify/verify.hpp"

namespace weft::plan {
namespace {

FingerprintInput input_of(const std::vector<Program>& programs, const Contract& contract) {
    return {.ranks = static_cast<Rank>(programs.size()),
            .program_of = [&programs](Rank rank) -> base::Result<Program> {
                return programs[static_cast<std::size_t>(rank)];
            },
            .contract = &contract};
}

TEST(Fingerprint, KnownAlgorithmsAreRightForAnyMemoryLimit) {
    for (const test::Sample& sample : test::samples()) {
        for (const bool in_place : {false, true}) {
            // With 0 bytes, the program of a waiting rank is freed and generated again.
            for (const std::uint64_t bytes_max : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
                FingerprintInput input = input_of(sample.programs, sample.contract);
                input.in_place = in_place;
                input.program_bytes_max = bytes_max;
                const auto found = verify_by_fingerprints(input);
                EXPECT_TRUE(found.valid) << sample.name << ": " << found.error;
                const Verdict facts = verify(
                    {.programs = sample.programs, .contract = &sample.contract, .elements = 37});
                EXPECT_EQ(found.messages, facts.messages) << sample.name;
                EXPECT_EQ(found.signals, facts.signals) << sample.name;
            }
        }
    }
}

TEST(Fingerprint, OrderIsCheckedOnRequest) {
    const Contract contract = test::allreduce_contract();
    for (const bool ordered : {false, true}) {
        const auto doubling = test::recursive_doubling(8);
        FingerprintInput input = input_of(doubling, contract);
        input.ordered = ordered;
        EXPECT_TRUE(verify_by_fingerprints(input).valid);
        const auto ring = test::ring(5);  // begins each block at another rank: not in rank order
        input = input_of(ring, contract);
        input.ordered = ordered;
        EXPECT_EQ(verify_by_fingerprints(input).valid, !ordered);
    }
}

TEST(Fingerprint, FirstAndLastTargetsOfAReductionGetTheResult) {
    const auto programs = test::programs_of(
        "rank 0; put to 1 slot 0 from input; wait from 1 slot 0; flush;"
        "        reduce scratch 0, scratch 1 = input, slot 0; copy output = scratch 0;"
        "rank 1; put to 0 slot 0 from input; wait from 0 slot 0; flush;"
        "        reduce scratch 0, scratch 1, output = slot 0, input");
    const Contract contract = test::allreduce_contract();
    const auto found = verify_by_fingerprints(input_of(programs, contract));
    EXPECT_TRUE(found.valid) << found.error;
}

/// Both verifiers find mistakes of these five kinds in any order of execution. Mistakes of other
/// kinds cause races that appear only in some orders.
TEST(Fingerprint, FingerprintsAndSymbolicExecutionFindTheSameMistakes) {
    using enum test::MutationKind;
    int wrong = 0;
    for (const test::Sample& sample : test::samples()) {
        for (const auto kind : {drop_put, duplicate_put, retarget_put, drop_wait, drop_signal}) {
            for (std::uint64_t seed = 0; seed < 100; ++seed) {
                const auto mutation = test::mutate(sample.programs, kind, seed);
                if (!mutation) continue;
                const Verdict verdict = verify({.programs = mutation->programs,
                                                .contract = &sample.contract,
                                                .elements = 37,
                                                .in_place = false});
                const auto found =
                    verify_by_fingerprints(input_of(mutation->programs, sample.contract));
                EXPECT_EQ(found.valid, verdict.valid)
                    << sample.name << ", " << mutation->description << ": " << verdict.error
                    << " / " << found.error;
                wrong += found.valid ? 0 : 1;
            }
        }
    }
    EXPECT_GT(wrong, 1000);
}

TEST(Fingerprint, ErrorsNameTheFaultAndItsPlace) {
    const auto error_of = [](std::string_view text) {
        const auto programs = test::programs_of(text);
        const Contract contract = test::broadcast_contract();
        return verify_by_fingerprints(input_of(programs, contract)).error;
    };
    constexpr std::string_view kHead = "root 0\nunits 2\nslots 1\nslot-units 2\n";
    struct Row {
        const char* first;
        const char* second;
        const char* error;
    };
    for (const Row& row :
         {Row{"copy output = input\nput to 1 slot 0 from input\n",
              "wait from 0 slot 0\ncopy output[0] = slot 0[0]\n",
              "rank 1 ends without its result: output[1] was never written"},
          Row{"copy output = input\nput to 1 slot 0 from input\n",
              "wait from 0 slot 0\ncopy {output[1], output[0]} = slot 0\n",
              "rank 1 ends without its result: output[0] has a wrong value"},
          Row{"copy output = input\nput to 1 slot 0 from input\n", "copy output = slot 0\n",
              "rank 1 step 0 (copy output[0+2] = slot 0[0+2]) reads slot 0, which it has not "
              "awaited"},
          Row{"copy output = input\nput to 1 slot 0 from input\nput to 1 slot 0 from input\n",
              "wait from 0 slot 0\ncopy output = slot 0\n",
              "rank 0 step 2 (put to 1 slot 0 from input[0+2]) raises slot 0 of rank 1, which has "
              "not awaited the earlier raise by rank 0"},
          Row{"copy output = input\nput to 1 slot 0 from input\n",
              "wait from 1 slot 0\ncopy output = slot 0\n",
              "rank 1 step 0 (wait from 1 slot 0) waits for rank 1, but rank 0 raised slot 0"},
          Row{"copy output = input\n", "wait from 0 slot 0\ncopy output = slot 0\n",
              "rank 1 step 0 waits forever for slot 0"}}) {
        const std::string text =
            fmt::format("{}rank 0\n{}rank 1\n{}", kHead, row.first, row.second);
        EXPECT_EQ(error_of(text), row.error) << text;
    }
    EXPECT_EQ(error_of("root 0\nrank 0\n copy output = input\nrank 1\n slots 3\n flush"),
              "rank 1: header field 'slots' differs from rank 0");
}

TEST(Fingerprint, FingerprintsDependOnOrderOnlyIfOrdered) {
    const Expectation first_three{.unit = 0, .first_rank = 0, .last_rank = 2, .source_unit = 7};
    for (const bool ordered : {false, true}) {
        // If not ordered, all maps have a = 1, so their product is a sum.
        Fingerprints fingerprints(/*seed=*/5, ordered);
        const auto product_of = [&](std::initializer_list<Rank> ranks) {
            Fingerprint result{.a = 1, .b = 0};  // the neutral element
            for (const Rank rank : ranks) result = product(result, fingerprints.leaf(rank, 7));
            return result;
        };
        EXPECT_EQ(fingerprints.expected(first_three), product_of({0, 1, 2}));
        EXPECT_EQ(fingerprints.expected(first_three) == product_of({1, 0, 2}), !ordered);
        EXPECT_NE(fingerprints.expected(first_three), product_of({0, 1}));
        EXPECT_NE(fingerprints.expected(first_three), product_of({0, 1, 2, 2}));
        EXPECT_NE(fingerprints.expected(first_three), product_of({0, 1, 3}));
        EXPECT_EQ(fingerprints.expected({.first_rank = 1, .last_rank = 3, .source_unit = 7}),
                  product_of({1, 2, 3}));
        EXPECT_EQ(fingerprints.expected({.first_rank = 0, .last_rank = 1, .source_unit = 7}),
                  product_of({0, 1}));
    }
}

}  // namespace
}  // namespace weft::plan
