// SPDX-License-Identifier: BSD-3-Clause
// localize.hpp - rewrites a program so that local peers read shared puts in place.
//
// Idea     Shared puts (kShared: one payload for many receivers) to local peers become one publish
//          step, whose data all receivers read: one store instead of one for each peer.
// Why      Where ranks outnumber cores, stores and wake-ups determine the time, not rounds.
// Holds    The verifier accepts the result. Sender and receiver rewrite the same puts, because each
//          is a local peer of the other and both mark shared puts.
#pragma once

#include <functional>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Returns the rewritten program. `near(peer)`: returns true for local peers. The caller ensures
/// that published payloads have room (run::may_publish()).
[[nodiscard]] Program localize(const Program& program, const std::function<bool(Rank)>& near);

}  // namespace weft::plan
