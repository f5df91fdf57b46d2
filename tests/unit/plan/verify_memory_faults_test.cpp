// SPDX-License-Identifier: BSD-3-Clause
// Goal: each fault of buffers, mapped memory, contracts and headers is found, and the message names
// rank, step and reason. Method: small sets of programs, each sound but for one thing.
#include <gtest/gtest.h>

#include "plan/schedule/builder.hpp"
#include "plan/schedule/text.hpp"
#include "plan/verify/verify.hpp"
#include "tests/unit/plan/faults.hpp"

namespace weft::plan {
namespace {

// --- buffers ------------------------------------------------------------------------------------

TEST(VerifyFaults, ASourceOverwrittenBeforeLocal) {
    EXPECT_EQ(error_of(R"(
rank 0
  copy output = input
  put to 1 slot 0 from output
  wait from 1 slot 0
  copy output = slot 0
rank 1
  put to 0 slot 0 from input
  wait from 0 slot 0
)"),
              "rank 0 step 3 (copy output[0+1] = slot 0[0+1]) overwrites output[0] of rank 0 while "
              "the put of rank 0 step 1 may still read it (no `flush` lies between)");
}

TEST(VerifyFaults, InputAndOutputInTheSameMemory) {
    EXPECT_EQ(
        error_of(R"(
rank 0
  put to 1 slot 0 from input
  wait from 1 slot 0
  copy output = slot 0
rank 1
  put to 0 slot 0 from input
  wait from 0 slot 0
)"),
        "with input and output in the same memory: rank 0 step 2 (copy output[0+1] = slot "
        "0[0+1]) overwrites output[0] of rank 0 while the put of rank 0 step 0 may still read "
        "it (no `flush` lies between)");
}

TEST(VerifyFaults, ReadingWhatNothingHasWritten) {
    EXPECT_EQ(error_of("rank 0\n copy scratch 0 = output"),
              "rank 0 step 0 (copy scratch 0[0+1] = output[0+1]) reads output[0] of rank 0, which "
              "nothing has written");
}

TEST(VerifyFaults, WritingTheInput) {
    EXPECT_EQ(error_of("rank 0\n units 2\n copy input[0] = input[1]"),
              "rank 0 step 0 (copy input[0+1] = input[1+1]) writes input[0] of rank 0");
}

TEST(VerifyFaults, OperandsThatOverlapTheTarget) {
    EXPECT_EQ(
        error_of("rank 0\n units 3\n copy output = input\n copy output[1+2] = output[0+2]"),
        "rank 0 step 1 (copy output[1+2] = output[0+2]) overwrites output[1] of rank 0, which "
        "it also reads at another place of its operands");
    EXPECT_EQ(error_of("rank 0\n units 2\n copy {output[0], output[0]} = input"),
              "rank 0 step 0 (copy {output[0+1], output[0+1]} = input[0+2]) writes output[0] of "
              "rank 0 twice");
}

TEST(VerifyFaults, LanesThatRace) {
    EXPECT_EQ(
        error_of(R"(
rank 0
  lane
  copy scratch 0 = input
  lane
  copy output = scratch 0
)"),
        "rank 0 step 1 (copy output[0+1] = scratch 0[0+1]) reads scratch 0[0] of rank 0 while "
        "rank 0 step 0 may be using it (nothing orders the two)");
    EXPECT_EQ(error_of(R"(
rank 0
  lane
  copy scratch 0 = input
  signal to 0 slot 0
  lane
  wait from 0 slot 0
  copy output = scratch 0
)"),
              "");
}

TEST(VerifyFaults, ASlotReadByALaneThatDidNotWait) {
    EXPECT_EQ(error_of(R"(
rank 0
  put to 1 slot 0 from input
rank 1
  lane
  wait from 0 slot 0
  lane
  copy output = slot 0
)"),
              "rank 1 step 1 (copy output[0+1] = slot 0[0+1]) reads slot 0 of rank 1, segment 0, "
              "without having awaited it");
}

// --- mapped memory ------------------------------------------------------------------------------

TEST(VerifyFaults, MappedMemoryUsedBeforeItWasExposed) {
    EXPECT_EQ(error_of(R"(
rank 0
  expose to 1 slot 0 from input
  wait from 1 slot 0
rank 1
  copy output = mapped 0 of 0
  wait from 0 slot 0
  signal to 0 slot 0
)"),
              "rank 1 step 0 (copy output[0+1] = mapped 0 of 0[0+1]) reads slot 0 of rank 1, "
              "segment 0, without having awaited it");
}

TEST(VerifyFaults, AnOwnerThatDoesNotAwaitTheDoneSignal) {
    EXPECT_EQ(
        error_of(R"(
rank 0
  expose to 1 slot 0 from input
rank 1
  wait from 0 slot 0
  copy output = mapped 0 of 0
)"),
        "rank 1 step 1 uses memory of rank 0, whose program may end before that: it awaits no "
        "later signal (a done signal is missing)");
    EXPECT_EQ(
        error_of(R"(
rank 0
  expose to 1 slot 0 from input
  wait from 1 slot 0
rank 1
  wait from 0 slot 0
  signal to 0 slot 0
  copy output = mapped 0 of 0
)"),
        "rank 1 step 2 uses memory of rank 0, whose program may end before that: it awaits no "
        "later signal (a done signal is missing)");
}

TEST(VerifyFaults, AnOwnerThatModifiesWhatIsStillRead) {
    EXPECT_EQ(error_of(R"(
rank 0
  copy scratch 0 = input
  expose to 1 slot 0 from scratch 0
  copy scratch 0 = input
  wait from 1 slot 0
rank 1
  wait from 0 slot 0
  copy output = mapped 0 of 0
  signal to 0 slot 0
)"),
              "rank 1 step 1 (copy output[0+1] = mapped 0 of 0[0+1]) reads scratch 0[0] of rank 0 "
              "while rank 0 step 2 may be using it (nothing orders the two)");
}

TEST(VerifyFaults, APutIntoExposedMemoryThatItsOwnerStillUses) {
    EXPECT_EQ(error_of(R"(
rank 0
  expose to 1 slot 0 from output
  copy output = input
  wait from 1 slot 1
rank 1
  wait from 0 slot 0
  put to 0 slot 1 from input into mapped 0 of 0
)"),
              "rank 1 step 1 (put to 0 slot 1 from input[0+1] into mapped 0 of 0[0+1]) overwrites "
              "output[0] of rank 0 while rank 0 step 1 may be using it (nothing orders the two)");
    EXPECT_EQ(
        error_of(R"(
rank 0
  expose to 1 slot 0 from output
  wait from 1 slot 2
  copy scratch 0 = output
  wait from 1 slot 1
rank 1
  wait from 0 slot 0
  put to 0 slot 1 from input into mapped 0 of 0
  signal to 0 slot 2
)"),
        "rank 0 step 2 (copy scratch 0[0+1] = output[0+1]) reads output[0] of rank 0 while the "
        "put of rank 1 step 1 into it is not known to have been awaited");
}

TEST(VerifyFaults, APublishedCellReadWithoutWaiting) {
    EXPECT_EQ(
        error_of(R"(
rank 0
  publish slot 0 from input
rank 1
  wait from 0 slot 0 published
rank 2
  copy output = published 0 of 0
)"),
        "rank 2 step 0 (copy output[0+1] = published 0 of 0[0+1]) reads published 0 of rank 0 "
        "without having awaited it");
}

TEST(VerifyFaults, APublishedCellFilledAgainWhileItIsRead) {
    EXPECT_EQ(
        error_of(R"(
rank 0
  publish slot 0 from input
  publish slot 0 from input
rank 1
  wait from 0 slot 0 published
)"),
        "rank 0 step 1 (publish slot 0 from input[0+1]) raises slot 0 of rank 0 a second time: "
        "rank 0 step 0 did so before");
    EXPECT_EQ(error_of(R"(
segments 3
units 3
rank 0
  loop
    publish slot 0 from input[0 advance 1]
  end
rank 1
  loop
    wait from 0 slot 0 published
    copy output[0 advance 1] = published 0 of 0[0 advance 1]
  end
)"),
              "rank 1 step 1 segment 0 (wait from 0 slot 0 published) awaits published slot 0 "
              "(segment 0) of rank 0 while rank 0 step 1 segment 1 may be overwriting it");
}

// --- contracts and headers ----------------------------------------------------------------------

TEST(VerifyFaults, MissingAndDoubledContributions) {
    const Contract contract = test::allreduce_contract();
    std::vector<Program> programs = test::recursive_doubling(4);
    programs[2].steps[3] = {};  // a local where it put
    EXPECT_EQ(error_of(test::programs_of(R"(
rank 0
  put to 1 slot 0 from input
  wait from 1 slot 0
  local
  reduce output = input, slot 0, slot 0
rank 1
  put to 0 slot 0 from input
  wait from 0 slot 0
  local
  copy output = input
)"),
                       &contract),
              "rank 0 ends without its result: output[0] holds the contribution of rank 1 2 times");
    EXPECT_EQ(error_of(test::programs_of(R"(
rank 0
  signal to 1 slot 0
  wait from 1 slot 0
  copy output = input
rank 1
  put to 0 slot 0 from input
  wait from 0 slot 0
)"),
                       &contract),
              "rank 0 ends without its result: output[0] misses the contribution of rank 1");
    EXPECT_EQ(error_of(test::programs_of("rank 0\n local"), &contract),
              "rank 0 ends without its result: output[0] was never written");
}

TEST(VerifyFaults, SynchronizationThatIsDeclaredOrDemandedButAbsent) {
    std::vector<Program> programs = test::chain_broadcast(3, 4, 2);
    for (Program& program : programs) program.synchronizing = true;
    EXPECT_EQ(error_of(programs),
              "rank 0 may end before rank 2 has started, but the programs are declared "
              "synchronizing");
    Contract contract = test::barrier_contract();
    EXPECT_EQ(
        error_of(test::programs_of("rank 0\n signal to 1 slot 0\nrank 1\n wait from 0 slot 0"),
                 &contract),
        "rank 0 may end before rank 1 has started, but the contract is synchronizing");
}

TEST(VerifyFaults, HeadersThatDiffer) {
    std::vector<Program> programs = test::dissemination_barrier(3);
    programs[1].depth = 2;
    EXPECT_EQ(error_of(programs), "rank 1: header field depth differs from that of rank 0");
    programs = test::dissemination_barrier(3);
    std::swap(programs[1], programs[2]);
    EXPECT_EQ(error_of(programs), "program 1 is that of rank 2, expected rank 1");
    programs = test::dissemination_barrier(3);
    programs.pop_back();
    EXPECT_EQ(error_of(programs), "2 programs for 3 ranks");
}

TEST(VerifyFaults, MalformedPrograms) {
    EXPECT_EQ(error_of("rank 0\n signal to 3 slot 0"),
              "rank 0 step 0 (signal to 3 slot 0): rank 3 of 1");
    EXPECT_EQ(error_of("slots 1\nrank 0\n signal to 0 slot 1"),
              "rank 0 step 0 (signal to 0 slot 1): slot 1 of 1");
    EXPECT_EQ(error_of("slot-units 1\nunits 2\nrank 0\n put to 0 slot 1 from input"),
              "rank 0 step 0 (put to 0 slot 1 from input[0+2]): carries 2 units, slots have room "
              "for 1");
    EXPECT_EQ(
        error_of("slot-units 2\nslot-capacity 2 1\nunits 2\nrank 0\n put to 0 slot 1 from input"),
        "rank 0 step 0 (put to 0 slot 1 from input[0+2]): carries 2 units, its slot has room "
        "for 1");
    EXPECT_EQ(error_of("slot-capacity 2\nslots 2\nrank 0\n put to 0 slot 1 from input"),
              "rank 0: 1 rooms for 2 slots");
    EXPECT_EQ(error_of("slot-capacity 2\nrank 0\n put to 0 slot 0 from input"),
              "rank 0: a slot has room for 2 units, slot-units is 1");
    EXPECT_EQ(error_of("units 2\nrank 0\n copy output[0] = input"),
              "rank 0 step 0 (copy output[0+1] = input[0+2]): copies 2 units to 1");
    EXPECT_EQ(error_of("units 2\nrank 0\n copy output[1+2] = input"),
              "rank 0 step 0 (copy output[1+2] = input[0+2]) names unit 2 of 2");
    EXPECT_EQ(error_of("units 2\nrank 0\n reduce output = input, input[0]"),
              "rank 0 step 0 (reduce output[0+2] = input[0+2], input[0+1]): has operands of "
              "different shapes");
    EXPECT_EQ(error_of("rank 0\n local lag 1"),
              "rank 0 step 0 (local lag 1): has a lag (only signals and waits do)");
    std::vector<Program> programs = test::dissemination_barrier(2);
    programs[1].lanes[0].count = 1;
    EXPECT_EQ(error_of(programs), "rank 1: steps outside of all lanes");
    programs = test::dissemination_barrier(2);
    programs[0].steps[0].source = {7, 2};
    EXPECT_EQ(error_of(programs), "rank 0 step 0: names blocks that do not exist");
}

TEST(VerifyFaults, PartsOfVectorsThatARankDoesNotHave) {
    // Rank 0 has the whole output, rank 1 no more than input unit 1.
    const Contract contract{.collective = "gather",
                            .input =
                                [](const Program& header) {
                                    return UnitRange{header.rank == 1 ? 1U : 0U, 1};
                                },
                            .output =
                                [](const Program& header) {
                                    return UnitRange{0, header.rank == 0 ? 2U : 0U};
                                },
                            .expected = [](const Program&) { return std::vector<Expectation>{}; }};
    const auto error_of_parts = [&](const std::string& first, const std::string& second) {
        const auto programs = *parse_programs("units 2\nslots 1\nslot-units 2\nrank 0\n" + first +
                                              "\nrank 1\n" + second);
        return verify({.programs = programs, .contract = &contract, .elements = 2}).error;
    };
    EXPECT_EQ(error_of_parts(
                  " wait from 1 slot 0\n copy output[0] = input[0]\n copy output[1] = slot 0[1+1]",
                  " put to 0 slot 0 from input[1]"),
              "");
    EXPECT_EQ(error_of_parts(" local", " put to 0 slot 0 from input[0]"),
              "rank 1 step 0 (put to 0 slot 0 from input[0+1]) reads input[0] of rank 1, which "
              "nothing has written");
    EXPECT_EQ(
        error_of_parts(" local", " copy output[1] = input[1]"),
        "rank 1 step 0 (copy output[1+1] = input[1+1]) writes output[1] of rank 1, which that "
        "rank does not have");
}

}  // namespace
}  // namespace weft::plan
