// SPDX-License-Identifier: BSD-3-Clause
// Goal: a call is tried equally often with both libraries, and then made with the faster one. Short
//       calls are tried again in long blocks, whose times decide.
// Method: times are given; no MPI library runs.
#include "faces/mpi/choices.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "faces/mpi/choice_file.hpp"

namespace weft::mpi {
namespace {

/// Counts of one trial of a place.
struct Tried {
    unsigned calls = 0;
    unsigned to_host = 0;
    unsigned looks = 0;  ///< number of readings of the clock
};

/// Tries a place with given times until decide() is due. `pause_us` is the time between calls.
Tried try_once(Choices& choices, Choices::Place place, Choices::Times call_us,
               double pause_us = 0) {
    Tried tried;
    double now = 0;
    for (bool last = false; !last;) {
        const Choices::Turn turn = choices.next(place);
        EXPECT_TRUE(turn.tried);
        EXPECT_FALSE(choices.decided(place));
        const double begun = now;
        now += call_us[turn.host ? 1 : 0];
        last = choices.tried(place, turn, begun, now);
        now += pause_us;
        ++tried.calls;
        tried.to_host += turn.host ? 1 : 0;
        tried.looks += (turn.begins ? 1 : 0) + (turn.ends ? 1 : 0);
    }
    return tried;
}

/// Makes the calls of a place with long calls before its trial.
Tried warm_up(Choices& choices, Choices::Place place, Choices::Times call_us) {
    Tried tried;
    while (tried.calls - tried.to_host < Choices::pace_of(place).warm) {
        const Tried some = try_once(choices, place, call_us);
        tried.calls += some.calls;
        tried.to_host += some.to_host;
        EXPECT_FALSE(choices.decide(place, choices.blocks(place)));
    }
    return tried;
}

TEST(Choices, CallsGoWhereTheyTookLessTime) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{256} << 10, std::size_t{1} << 20}) {
        for (const double hosts : {100.0, 300.0}) {
            Choices choices;
            const auto place = Choices::place_of(Kind::allreduce, bytes);
            const Choices::Pace pace = Choices::pace_of(place);
            const bool is_long = bytes > 8;
            const Choices::Times call_us{200.0, hosts};
            if (is_long) static_cast<void>(warm_up(choices, place, call_us));
            const Tried tried = try_once(choices, place, call_us);
            const unsigned ours = tried.calls - tried.to_host - (is_long ? 0 : pace.warm);
            const unsigned block = Choices::kRounds * pace.block;
            EXPECT_EQ(std::min(ours, tried.to_host), block);
            // A call of the slower library takes 1.5 or 2 times the time of the other.
            const unsigned times = !is_long ? 1 : hosts < 200.0 ? 30 : 15;
            EXPECT_EQ(hosts < 200.0 ? tried.to_host : ours, times * block);
            const Choices::Times found = Choices::medians(choices.blocks(place));
            EXPECT_DOUBLE_EQ(found[0], 200.0);
            EXPECT_DOUBLE_EQ(found[1], hosts);
            EXPECT_TRUE(choices.decide(place, choices.blocks(place)));
            EXPECT_TRUE(choices.decided(place));
            EXPECT_EQ(choices.next(place).host, hosts < 200.0);
            EXPECT_FALSE(choices.next(place).tried);
        }
    }
}

TEST(Choices, LongerCallsAreTriedLessOften) {
    const auto tried = [](std::size_t bytes) {
        const Choices::Pace pace = Choices::pace_of(Choices::place_of(Kind::broadcast, bytes));
        return pace.warm + 2 * Choices::kRounds * pace.block;
    };
    EXPECT_GT(tried((256 << 10) - 1), tried(256 << 10));
    EXPECT_GT(tried((1 << 20) - 1), tried(1 << 20));
    EXPECT_LE(tried(1 << 20), 56U);
    // weft shares buffers of long calls within 18 calls: earlier times mean nothing.
    for (const std::size_t bytes : {std::size_t{256} << 10, std::size_t{1} << 20})
        EXPECT_GT(Choices::pace_of(Choices::place_of(Kind::broadcast, bytes)).warm, 18U);
}

