// SPDX-License-Identifier: BSD-3-Clause
// Goal: a call is tried with both libraries, equally often, and then goes where it took less time.
// Method: times are given, no library of MPI is started.
#include "front/mpi/choices.hpp"

#include <gtest/gtest.h>

namespace weft::mpi {
namespace {

/// Tries a place with times of its own; how many of the calls went to the host.
int try_all(Choices& choices, Choices::Place place, double ours, double hosts) {
    int to_host = 0;
    const unsigned tried = Choices::pace_of(place).tried();
    for (unsigned call = 0; call < tried; ++call) {
        const bool host = choices.goes_to_host(place);
        to_host += host ? 1 : 0;
        EXPECT_FALSE(choices.decided(place));
        EXPECT_EQ(choices.tried(place, host ? hosts : ours), call + 1 == tried);
    }
    return to_host;
}

TEST(Choices, CallsGoWhereTheyTookLessTime) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20}) {
        for (const double hosts : {1.0, 3.0}) {
            Choices choices;
            const auto place = Choices::place_of(Kind::allreduce, bytes);
            const auto block = static_cast<int>(Choices::pace_of(place).block);
            const int rounds = Choices::kRounds;
            EXPECT_EQ(try_all(choices, place, 2.0, hosts), rounds * block);
            const Choices::Times found = choices.medians(place);
            EXPECT_EQ(found[0] * hosts, found[1] * 2.0);
            choices.decide(place, found);
            EXPECT_TRUE(choices.decided(place));
            EXPECT_EQ(choices.goes_to_host(place), hosts < 2.0);
        }
    }
}

TEST(Choices, SlowCallsAtTheStartOfABlockAndASlowBlockDoNotCount) {
    Choices choices;
    const auto place = Choices::place_of(Kind::barrier, 0);
    const Choices::Pace pace = Choices::pace_of(place);
    for (unsigned call = 0; call < pace.tried(); ++call) {
        const bool host = choices.goes_to_host(place);
        const bool cold = call < pace.warm || call % pace.block < pace.block / 4;
        const bool disturbed = !host && call == pace.tried() - 1;
        static_cast<void>(choices.tried(place, disturbed || cold ? 1000.0 : host ? 2.0 : 1.0));
    }
    EXPECT_EQ(choices.medians(place)[0], pace.block * 0.75);
    EXPECT_EQ(choices.medians(place)[1], pace.block * 1.5);
}

TEST(Choices, CollectivesAndSizesAreChosenForApart) {
    Choices choices;
    const auto place = Choices::place_of(Kind::broadcast, 1000);
    try_all(choices, place, 2.0, 1.0);
    choices.decide(place, choices.medians(place));
    EXPECT_TRUE(choices.goes_to_host(place));
    EXPECT_EQ(Choices::place_of(Kind::broadcast, 600), place);
    for (const auto other :
         {Choices::place_of(Kind::broadcast, 1024), Choices::place_of(Kind::broadcast, 0),
          Choices::place_of(Kind::reduce, 1000), Choices::place_of(Kind::reduce_scatter, ~0UL)}) {
        EXPECT_FALSE(choices.decided(other));
        EXPECT_FALSE(choices.goes_to_host(other));
    }
}

}  // namespace
}  // namespace weft::mpi
