// SPDX-License-Identifier: BSD-3-Clause
// serve_onesided.hpp - makes a wire serve the peers' requests for one-sided calls of a rank.
#pragma once

#include "link/wire/wire.hpp"

namespace weft::test {

/// `calls`: a OneSided, which the wire calls from now on.
template <class Calls>
void serve_onesided(link::Wire& wire, Calls& calls) {
    wire.set_service(
        [](void* self) noexcept { return static_cast<Calls*>(self)->service().serve(); },
        [](void* self, std::uint64_t payload) noexcept {
            static_cast<Calls*>(self)->service().on_immediate(payload);
        },
        &calls);
}

}  // namespace weft::test