TEST(Choices, ShortCallsAreTriedAgainInLongBlocks) {
    Choices choices;
    const auto place = Choices::place_of(Kind::broadcast, 8);
    static_cast<void>(try_once(choices, place, {0.25, 0.5}));
    EXPECT_FALSE(choices.decide(place, choices.blocks(place)));
    // In a stream of calls the host is faster.
    const Tried stream = try_once(choices, place, {0.25, 0.125});
    const unsigned block = static_cast<unsigned>(Choices::kStreamUs / 0.5);
    EXPECT_EQ(stream.calls, 2 * Choices::kRounds * block);
    EXPECT_EQ(stream.to_host, Choices::kRounds * block);
    EXPECT_EQ(stream.looks, 2 * 2 * Choices::kRounds);
    EXPECT_NEAR(Choices::medians(choices.blocks(place))[0], 0.25, 1e-9);
    EXPECT_NEAR(Choices::medians(choices.blocks(place))[1], 0.125, 1e-9);
    EXPECT_TRUE(choices.decide(place, choices.blocks(place)));
    EXPECT_TRUE(choices.next(place).host);
}

TEST(Choices, LongBlocksWithOtherWorkBetweenCallsDoNotCount) {
    Choices choices;
    const auto place = Choices::place_of(Kind::broadcast, 8);
    static_cast<void>(try_once(choices, place, {0.25, 0.5}));
    EXPECT_FALSE(choices.decide(place, choices.blocks(place)));
    static_cast<void>(try_once(choices, place, {0.25, 0.125}, 10.0));
    EXPECT_TRUE(choices.decide(place, choices.blocks(place)));
    EXPECT_FALSE(choices.next(place).host);
}

TEST(Choices, WhatIsNearTheHostsTimeIsLeftToIt) {
    Choices choices;
    const auto place = Choices::place_of(Kind::alltoall, 1 << 20);
    static_cast<void>(warm_up(choices, place, {99.0, 100.0}));
    static_cast<void>(try_once(choices, place, {99.0, 100.0}));
    EXPECT_TRUE(choices.decide(place, choices.blocks(place)));
    EXPECT_TRUE(choices.next(place).host);
}

/// Returns blocks of which `gained` were faster with weft, by a tenth.
Choices::Blocks rounds_of(unsigned gained, double hosts_us) {
    Choices::Blocks longest{};
    for (std::size_t round = 0; round < Choices::kRounds; ++round) {
        longest[round] = hosts_us * (round < gained ? 0.9 : 1.1);
        longest[Choices::kRounds + round] = hosts_us;
    }
    return longest;
}

TEST(Choices, BlocksFollowUntilItIsSureWhoIsQuicker) {
    struct Row {
        unsigned gained_first;
        unsigned gained_then;
        unsigned comparisons;
        bool host;
    };
    for (const Row& row : {Row{4, 4, 1, false}, Row{0, 0, 1, true}, Row{3, 4, 2, false},
                           Row{1, 0, 2, true}, Row{3, 3, 4, false}, Row{1, 1, 4, true},
                           Row{2, 4, 3, false}, Row{2, 2, Choices::kRoundsMax / 4, true}}) {
        Choices choices;
        const auto place = Choices::place_of(Kind::alltoall, 1 << 20);
        static_cast<void>(warm_up(choices, place, {100.0, 100.0}));
        unsigned comparisons = 0;
        for (bool decided = false; !decided; ++comparisons) {
            const Tried tried = try_once(choices, place, {100.0, 100.0});
            const unsigned growth = std::min(1U << comparisons, Choices::kGrowthMax);
            const unsigned block = Choices::kRounds * growth * Choices::pace_of(place).block;
            EXPECT_EQ(std::min(tried.to_host, tried.calls - tried.to_host), block);
            decided = choices.decide(
                place, rounds_of(comparisons == 0 ? row.gained_first : row.gained_then, 100.0));
        }
        EXPECT_EQ(comparisons, row.comparisons) << row.gained_first << row.gained_then;
        EXPECT_EQ(choices.next(place).host, row.host) << row.gained_first << row.gained_then;
    }
}

TEST(WarmUp, TheHostsCallsPayForThoseOfWeftThatAreSlower) {
    for (const double slower : {1.02, 1.1, 1.3, 2.0, 5.0}) {
        for (const unsigned calls_that_share : {0U, 6U, 13U}) {
            WarmUp warm(24);
            double spent = 0;
            double longest = 0;
            unsigned calls = 0;
            unsigned ours = 0;
            for (bool goes_on = true; goes_on;) {
                const bool host = warm.host();
                const bool shares = ours + 1 == calls_that_share;
                const double us = host ? 100.0 : shares ? 1000.0 : 100.0 * slower;
                spent += us;
                longest = std::max(longest, us - 100.0);
                ++calls;
                ours += host ? 0 : 1;
                if (warm.called(host, us)) goes_on = warm.compared(warm.times());
                // The first two calls are the unavoidable cost of a measurement.
                EXPECT_LE(spent, 1.034 * 100.0 * calls + longest + 2 * 100.0 * (slower - 1) + 1e-6);
            }
            EXPECT_EQ(ours, 24U);
        }
    }
}

