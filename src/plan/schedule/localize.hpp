// SPDX-License-Identifier: BSD-3-Clause
// localize.hpp - the same program for ranks that can read each other's memory.
//
// Idea     Shared puts (one payload under one number for many receivers) to near peers become one
//          published cell that the receivers read in place: one store instead of one per peer.
// Why      Where ranks outnumber cores the number of stores and wake-ups counts, not the rounds.
// Holds    A pure rewriting of steps; the result is a program like any other and verifies as one.
//          Both ends decide the same because nearness is mutual and sharing is marked on both ends.
#pragma once

#include <functional>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Rewrites `program` for its rank; near(peer) says whether `peer` and this rank map each other.
/// Only where payloads fit what is published (the caller knows the bytes).
[[nodiscard]] Program localize(const Program& program, const std::function<bool(Rank)>& near);

}  // namespace weft::plan
