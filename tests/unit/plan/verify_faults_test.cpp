// SPDX-License-Identifier: BSD-3-Clause
// Goal: the verifier finds each kind of fault, and its message names rank, step and reason.
// Method: each row of a table has programs in text form with one fault. Rows without an error are
// valid variants.
#include <gtest/gtest.h>

#include "plan/schedule/step.hpp"
#include "tests/support/sample_programs.hpp"
#include "tools/text/text.hpp"
#include "tools/verify/verify.hpp"

namespace weft::plan {
namespace {

/// Returns the verifier's error; empty if the programs are valid.
std::string error_of(const std::vector<Program>& programs, const Contract* contract = nullptr,
                     std::uint64_t elements = 60) {
    const Verdict verdict =
        verify({.programs = programs, .contract = contract, .elements = elements});
    EXPECT_EQ(verdict.valid, verdict.error.empty());
    return verdict.error;
}

std::string error_of(const char* text, const Contract* contract = nullptr,
                     std::uint64_t elements = 60) {
    return error_of(test::programs_of(text), contract, elements);
}

struct Fault {
    const char* name;
    const char* programs;
    const char* error;            ///< empty: no error
    std::uint64_t elements = 60;  ///< elements of a buffer
};

const Fault kFaults[] = {
    {"reading a slot before its wait",
     "rank 0; put to 1 slot 0 from input; rank 1; copy output = slot 0; wait from 0 slot 0",
     "rank 1 step 0 (copy output[0+1] = slot 0[0+1]) reads slot 0 of rank 1, segment 0, without "
     "having awaited it"},
    {"a wait without a signal is a deadlock",
     "rank 0; wait from 1 slot 0; signal to 1 slot 0; "
     "rank 1; wait from 0 slot 0; signal to 0 slot 0",
     "rank 0 step 0 (wait from 1 slot 0) waits forever: its signal is never raised; "
     "meanwhile rank 1 step 0 (wait from 0 slot 0) waits too"},
    {"a wait without a signal is a deadlock", "rank 0; wait from 1 slot 0; rank 1; flush",
     "rank 0 step 0 (wait from 1 slot 0) waits forever: its signal is never raised; rank 1 "
     "has ended"},
    {"a raise that is never awaited", "rank 0; put to 1 slot 2 from input; rank 1; flush",
     "rank 0 step 0 raises slot 2 of rank 1, which is never awaited"},
    {"a raise that is never awaited", "rank 0; publish slot 1 from input",
     "rank 0 step 0 publishes slot 1, which is never awaited"},
    {"credits beyond the last wait",
     "segments 4; depth 2; units 4; "
     "rank 0; loop; wait from 1 slot 1 lag 2; put to 1 slot 0 from input[0 advance 1]; end; "
     "rank 1; loop; wait from 0 slot 0; copy output[0 advance 1] = slot 0[0 advance 1]; signal "
     "to 0 slot 1; end",
     "rank 1 step 3 segment 2 raises slot 1 (segment 2) of rank 0, which is never awaited"},
    {"raising a flag twice",
     "rank 0; signal to 1 slot 0; signal to 1 slot 0; "
     "rank 1; wait from 0 slot 0; wait from 0 slot 0",
     "rank 0 step 1 (signal to 1 slot 0) raises slot 0 of rank 1 a second time: rank 0 step 0 "
     "did so before"},
    {"awaiting a flag twice",
     "rank 0; signal to 1 slot 0; rank 1; wait from 0 slot 0; wait from 0 slot 0",
     "rank 1 step 1 (wait from 0 slot 0) awaits slot 0 again: rank 1 step 0 did so before"},
    {"awaiting the wrong sender",
     "rank 0; signal to 2 slot 0; rank 1; flush; rank 2; wait from 1 slot 0",
     "rank 2 step 0 (wait from 1 slot 0) awaits slot 0 from rank 1, but it is rank 0 step 0 that "
     "raises it"},
    {"a slot copy overwritten before it is read",
     "segments 5; depth 2; units 5; "
     "rank 0; loop; put to 1 slot 0 from input[0 advance 1]; end; "
     "rank 1; loop; wait from 0 slot 0; copy output[0 advance 1] = slot 0[0 advance 1]; end",
     "rank 0 step 1 segment 2 (put to 1 slot 0 from input[0+1 advance 1]) overwrites slot 0 "
     "(segment 0) of rank 1 before rank 1 is known to have awaited what rank 0 step 1 segment 0 "
     "put there"},
    {"a credit signalled before the read",
     "segments 3; units 3; "
     "rank 0; loop; wait from 1 slot 1 lag 1; put to 1 slot 0 from input[0 advance 1]; end; "
     "rank 1; loop; wait from 0 slot 0; signal to 0 slot 1 lag 1; copy output[0 advance 1] = "
     "slot 0[0 advance 1]; end",
     "rank 0 step 2 segment 1 (put to 1 slot 0 from input[0+1 advance 1]) overwrites slot 0 "
     "(segment 0) of rank 1 while rank 1 step 3 segment 0 may be reading it"},
    {"two writers of one slot",
     "rank 0; put to 2 slot 0 from input; rank 1; put to 2 slot 0 from input; "
     "rank 2; wait from 0 slot 0; wait from 1 slot 0",
     "rank 1 step 0 (put to 2 slot 0 from input[0+1]) raises slot 0 of rank 2 a second time: "
     "rank 0 step 0 did so before"},
    {"shared puts with different payloads",
     "units 2; "
     "rank 0; put to 1 slot 0 from input[0] shared; put to 2 slot 0 from input[1] shared; "
     "rank 1; wait from 0 slot 0 shared; rank 2; wait from 0 slot 0 shared",
     "rank 0 step 1 (put to 2 slot 0 from input[1+1] shared) shares slot 0 with another payload "
     "than its earlier put has"},
    {"shared puts with different payloads",
     "rank 0; put to 1 slot 0 from input shared; rank 1; wait from 0 slot 0",
     "rank 1 step 0 (wait from 0 slot 0) is not marked shared, but rank 0 step 0 is"},
    {"a shared payload replaced before all readers are done",
     "segments 2; units 2; "
     "rank 0; loop; wait from 1 slot 1 lag 1; put to 1 slot 0 from input[0 advance 1] shared; "
     "wait from 2 slot 2 lag 1; put to 2 slot 0 from input[0 advance 1] shared; end; "
     "rank 1; loop; wait from 0 slot 0 shared; copy output[0 advance 1] = slot 0[0 advance 1]; "
     "signal to 0 slot 1 lag 1; end; "
     "rank 2; loop; wait from 0 slot 0 shared; copy output[0 advance 1] = slot 0[0 advance 1]; "
     "signal to 0 slot 2 lag 1; end",
     "rank 0 step 2 segment 1 (put to 1 slot 0 from input[0+1 advance 1] shared) overwrites "
     "published slot 0 (segment 0) of rank 0 while rank 2 step 2 segment 0 may be reading it"},
    {"a source overwritten before flush",
     "rank 0; copy output = input; put to 1 slot 0 from output; wait from 1 slot 0; copy output "
     "= slot 0; "
     "rank 1; put to 0 slot 0 from input; wait from 0 slot 0",
     "rank 0 step 3 (copy output[0+1] = slot 0[0+1]) overwrites output[0] of rank 0 while the "
     "put of rank 0 step 1 may still read it (no `flush` in between)"},
    {"input and output in the same memory",
     "rank 0; put to 1 slot 0 from input; wait from 1 slot 0; copy output = slot 0; "
     "rank 1; put to 0 slot 0 from input; wait from 0 slot 0",
     "with input and output in the same memory: rank 0 step 2 (copy output[0+1] = slot 0[0+1]) "
     "overwrites output[0] of rank 0 while the put of rank 0 step 0 may still read it (no "
     "`flush` in between)"},
    {"reading unwritten memory", "rank 0; copy scratch 0 = output",
     "rank 0 step 0 (copy scratch 0[0+1] = output[0+1]) reads output[0] of rank 0, which nothing "
     "has written"},
    {"writing the input", "rank 0; units 2; copy input[0] = input[1]",
     "rank 0 step 0 (copy input[0+1] = input[1+1]) writes input[0] of rank 0, but inputs are "
     "constant"},
    {"operands that overlap the target",
     "rank 0; units 3; copy output = input; copy output[1+2] = output[0+2]",
     "rank 0 step 1 (copy output[1+2] = output[0+2]) overwrites output[1] of rank 0, which it "
     "also reads at another position of its operands"},
    {"operands that overlap the target", "rank 0; units 2; copy {output[0], output[0]} = input",
     "rank 0 step 0 (copy {output[0+1], output[0+1]} = input[0+2]) writes output[0] of rank 0 "
     "twice"},
    {"lanes that race", "rank 0; lane; copy scratch 0 = input; lane; copy output = scratch 0",
     "rank 0 step 1 (copy output[0+1] = scratch 0[0+1]) reads scratch 0[0] of rank 0 while rank "
     "0 step 0 may be using it (nothing orders the two)"},
    {"lanes that a signal orders",
     "rank 0; lane; copy scratch 0 = input; signal to 0 slot 0; lane; wait from 0 slot 0; copy "
     "output = scratch 0",
     ""},
    {"a slot read by a lane that did not wait",
     "rank 0; put to 1 slot 0 from input; "
     "rank 1; lane; wait from 0 slot 0; lane; copy output = slot 0",
     "rank 1 step 1 (copy output[0+1] = slot 0[0+1]) reads slot 0 of rank 1, segment 0, without "
     "having awaited it"},
    {"mapped memory used before it was exposed",
     "rank 0; expose to 1 slot 0 from input; wait from 1 slot 0; "
     "rank 1; copy output = mapped 0 of 0; wait from 0 slot 0; signal to 0 slot 0",
     "rank 1 step 0 (copy output[0+1] = mapped 0 of 0[0+1]) reads slot 0 of rank 1, segment 0, "
     "without having awaited it"},
    {"an owner that does not await the done signal",
     "rank 0; expose to 1 slot 0 from input; "
     "rank 1; wait from 0 slot 0; copy output = mapped 0 of 0",
     "rank 1 step 1 uses memory of rank 0, whose program may end first: it waits for no "
     "signal that follows this access (a done signal is missing)"},
    {"an owner that does not await the done signal",
     "rank 0; expose to 1 slot 0 from input; wait from 1 slot 0; "
     "rank 1; wait from 0 slot 0; signal to 0 slot 0; copy output = mapped 0 of 0",
     "rank 1 step 2 uses memory of rank 0, whose program may end first: it waits for no "
     "signal that follows this access (a done signal is missing)"},
    {"an owner that modifies memory still being read",
     "rank 0; copy scratch 0 = input; expose to 1 slot 0 from scratch 0; copy scratch 0 = input; "
     "wait from 1 slot 0; "
     "rank 1; wait from 0 slot 0; copy output = mapped 0 of 0; signal to 0 slot 0",
     "rank 1 step 1 (copy output[0+1] = mapped 0 of 0[0+1]) reads scratch 0[0] of rank 0 while "
     "rank 0 step 2 may be using it (nothing orders the two)"},
    {"a put into exposed memory that its owner still uses",
     "rank 0; expose to 1 slot 0 from output for writing; copy output = input; wait "
     "from 1 slot 1; "
     "rank 1; wait from 0 slot 0; put to 0 slot 1 from input into mapped 0 of 0",
     "rank 1 step 1 (put to 0 slot 1 from input[0+1] into mapped 0 of 0[0+1]) overwrites "
     "output[0] of rank 0 while rank 0 step 1 may be using it (nothing orders the two)"},
    {"a put into exposed memory that its owner still uses",
     "rank 0; expose to 1 slot 0 from output for writing; wait from 1 slot 2; copy scratch 0 = "
     "output; wait from 1 slot 1; "
     "rank 1; wait from 0 slot 0; put to 0 slot 1 from input into mapped 0 of 0; signal to 0 "
     "slot 2",
     "rank 0 step 2 (copy scratch 0[0+1] = output[0+1]) reads output[0] of rank 0 while the put "
     "of rank 1 step 1 into it is not known to have been awaited"},
    {"a write into memory exposed for reading",
     "rank 0; expose to 1 slot 0 from output; wait from 1 slot 1; "
     "rank 1; wait from 0 slot 0; put to 0 slot 1 from input into mapped 0 of 0",
     "rank 1 step 1 (put to 0 slot 1 from input[0+1] into mapped 0 of 0[0+1]) writes output[0] of "
     "rank 0, which rank 0 step 0 exposed for reading only"},
    {"a write into memory exposed for reading",
     "rank 0; expose to 1 slot 0 from scratch 0; wait from 1 slot 1; "
     "rank 1; wait from 0 slot 0; copy mapped 0 of 0 = input; signal to 0 slot 1",
     "rank 1 step 1 (copy mapped 0 of 0[0+1] = input[0+1]) writes scratch 0[0] of rank 0, which "
     "rank 0 step 0 exposed for reading only"},
    {"a write into memory exposed for reading",
     "rank 0; expose to 1 slot 0 from output; wait from 1 slot 1; "
     "rank 1; wait from 0 slot 0; reduce output, mapped 0 of 0 = input, input; signal to 0 slot 1",
     "rank 1 step 1 (reduce output[0+1], mapped 0 of 0[0+1] = input[0+1], input[0+1]) writes "
     "output[0] of rank 0, which rank 0 step 0 exposed for reading only"},
    {"a write into memory exposed for writing",
     "rank 0; expose to 1 slot 0 from output for writing; wait from 1 slot 1; "
     "rank 1; wait from 0 slot 0; reduce output, mapped 0 of 0 = input, input; signal to 0 slot 1",
     ""},
    {"an owner that may end before a target is written",
     "rank 0; expose to 1 slot 0 from output for writing; "
     "rank 1; wait from 0 slot 0; reduce output, mapped 0 of 0 = input, input",
     "rank 1 step 1 uses memory of rank 0, whose program may end first: it waits for no "
     "signal that follows this access (a done signal is missing)"},
    {"an owner that reads memory still being written",
     "rank 0; expose to 1 slot 0 from output for writing; copy scratch 0 = output; "
     "wait from 1 slot 1; "
     "rank 1; wait from 0 slot 0; reduce output, mapped 0 of 0 = input, input; signal to 0 slot 1",
     "rank 0 step 1 (copy scratch 0[0+1] = output[0+1]) reads output[0] of rank 0, which nothing "
     "has written"},
    {"one block as two targets", "rank 0; reduce output, output = input, input",
     "rank 0 step 0 (reduce output[0+1], output[0+1] = input[0+1], input[0+1]) writes output[0] "
     "of rank 0 twice"},
    {"a target that is one of the operands",
     "rank 0; units 2; copy output = input; "
     "reduce scratch 0[0], output[1] = output[0], output[1], output[0]",
     ""},
    {"a target that is also read elsewhere",
     "rank 0; units 2; copy output = input; reduce {output[1], output[0]}, {scratch 0[0], scratch "
     "0[1]} = {output[0], output[1]}, {input[0], input[1]}",
     "rank 0 step 1 (reduce {output[1+1], output[0+1]}, {scratch 0[0+1], scratch 0[1+1]} = "
     "{output[0+1], output[1+1]}, {input[0+1], input[1+1]}) overwrites output[1] of rank 0, which "
     "it also reads at another position of its operands"},
    {"targets of different shapes", "rank 0; units 2; reduce output, scratch 0[0] = input, input",
     "rank 0 step 0 (reduce output[0+2], scratch 0[0+1] = input[0+2], input[0+2]): has targets of "
     "different shapes"},
    {"targets of different sizes",
     "rank 0; units 2; reduce output[0], output[1] = input[0], input[0]",
     "rank 0 step 0 (reduce output[0+1], output[1+1] = input[0+1], input[0+1]) combines units of 2 "
     "and 1 elements",
     3},
    {"an input exposed for writing", "rank 0; expose to 0 slot 0 from input for writing",
     "rank 0 step 0 (expose to 0 slot 0 from input[0+1] for writing): exposes a block for writing "
     "that is not in the output or a scratch buffer"},
    {"a signal marked for writing", "rank 0; signal to 0 slot 0 for writing",
     "rank 0 step 0 (signal to 0 slot 0 for writing): is marked for writing (only exposes are)"},
    {"a published cell read without waiting",
     "rank 0; publish slot 0 from input; rank 1; wait from 0 slot 0 published; "
     "rank 2; copy output = published 0 of 0",
     "rank 2 step 0 (copy output[0+1] = published 0 of 0[0+1]) reads published 0 of rank 0 "
     "without having awaited it"},
    {"a published cell filled again while it is read",
     "rank 0; publish slot 0 from input; publish slot 0 from input; "
     "rank 1; wait from 0 slot 0 published",
     "rank 0 step 1 (publish slot 0 from input[0+1]) raises slot 0 of rank 0 a second time: rank "
     "0 step 0 did so before"},
    {"a published cell filled again while it is read",
     "segments 3; units 3; rank 0; loop; publish slot 0 from input[0 advance 1]; end; "
     "rank 1; loop; wait from 0 slot 0 published; copy output[0 advance 1] = published 0 of 0[0 "
     "advance 1]; end",
     "rank 1 step 1 segment 0 (wait from 0 slot 0 published) awaits published slot 0 (segment 0) "
     "of rank 0 while rank 0 step 1 segment 1 may be overwriting it"},
    {"a slot forwarded without a flush",
     "segments 3; units 3; rank 0; loop; wait from 1 slot 1 lag 1; "
     "put to 1 slot 0 from input[0 advance 1]; end; rank 1; loop; wait from 0 slot 0; "
     "wait from 2 slot 1 lag 1; put to 2 slot 0 from slot 0[0 advance 1]; "
     "signal to 0 slot 1 lag 1; end; rank 2; loop; wait from 1 slot 0; "
     "copy output[0 advance 1] = slot 0[0 advance 1]; signal to 1 slot 1 lag 1; end",
     "rank 0 step 2 segment 1 (put to 1 slot 0 from input[0+1 advance 1]) overwrites slot 0 "
     "(segment 0) of rank 1 while rank 1 step 3 segment 0 may be reading it"},
    {"a slot forwarded after a flush",
     "segments 3; units 3; rank 0; loop; wait from 1 slot 1 lag 1; "
     "put to 1 slot 0 from input[0 advance 1]; end; rank 1; loop; wait from 0 slot 0; "
     "wait from 2 slot 1 lag 1; put to 2 slot 0 from slot 0[0 advance 1]; flush; "
     "signal to 0 slot 1 lag 1; end; rank 2; loop; wait from 1 slot 0; "
     "copy output[0 advance 1] = slot 0[0 advance 1]; signal to 1 slot 1 lag 1; end",
     ""},
    // Unit 2 would be read from the address of unit 1, whose size differs.
    {"units of different sizes mixed up",
     "units 4; rank 0; put to 1 slot 0 from input[1+2]; rank 1; wait from 0 slot 0; "
     "copy output[1] = slot 0[1]; copy output[2] = slot 0[2]",
     "rank 1 step 2 (copy output[2+1] = slot 0[2+1]) finds no unit of 1 elements at element "
     "0 of the payload of rank 0 step 0",
     6},
    {"units of different sizes combined",
     "units 4; rank 0; put to 1 slot 0 from input[1]; rank 1; wait from 0 slot 0; "
     "copy output[0] = slot 0[1]",
     "rank 1 step 1 (copy output[0+1] = slot 0[1+1]) combines units of 1 and 2 elements", 6},
    {"more units read than were put",
     "units 2; rank 0; put to 1 slot 0 from input[0]; rank 1; wait from 0 slot 0; "
     "copy output = slot 0",
     "rank 1 step 1 (copy output[0+2] = slot 0[0+2]) finds no unit of 30 elements at "
     "element 30 of the payload of rank 0 step 0"},
    {"an unknown rank", "rank 0; signal to 3 slot 0",
     "rank 0 step 0 (signal to 3 slot 0): names rank 3, but there are 1 ranks"},
    {"an unknown slot", "slots 1; rank 0; signal to 0 slot 1",
     "rank 0 step 0 (signal to 0 slot 1): names slot 1, but there are 1 slots"},
    {"a payload above all slots", "slot-units 1; units 2; rank 0; put to 0 slot 1 from input",
     "rank 0 step 0 (put to 0 slot 1 from input[0+2]): carries 2 units, but slot 1 has a "
     "capacity of 1"},
    {"a payload above its slot",
     "slot-units 2; slot-capacity 2 1; units 2; rank 0; put to 0 slot 1 from input",
     "rank 0 step 0 (put to 0 slot 1 from input[0+2]): carries 2 units, but slot 1 has a "
     "capacity of 1"},
    {"too few capacities", "slot-capacity 2; slots 2; rank 0; put to 0 slot 1 from input",
     "rank 0: slot-capacity has 1 values, expected 2, the number of slots"},
    {"a capacity above the largest", "slot-capacity 2; rank 0; put to 0 slot 0 from input",
     "rank 0: a slot has a capacity of 2 units, but slot-units is 1"},
    {"a copy to fewer units", "units 2; rank 0; copy output[0] = input",
     "rank 0 step 0 (copy output[0+1] = input[0+2]): copies 2 units to 1"},
    {"an unknown unit", "units 2; rank 0; copy output[1+2] = input",
     "rank 0 step 0 (copy output[1+2] = input[0+2]) names unit 2, but buffers have 2 units"},
    {"operands of different shapes", "units 2; rank 0; reduce output = input, input[0]",
     "rank 0 step 0 (reduce output[0+2] = input[0+2], input[0+1]): has operands of different "
     "shapes"},
    {"a lag on a step without lags", "rank 0; flush lag 1",
     "rank 0 step 0 (flush lag 1): has a lag (only signals, waits and publishes do)"},
};

TEST(VerifyFaults, EachFaultIsNamed) {
    for (const Fault& fault : kFaults)
        EXPECT_EQ(error_of(fault.programs, nullptr, fault.elements), fault.error) << fault.name;
}

/// Programs that are right with separate input and output may be wrong if a call is in place on
/// some ranks only.
TEST(VerifyFaults, MixedInPlaceRanksAreCheckedOnRequest) {
    const auto programs = test::programs_of(
        "rank 0; expose to 1 slot 0 from input; reduce output = input, input; wait from 1 slot 0; "
        "rank 1; wait from 0 slot 0; copy output = mapped 0 of 0; signal to 0 slot 0");
    VerifyInput input{.programs = programs, .elements = 60, .in_place = false};
    EXPECT_EQ(verify(input).error, "");
    input.mixed = true;
    EXPECT_TRUE(verify(input).error.starts_with(
        "with input and output in the same memory on even ranks: rank 1 step 1"))
        << verify(input).error;
}

/// Published cells and exposed blocks are read within a node. Puts reach exposed blocks everywhere.
TEST(VerifyFaults, ReadsOfMemoryOnOtherNodesAreRefused) {
    const Fault kReads[] = {
        {"a wait for a published cell",
         "rank 0; publish slot 0 from input; rank 1; wait from 0 slot 0 published",
         "rank 1 step 0 (wait from 0 slot 0 published): memory of rank 0 is on another node"},
        {"a copy out of an exposed block",
         "rank 0; expose to 1 slot 0 from input; wait from 1 slot 0; "
         "rank 1; wait from 0 slot 0; copy output = mapped 0 of 0; signal to 0 slot 0",
         "rank 1 step 1 (copy output[0+1] = mapped 0 of 0[0+1]): memory of rank 0 is on another "
         "node"},
        {"a put into an exposed block",
         "rank 0; expose to 1 slot 0 from output for writing; wait from 1 slot 0; "
         "rank 1; wait from 0 slot 0; put to 0 slot 0 from input into mapped 0 of 0",
         ""},
    };
    constexpr Rank kOneNode[] = {0, 0};
    constexpr Rank kTwoNodes[] = {0, 1};
    for (const Fault& read : kReads) {
        const auto programs = test::programs_of(read.programs);
        VerifyInput input{.programs = programs, .elements = 60, .layout = Layout::of(kOneNode)};
        EXPECT_EQ(verify(input).error, "") << read.name;
        input.layout = Layout::of(kTwoNodes);
        EXPECT_EQ(verify(input).error, read.error) << read.name;
    }
}

TEST(VerifyFaults, MissingAndDoubledContributionsAreNamed) {
    const Contract contract = test::allreduce_contract();
    const auto error = [&](const char* text) { return error_of(text, &contract); };
    EXPECT_EQ(error("rank 0; put to 1 slot 0 from input; wait from 1 slot 0; flush; "
                    "reduce output = input, slot 0, slot 0; rank 1; put to 0 slot 0 from input; "
                    "wait from 0 slot 0; flush; copy output = input"),
              "rank 0 ends without its result: output[0] holds the contribution of rank 1 2 times");
    EXPECT_EQ(error("rank 0; signal to 1 slot 0; wait from 1 slot 0; copy output = input; "
                    "rank 1; put to 0 slot 0 from input; wait from 0 slot 0"),
              "rank 0 ends without its result: output[0] misses the contribution of rank 1");
    EXPECT_EQ(error("rank 0; flush"),
              "rank 0 ends without its result: output[0] was never written");
}

TEST(VerifyFaults, MissingSynchronizationIsNamed) {
    std::vector<Program> programs = test::chain_broadcast(3, 4, 2);
    for (Program& program : programs) program.synchronizing = true;
    EXPECT_EQ(error_of(programs),
              "rank 0 may end before rank 2 has started, but the programs are declared "
              "synchronizing");
    Contract contract = test::barrier_contract();
    EXPECT_EQ(error_of(test::programs_of("rank 0; signal to 1 slot 0; rank 1; wait from 0 slot 0"),
                       &contract),
              "rank 0 may end before rank 1 has started, but the contract is synchronizing");
}

TEST(VerifyFaults, ProgramsWithDifferentHeadersAreRefused) {
    std::vector<Program> programs = test::dissemination_barrier(3);
    programs[1].depth = 2;
    EXPECT_EQ(error_of(programs), "rank 1: header field 'depth' differs from rank 0");
    programs = test::dissemination_barrier(3);
    std::swap(programs[1], programs[2]);
    EXPECT_EQ(error_of(programs), "program 1 is for rank 2, expected rank 1");
    programs = test::dissemination_barrier(3);
    programs.pop_back();
    EXPECT_EQ(error_of(programs), "2 programs for 3 ranks");
}

TEST(VerifyFaults, StepsOutsideLanesAndInvalidBlocksAreRefused) {
    std::vector<Program> programs = test::dissemination_barrier(2);
    programs[1].lanes[0].count = 1;
    EXPECT_EQ(error_of(programs), "rank 1: the last steps are in no lane");
    programs = test::dissemination_barrier(2);
    programs[0].steps[0].source = {7, 2};
    EXPECT_EQ(error_of(programs), "rank 0 step 0: names blocks that do not exist");
}

TEST(VerifyFaults, AccessOutsideARanksPartIsRefused) {
    // Rank 0 has input unit 0 and the whole output; rank 1 has only input unit 1.
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
    EXPECT_EQ(error_of_parts(" flush", " put to 0 slot 0 from input[0]"),
              "rank 1 step 0 (put to 0 slot 0 from input[0+1]) reads input[0] of rank 1, which "
              "nothing has written");
    EXPECT_EQ(
        error_of_parts(" flush", " copy output[1] = input[1]"),
        "rank 1 step 0 (copy output[1+1] = input[1+1]) writes output[1] of rank 1, which that "
        "rank does not have");
}

}  // namespace
}  // namespace weft::plan