TEST(WarmUp, WhatIsMuchQuickerIsCalled) {
    WarmUp warm(24);
    for (unsigned call = 0; call < 2 + 24; ++call) {
        EXPECT_EQ(warm.host(), call < 2) << call;
        // The first call makes plans, and a later one shares buffers.
        const double us = call == 2 ? 900 : call == 10 ? 1500 : 60;
        if (warm.called(warm.host(), warm.host() ? 100 : us)) {
            EXPECT_EQ(warm.compared(warm.times()), call < 25) << call;
        }
    }
}

TEST(WarmUp, WhatBecomesMuchQuickerIsCalledFromThenOn) {
    WarmUp warm(24);
    unsigned ours = 0;
    unsigned hosts = 0;
    for (bool goes_on = true; goes_on;) {
        const bool host = warm.host();
        const double us = host ? 100 : ours < 8 ? 120 : 50;
        ours += host ? 0 : 1;
        hosts += host ? 1 : 0;
        EXPECT_FALSE(host && ours > 9);
        if (warm.called(host, us)) goes_on = warm.compared(warm.times());
    }
    EXPECT_EQ(ours, 24U);
    EXPECT_LT(hosts, 60U);
}

TEST(WarmUp, ChanceDoesNotMakeManyCallsGoToASlowerWeft) {
    WarmUp warm(24);
    unsigned calls = 0;
    unsigned ours = 0;
    for (bool goes_on = true; goes_on; ++calls) {
        // The host's first calls were disturbed: they take 115, later ones 100.
        const bool host = warm.host();
        const double us = host ? (calls < 2 ? 115 : 100) : 110;
        ours += host ? 0 : 1;
        if (warm.called(host, us)) goes_on = warm.compared(warm.times());
        EXPECT_TRUE(calls < 30 || ours <= 2 + calls / 2) << calls;
    }
    EXPECT_GE(calls, 48U);
}

TEST(Choices, OfLongCallsTheQuickerLibraryHasMoreWhileBothAreTried) {
    Choices choices;
    const auto place = Choices::place_of(Kind::alltoall, 4 << 20);
    EXPECT_EQ(warm_up(choices, place, {10.0e3, 40.0e3}).to_host, WarmUp::kFirst);
    const Tried tried = try_once(choices, place, {10.0e3, 40.0e3});
    EXPECT_EQ(tried.to_host, Choices::kRounds * 4);
    EXPECT_EQ(tried.calls - tried.to_host, Choices::kRounds * 4 * 3 * 30);
}

TEST(Choices, ShortCallsThatAreNearEachOtherAreTriedInMoreLongBlocks) {
    Choices choices;
    const auto place = Choices::place_of(Kind::scan, 8);
    static_cast<void>(try_once(choices, place, {0.5, 0.5}));
    EXPECT_FALSE(choices.decide(place, choices.blocks(place)));
    for (const bool decided : {false, true}) {
        const Tried stream = try_once(choices, place, {0.5, 0.5});
        EXPECT_EQ(stream.calls, 2 * Choices::kRounds * (decided ? 1000 : 500));
        EXPECT_EQ(choices.decide(place, rounds_of(decided ? 4 : 3, 0.5)), decided);
    }
    EXPECT_FALSE(choices.next(place).host);
}

TEST(Choices, AProgramThatWorksBetweenCallsIsTriedCallByCall) {
    Choices choices;
    const auto place = Choices::place_of(Kind::scan, 8);
    static_cast<void>(try_once(choices, place, {0.5, 0.5}));
    EXPECT_FALSE(choices.decide(place, rounds_of(3, 0.5)));
    static_cast<void>(try_once(choices, place, {0.5, 0.5}, 1000.0));
    EXPECT_FALSE(choices.decide(place, choices.blocks(place)));
    const Tried again = try_once(choices, place, {0.5, 0.5}, 1000.0);
    EXPECT_EQ(again.calls, 2 * Choices::kRounds * 2 * Choices::kPace.block);
    EXPECT_NEAR(Choices::medians(choices.blocks(place))[0], 0.5, 1e-6);
    EXPECT_TRUE(
        choices.decide(place, rounds_of(4, 0.5)));  // seven of eight, with the earlier rounds
    EXPECT_FALSE(choices.next(place).host);
}

