// SPDX-License-Identifier: BSD-3-Clause
// sockets.cpp - the old TCP provider: slow, deprecated, and the one here that has every feature.
//
// Facts, measured with libfabric 1.17 on Linux (tests/providers/behaviour_test.cpp) unless said
// otherwise:
// - A put-based barrier that relies on write order has failed (GASNet, bug 4427), so order across places
//   is not promised.
#include "providers/profiles.hpp"

namespace weft::providers {

const link::Profile& sockets_profile() {
    static constexpr link::Profile kProfile{
        .provider = "sockets",
        .cells = {false, "a thread of its own stores, while another one looks"},
        .delivery = {true, "the target acknowledges what it has stored"},
        .fence = {true, "a fenced write waits until earlier ones are acknowledged"},
        .ordered = {false, "a barrier that relied on its order has failed (GASNet, bug 4427)"},
        .asks_fence = true,
        .target_must_progress = true,
        .writes_empty = true,
    };
    return kProfile;
}

}  // namespace weft::providers
