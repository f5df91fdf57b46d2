// SPDX-License-Identifier: BSD-3-Clause
// Goal: barriers of all schedules synchronize, and so does dissemination with a radix for each
// round. A sender uses one signal number for all receivers of a round where possible.
// Method: the verifier on all schedules for small numbers of ranks; the steps of worked examples.
#include "collectives/notation/enumerate.hpp"
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/proof.hpp"

namespace weft::collectives {
namespace {

TEST(BarrierProof, EveryScheduleSynchronizes) {
    for (Rank size = 2; size <= 16; ++size) {
        for (int family = 0; family < 3; ++family)  // factored, split and merged schedules
            for_each_schedule(
                size, static_cast<ScheduleFamily>(family), [&](const Schedule& schedule) {
                    const auto verdict =
                        prove("barrier", fmt::format("multiplying:schedule=({})", print(schedule)),
                              {.size = size, .elements = 0});
                    EXPECT_TRUE(verdict.valid && verdict.synchronizing)
                        << print(schedule) << ": " << verdict.error;
                    EXPECT_EQ(verdict.messages, 0U);  // signals do not count
                    return verdict.valid;
                });
    }
    for (const char* wrong :
         {"multiplying", "multiplying:schedule=a2", "multiplying:schedule=(a3)"})
        EXPECT_FALSE(generate("barrier", *parse_spec(wrong), {.size = 2}).ok()) << wrong;
}

TEST(BarrierProof, EachRoundMayHaveItsOwnRadix) {
    for (const auto& [rounds, size_max] :
         std::vector<std::pair<const char*, int>>{{"a3,a2", 6}, {"a2,a3", 6}, {"a4,a2,a3", 24}}) {
        for (int size = 1; size <= size_max; ++size) {
            const auto verdict = prove("barrier", fmt::format("dissemination:rounds=({})", rounds),
                                       {.size = size, .elements = 0});
            EXPECT_TRUE(verdict.valid && verdict.synchronizing) << rounds << ' ' << size;
        }
        const auto too_large =
            generate("barrier", *parse_spec(fmt::format("dissemination:rounds=({})", rounds)),
                     {.size = size_max + 1});
        EXPECT_FALSE(too_large.ok());
    }
    for (const char* spec : {"dissemination:k=1,rounds=(a2)", "dissemination:rounds=2",
                             "dissemination:rounds=(c2m2,a2,e2m2)", "dissemination:rounds=(up)"})
        EXPECT_FALSE(generate("barrier", *parse_spec(spec), {.size = 2}).ok()) << spec;
}

TEST(BarrierProof, OneRoundUsesOneSharedSignalForEachSender) {
    const auto programs =
        generate_all("barrier", *parse_spec("dissemination:k=100"), {.size = 7, .elements = 0});
    for (const plan::Program& program : programs) {
        EXPECT_EQ(program.slots, 7U);
        for (const plan::Step& step : program.steps) {
            EXPECT_EQ(step.flags & plan::kShared, plan::kShared);
            const bool sends = step.kind == plan::StepKind::signal;
            EXPECT_EQ(static_cast<Rank>(step.signal), sends ? program.rank : step.peer);
        }
    }
}

TEST(BarrierProof, OnlyAlignedRoundsShareSignals) {
    const auto spec = *parse_spec("dissemination:k=2");
    // Returns for each signal of rank 1 whether its number is shared. A round has two signals, or
    // one if few ranks are left. Round r is aligned if 3^r divides the number of ranks.
    const auto shared = [&](int size) {
        const auto program = *generate("barrier", spec, {.rank = 1, .size = size});
        std::vector<bool> list;
        for (const plan::Step& step : program.steps)
            if (step.kind == plan::StepKind::signal)
                list.push_back((step.flags & plan::kShared) != 0);
        return list;
    };
    EXPECT_EQ(shared(9), (std::vector<bool>{true, true, true, true}));
    EXPECT_EQ(shared(6), (std::vector<bool>{true, true, false}));
    EXPECT_EQ(shared(8), (std::vector<bool>{false, false, false, false}));
}

}  // namespace
}  // namespace weft::collectives
