// SPDX-License-Identifier: BSD-3-Clause
// Goal: VirtualNetwork::cancel() delivers data although the origin makes no further calls.
// Method: post a put whose source a progress call of the origin would read, and cancel it before
// such a call. Then overwrite the source, and make progress only at the target.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/virtual_wire.hpp"

namespace weft::test {
namespace {

TEST(CancelledPuts, ProgressOfTheTargetDeliversTheData) {
    VirtualProfile profile = prompt_profile();
    profile.copy_percent = 0;
    profile.fetch_percent = 100;
    VirtualNetwork network({.segment_bytes = 1 << 14, .node_of_rank = {0, 1}, .profile = profile});
    std::vector<std::byte> source(512, std::byte{7});
    const base::PutPart part{source.data(), source.size()};
    std::uint32_t pending = 0;
    std::uint64_t resume = 0;
    const base::Put put{.peer = 1,
                        .parts = {&part, 1},
                        .bytes = part.bytes,
                        .target = 1024,
                        .cell = 0,
                        .flag = base::flag_word(1, 1),
                        .pending = &pending};
    ASSERT_EQ(network.try_put(0, put, resume), base::Post::posted);
    network.cancel(0);
    std::ranges::fill(source, std::byte{9});
    for (int call = 0; call < 1000 && network.in_flight() > 0; ++call) network.progress(1);
    EXPECT_EQ(network.in_flight(), 0U);
    EXPECT_EQ(network.segment(1)[1024 + 511], std::byte{7});
}

}  // namespace
}  // namespace weft::test
