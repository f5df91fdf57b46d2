// SPDX-License-Identifier: BSD-3-Clause
// localize.hpp - rewrites a program for ranks that can read each other's memory.
//
// Idea     Shared puts (one payload under one number for many receivers) to local peers become one
//          published cell that the receivers read in place: one store instead of one for each peer.
// Why      Where ranks outnumber cores, stores and wake-ups determine the time, not rounds.
// Holds    The result is a program like any other, and the verifier accepts it. Sender and receiver
//          rewrite the same puts, because each is a local peer of the other and both mark shared
//          puts.
#pragma once

#include <functional>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Rewrites `program` for its rank. `near(peer)`: `peer` and this rank have mapped each other. The
/// caller ensures that payloads fit a published cell.
[[nodiscard]] Program localize(const Program& program, const std::function<bool(Rank)>& near);

}  // namespace weft::plan
