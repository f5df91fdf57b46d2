// SPDX-License-Identifier: BSD-3-Clause
// Bug: a request that named a number of counted writes was served by networks that do not count
// them, and the wire read outside of its empty table of batches. Method: requests to a rank whose
// network delivers writes in order. Without the fix, the request is valid.
#include <gtest/gtest.h>

#include "run/onesided/service.hpp"
#include "tests/hostile/fuzz/far_wire.hpp"

namespace weft::run {
namespace {

TEST(UncountedRequests, AreRefused) {
    fuzz::FarWire wire;
    const Service<fuzz::FarWire> service(wire, {.offset = 0, .ranks = 2}, 0);
    EXPECT_EQ(service.fault_of({.kind = RequestKind::flush}), nullptr);
    EXPECT_NE(service.fault_of({.kind = RequestKind::flush, .after = 1}), nullptr);
}

}  // namespace
}  // namespace weft::run
