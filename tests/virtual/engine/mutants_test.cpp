// SPDX-License-Identifier: BSD-3-Clause
// Goal: the verifier's verdicts on mutants (programs with one planted mistake) agree with the
// results of the mutants on the virtual wire.
// Method: a mutant that the verifier accepts must give right results for every seed. Most mutants
// that the verifier rejects must give a wrong result for some seed.
#include "tests/support/full_mode.hpp"
#include "tests/support/generate_all.hpp"
#include "tests/support/mutate.hpp"
#include "tests/support/survives.hpp"
#include "tools/verify/verify.hpp"

namespace weft::test {
namespace {

struct Subject {
    const char* collective;
    const char* algorithm;
    Rank ranks;
    std::uint32_t segments = 1;
};
constexpr Subject kSubjects[] = {
    {"allreduce", "a2,a2", 4},       {"allreduce", "recursive-doubling", 5},
    {"allreduce", "a3,a2", 6, 4},    {"allreduce", "m1g2a3,n1g3a2", 7},
    {"broadcast", "binomial", 6, 5}, {"broadcast", "flat", 4, 3},
    {"barrier", "dissemination", 5}, {"barrier", "central", 4},
};

std::vector<plan::Program> generate(const Subject& subject) {
    return generate_all(subject.collective, subject.algorithm,
                        {.size = subject.ranks,
                         .root = collectives::is_rooted(subject.collective) ? 0 : plan::kNoRank,
                         .segments = subject.segments,
                         .elements = 8 * subject.segments});
}

plan::Verdict judge(const std::vector<plan::Program>& programs, const plan::Contract& contract) {
    return plan::verify({.programs = programs,
                         .contract = &contract,
                         .elements = std::uint64_t{8} * programs.front().units});
}

TEST(Mutants, UnchangedProgramsSurvive) {
    for (const Subject& subject : kSubjects) {
        const std::vector<plan::Program> programs = generate(subject);
        std::string why;
        EXPECT_TRUE(survives(programs, collectives::contract(subject.collective),
                             {.seeds = full_mode() ? 1000U : 20U, .why = &why}))
            << subject.collective << ' ' << subject.algorithm << ": " << why;
    }
}

TEST(Mutants, ValidMutantsSurvive) {
    std::uint64_t valid = 0;
    for (const Subject& subject : kSubjects) {
        const std::vector<plan::Program> programs = generate(subject);
        const plan::Contract& contract = collectives::contract(subject.collective);
        for (std::uint64_t seed = 1; seed <= (full_mode() ? 400U : 60U); ++seed) {
            const Mutation mutant = mutate(programs, seed);
            const plan::Verdict after = judge(mutant.programs, contract);
            if (!after.valid) continue;
            ++valid;
            std::string why;
            EXPECT_TRUE(survives(mutant.programs, contract,
                                 {.seeds = full_mode() ? 1000U : 10U,
                                  .first_seed = seed,
                                  .commutes = !after.ordered,
                                  .why = &why}))
                << subject.collective << ' ' << subject.algorithm << ", seed " << seed << ": "
                << mutant.description << ": " << why;
        }
    }
    RecordProperty("mutants_run", static_cast<int>(valid));
    EXPECT_GT(valid, 0U);
}

// The wire must be adversarial enough to reveal 70 % of the mistakes. Some, such as a missing wait
// for an irrelevant signal, have no visible effect.
TEST(Mutants, MostRefusedMutantsGiveWrongResults) {
    std::uint64_t refused = 0;
    std::uint64_t wrong = 0;
    for (const Subject& subject : kSubjects) {
        const std::vector<plan::Program> programs = generate(subject);
        const plan::Contract& contract = collectives::contract(subject.collective);
        for (const MutationKind kind : {MutationKind::drop_put, MutationKind::retarget_put,
                                        MutationKind::drop_flush, MutationKind::drop_wait}) {
            const auto mutant = mutate(programs, kind, 3);
            if (!mutant || judge(mutant->programs, contract).valid) continue;
            ++refused;
            if (!survives(mutant->programs, contract, {.seeds = 40})) ++wrong;
        }
    }
    RecordProperty("refused", static_cast<int>(refused));
    RecordProperty("wrong", static_cast<int>(wrong));
    EXPECT_GT(refused, 10U);
    EXPECT_GE(wrong * 10, refused * 7) << wrong << " of " << refused;
}

}  // namespace
}  // namespace weft::test
