// SPDX-License-Identifier: BSD-3-Clause
// Goal: ranges of sizes decide which library serves a call. Without ranges, short calls go to
//       weft, and so do long calls whose buffers recur.
// Method: the test passes ranges and buffer addresses to Choices; no MPI library runs.
#include "faces/mpi/choices.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::mpi {
namespace {

#if defined(OPEN_MPI)
const std::string kMpi = "openmpi";
const std::string kOther = "mpich";
#else
const std::string kMpi = "mpich";
const std::string kOther = "openmpi";
#endif

constexpr std::size_t kLong = Choices::kLongBytes;

Choices choices_of(int ranks, const std::string& lines) {
    std::string complaint;
    Choices choices(ranks);
    choices.apply(read_ranges(lines, complaint));
    EXPECT_EQ(complaint, "");
    return choices;
}

TEST(Ranges, ExtendFromTheirSizeToTheNextRange) {
    const Choices choices = choices_of(4, kMpi + " 4 broadcast 64 host\n" +        //
                                              kMpi + " 4 broadcast 1024 weft\n" +  //
                                              kMpi + " 4 broadcast 1048576 host\n");
    EXPECT_EQ(choices.library(CallKind::broadcast, 63), Library::unknown);
    EXPECT_EQ(choices.library(CallKind::broadcast, 64), Library::host);
    EXPECT_EQ(choices.library(CallKind::broadcast, 1023), Library::host);
    EXPECT_EQ(choices.library(CallKind::broadcast, 1024), Library::weft);
    EXPECT_EQ(choices.library(CallKind::broadcast, 1048575), Library::weft);
    EXPECT_EQ(choices.library(CallKind::broadcast, ~std::size_t{0}), Library::host);
    EXPECT_EQ(choices.library(CallKind::reduce, 64), Library::unknown);
}

TEST(Ranges, MayBeInAnyOrderAndStartAtZero) {
    const Choices choices =
        choices_of(2, kMpi + " 2 scan 8 weft\n" + kMpi + " 2 scan 0 host\n# remark\n\n");
    EXPECT_EQ(choices.library(CallKind::scan, 0), Library::host);
    EXPECT_EQ(choices.library(CallKind::scan, 7), Library::host);
    EXPECT_EQ(choices.library(CallKind::scan, 8), Library::weft);
}

TEST(Ranges, OfTheLargestSizeUpToTheCommunicatorsApply) {
    const std::string lines = kMpi + " 4 reduce 0 host\n" + kMpi + " 8 reduce 0 weft\n" + kMpi +
                              " 8 gather 0 host\n" + kOther + " 2 reduce 0 host\n";
    EXPECT_EQ(choices_of(3, lines).library(CallKind::reduce, 8), Library::unknown);
    EXPECT_EQ(choices_of(4, lines).library(CallKind::reduce, 8), Library::host);
    EXPECT_EQ(choices_of(7, lines).library(CallKind::reduce, 8), Library::host);
    EXPECT_EQ(choices_of(7, lines).library(CallKind::gather, 8), Library::unknown);
    EXPECT_EQ(choices_of(100, lines).library(CallKind::reduce, 8), Library::weft);
}

TEST(Ranges, InAFileReplaceShippedRangesOfTheirCollective) {
    std::string complaint;
    Choices choices(8);
    choices.apply(shipped_ranges());
    EXPECT_EQ(choices.library(CallKind::alltoall, 1 << 20), Library::host);
    EXPECT_EQ(choices.library(CallKind::alltoall, 1 << 19), Library::unknown);
    choices.apply(read_ranges(kMpi + " 2 scan 0 host\n", complaint));
    EXPECT_EQ(choices.library(CallKind::alltoall, 1 << 20), Library::host);
    choices.apply(read_ranges(kMpi + " 8 alltoall 8 weft\n", complaint));
    EXPECT_EQ(choices.library(CallKind::alltoall, 1 << 20), Library::weft);
    EXPECT_EQ(choices.library(CallKind::alltoall, 0), Library::unknown);
    EXPECT_EQ(choices.library(CallKind::scan, 8), Library::host);
}

TEST(Ranges, MalformedLinesAreReportedAndSkipped) {
    for (const std::string line :
         {"mpich 4 broadcast 8", "mpich 4 broadcast eight host", "mpich 1 barrier 0 host",
          "mpich 4 cast 8 host", "mpich 4 broadcast 8 us", "nonsense"}) {
        std::string complaint;
        const auto ranges =
            read_ranges("# remark\n\n" + line + "\n" + kMpi + " 2 scan 8 weft\n", complaint);
        EXPECT_EQ(complaint, line);
        EXPECT_EQ(ranges.size(), 1U);
    }
}

TEST(Choices, WithoutRangesOnlyShortCallsGoToWeft) {
    const Choices choices(2);
    EXPECT_FALSE(choices.goes_to_host(CallKind::allreduce, 0));
    EXPECT_FALSE(choices.goes_to_host(CallKind::allreduce, kLong - 1));
    EXPECT_TRUE(choices.goes_to_host(CallKind::allreduce, kLong));
}

TEST(Choices, RangesMaySendLongCallsToWeft) {
    const Choices choices = choices_of(2, kMpi + " 2 allreduce 0 weft\n");
    EXPECT_FALSE(choices.goes_to_host(CallKind::allreduce, kLong));
}

/// Makes long calls whose buffers repeat after `period` calls. Returns the number of calls after
/// which the members must agree on a library.
unsigned calls_until_agreement(Choices& choices, unsigned period) {
    static char memory[4096];
    for (unsigned call = 0;; ++call)
        if (choices.long_calls(CallKind::reduce).count(&memory[call % period], nullptr))
            return call + 1;
}

TEST(Choices, LongCallsWhoseBuffersRecurGoToWeft) {
    for (const unsigned period : {1U, 8U}) {
        Choices choices(2);
        EXPECT_EQ(calls_until_agreement(choices, period), LongCalls::kCallsBefore);
        EXPECT_TRUE(choices.long_calls(CallKind::reduce).reuse_buffers()) << period;
        EXPECT_TRUE(choices.goes_to_host(CallKind::reduce, kLong));
        choices.long_calls(CallKind::reduce).agree(true);
        EXPECT_FALSE(choices.goes_to_host(CallKind::reduce, kLong));
        EXPECT_TRUE(choices.goes_to_host(CallKind::broadcast, kLong));
    }
}

TEST(Choices, LongCallsWithNewBuffersStayWithTheHost) {
    Choices choices(2);
    unsigned calls = LongCalls::kCallsBefore;
    for (int agreement = 0; agreement < 5; ++agreement, calls *= 2) {
        EXPECT_EQ(calls_until_agreement(choices, 4096), agreement == 0 ? calls : calls / 2);
        EXPECT_FALSE(choices.long_calls(CallKind::reduce).reuse_buffers());
        choices.long_calls(CallKind::reduce).agree(false);
        EXPECT_TRUE(choices.goes_to_host(CallKind::reduce, kLong));
    }
}

TEST(Choices, MembersAgreeAgainWhenTheNumberOfCallsHasDoubled) {
    Choices choices(2);
    static_cast<void>(calls_until_agreement(choices, 1));
    choices.long_calls(CallKind::reduce).agree(true);
    EXPECT_EQ(calls_until_agreement(choices, 4096), LongCalls::kCallsBefore);
    EXPECT_FALSE(choices.long_calls(CallKind::reduce).reuse_buffers());
    choices.long_calls(CallKind::reduce).agree(false);
    EXPECT_TRUE(choices.goes_to_host(CallKind::reduce, kLong));
    EXPECT_EQ(calls_until_agreement(choices, 1), 2 * LongCalls::kCallsBefore);
    EXPECT_TRUE(choices.long_calls(CallKind::reduce).reuse_buffers());
}

}  // namespace
}  // namespace weft::mpi
