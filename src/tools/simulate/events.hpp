// SPDX-License-Identifier: BSD-3-Clause
// events.hpp - the simulation engine in order of time, the only one that models contention.
//
// Next     topology.hpp for ports and links; docs/selection.md.
#pragma once

#include <span>

#include "tools/simulate/simulate.hpp"
#include "tools/simulate/topology.hpp"

namespace weft::lab {

enum class Contention : std::uint8_t { none, ports, links };

/// Resources for which messages queue.
struct Queueing {
    Contention contention = Contention::none;
    Topology topology{0};  ///< gives the ports or links of each message
};

/// Simulates the programs. Returns Status::argument if they deadlock; the text names a rank and the
/// signal for which it waits. Outcome::events is the number of queued events.
[[nodiscard]] base::Result<Outcome> simulate_events(std::span<const ImagePart> parts,
                                                    const Surroundings& surroundings,
                                                    const Queueing& queueing = {},
                                                    const Trace& trace = {});

}  // namespace weft::lab