TEST(Choices, CallsOfTheHostAtAGlanceCountAsIfTheyHadBeenAskedAbout) {
    const auto place = Choices::place_of(Kind::broadcast, 8);
    for (const Glances used : {Glances{0}, Glances{5}, Glances{1} << 30}) {  // no call, some, all
        Choices choices;
        static_cast<void>(try_once(choices, place, {0.5, 0.25}));
        EXPECT_FALSE(choices.decide(place, choices.blocks(place)));
        const unsigned block = static_cast<unsigned>(Choices::kStreamUs / 0.5);
        unsigned calls = 0;
        for (bool last = false; !last;) {
            if (Glances* const left = choices.glances(place)) {
                const Glances taken = std::min(used, *left);
                *left -= taken;
                calls += static_cast<unsigned>(taken);
            }
            const Choices::Turn turn = choices.next(place);
            EXPECT_EQ(turn.host, calls / block % 2 == 0) << calls;
            last = choices.tried(place, turn, 0, 1);
            ++calls;
        }
        EXPECT_EQ(calls, 2 * Choices::kRounds * block);
    }
}

TEST(Choices, SlowCallsAtTheStartOfABlockAndASlowBlockDoNotCount) {
    Choices choices;
    const auto place = Choices::place_of(Kind::barrier, 0);
    const Choices::Pace pace = Choices::pace_of(place);
    const unsigned calls = pace.warm + 2 * Choices::kRounds * pace.block;
    for (unsigned call = 0; call < calls; ++call) {
        const bool host = choices.next(place).host;
        const bool cold = call < pace.warm || call % pace.block < pace.skipped();
        const bool disturbed = !host && call == calls - 1;
        static_cast<void>(choices.tried(place, choices.next(place), 0,
                                        disturbed || cold ? 1000.0
                                        : host            ? 2.0
                                                          : 1.0));
    }
    EXPECT_EQ(Choices::medians(choices.blocks(place))[0], 1.0);
    EXPECT_EQ(Choices::medians(choices.blocks(place))[1], 2.0);
}

TEST(Choices, CollectivesAndSizesAreChosenForApart) {
    Choices choices;
    const auto place = Choices::place_of(Kind::broadcast, 1000);
    static_cast<void>(try_once(choices, place, {200.0, 100.0}));
    EXPECT_TRUE(choices.decide(place, choices.blocks(place)));
    EXPECT_TRUE(choices.next(place).host);
    EXPECT_EQ(Choices::place_of(Kind::broadcast, 600), place);
    for (const auto other :
         {Choices::place_of(Kind::broadcast, 1024), Choices::place_of(Kind::broadcast, 0),
          Choices::place_of(Kind::reduce, 1000), Choices::place_of(Kind::reduce_scatter, ~0UL)}) {
        EXPECT_FALSE(choices.decided(other));
        EXPECT_TRUE(choices.next(other).tried);
    }
}

TEST(Choices, WhatIsKnownIsNotTried) {
    Choices::Ways known{};
    const auto place = Choices::place_of(Kind::reduce, 64);
    known[place] = Choices::Way::hosts;
    Choices choices(known);
    EXPECT_TRUE(choices.decided(place));
    EXPECT_TRUE(choices.next(place).host);
    EXPECT_FALSE(choices.next(place).tried);
}

TEST(ChoiceFile, WhatIsWrittenIsRead) {
    KnownWays known;
    const auto short_one = Choices::place_of(Kind::broadcast, 8);
    const auto barrier = Choices::place_of(Kind::barrier, 0);
    known[4][short_one] = Choices::Way::hosts;
    known[9][barrier] = Choices::Way::ours;
    known[9][short_one] = Choices::Way::trying;  // undecided
    const std::string text = write_ways("mpich 2 scan 64 weft\n", "openmpi", known);
    EXPECT_EQ(text.substr(text.find('\n') + 1),
              "mpich 2 scan 64 weft\n"
              "openmpi 4 broadcast 8 host\n"
              "openmpi 9 barrier 0 weft\n");
    std::string complaint;
    KnownWays read = read_ways(text, "openmpi", complaint);
    EXPECT_EQ(complaint, "");
    EXPECT_EQ(read.size(), 2U);
    EXPECT_EQ(read[4][short_one], Choices::Way::hosts);
    EXPECT_EQ(read[9][barrier], Choices::Way::ours);
    EXPECT_EQ(read[9][short_one], Choices::Way::untried);
    EXPECT_EQ(write_ways(text, "openmpi", read), text);
}

TEST(ChoiceFile, LinesThatSayNothingAreToldOf) {
    for (const std::string line :
         {"openmpi 4 broadcast 8", "openmpi 4 broadcast eight host", "openmpi 1 barrier 0 host",
          "openmpi 4 cast 8 host", "openmpi 4 broadcast 8 us", "nonsense"}) {
        std::string complaint;
        const KnownWays known =
            read_ways("# remark\n\n" + line + "\nopenmpi 2 scan 8 weft\n", "openmpi", complaint);
        EXPECT_EQ(complaint, line);
        EXPECT_EQ(known.size(), 1U);
    }
}

}  // namespace
}  // namespace weft::mpi
