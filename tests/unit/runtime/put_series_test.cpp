// SPDX-License-Identifier: BSD-3-Clause
// Goal: binding marks the puts of a rank that another put to a remote peer follows at once, so that
// the network may pass them on together.
// Method: rank 0 puts to ranks 1 to 5 in this order, with different ranks on its node.
#include <gtest/gtest.h>

#include "collectives/registry.hpp"
#include "run/bind/bind.hpp"

namespace weft::run {
namespace {

/// Returns the peers of the marked puts of rank 0, in order.
std::vector<Rank> marked_peers(const std::vector<bool>* near) {
    auto program = collectives::generate("allreduce", collectives::parse_spec("a6").value(),
                                         {.rank = 0, .size = 6, .elements = 1, .element_bytes = 8});
    EXPECT_TRUE(program.ok()) << program.failure().text;
    const auto bound =
        bind(*std::move(program),
             {.elements = 1,
              .element_bytes = 8,
              .shape = {.cells = 64, .banks = 2, .bulk_banks = 2, .bulk_bytes = 1U << 20},
              .near = near});
    EXPECT_TRUE(bound.ok()) << bound.failure().text;
    std::vector<Rank> peers;
    for (const BoundStep& step : bound->steps)
        if (step.more) peers.push_back(step.peer);
    return peers;
}

TEST(PutSeries, AllPutsOfAStageButTheLastAreMarked) {
    const std::vector<bool> near{true, false, false, false, false, false};
    EXPECT_EQ(marked_peers(&near), (std::vector<Rank>{1, 2, 3, 4}));
}

TEST(PutSeries, APutBeforeOneToALocalPeerIsNotMarked) {
    const std::vector<bool> near{true, false, false, true, false, false};
    EXPECT_EQ(marked_peers(&near), (std::vector<Rank>{1, 3, 4}));
}

TEST(PutSeries, NoPutWithinANodeIsMarked) {
    EXPECT_EQ(marked_peers(nullptr), std::vector<Rank>{});
}

}  // namespace
}  // namespace weft::run
