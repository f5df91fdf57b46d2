// SPDX-License-Identifier: BSD-3-Clause
// Bug: a request to wait for a number of writes was served on networks that do not count writes,
// and the wire read past the end of its batch table, which was empty.
// Method: the test sends requests to a rank whose network delivers writes in order and counts none.
#include <gtest/gtest.h>

#include "run/onesided/service.hpp"
#include "tests/hostile/fuzz/hostile_wire.hpp"

namespace weft::run {
namespace {

TEST(WriteCountsWithoutCounters, FlushAfterACountIsRefused) {
    fuzz::HostileWire wire;
    const Service<fuzz::HostileWire> service(wire, {.offset = 0, .ranks = 2}, 0);
    EXPECT_EQ(service.fault_of({.kind = RequestKind::flush}), nullptr);
    EXPECT_NE(service.fault_of({.kind = RequestKind::flush, .batch_writes = 1}), nullptr);
}

}  // namespace
}  // namespace weft::run
