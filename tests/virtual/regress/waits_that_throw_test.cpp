// SPDX-License-Identifier: BSD-3-Clause
// Bug: when the condition of a wait threw, the engine kept a reference to the wait's description,
// which the next report called. Method: the third evaluation of a condition throws, then the test
// requests a report. Without the fix, the report has the text of the ended wait, or the process
// crashes.
#include <gtest/gtest.h>

#include <new>

#include "tests/support/virtual_job.hpp"

namespace weft::test {
namespace {

TEST(WaitsThatThrow, LeaveNoDescription) {
    VirtualJob job({.segment_bytes = 1 << 20, .node_of_rank = {0, 0}, .seed = 1});
    VirtualEngine& engine = job.engine(0);
    int evaluations = 0;
    std::string text = "a wait";
    const auto ended = [&] {
        if (++evaluations == 3) throw std::bad_alloc();
        return false;
    };
    {
        const auto hold = engine.take_turn();
        EXPECT_THROW(engine.await(ended, [&] { return text; }), std::bad_alloc);
    }
    EXPECT_EQ(evaluations, 3);
    EXPECT_EQ(job.describe(), "");
}

}  // namespace
}  // namespace weft::test
