// SPDX-License-Identifier: BSD-3-Clause
// events.hpp - the event-driven simulation engine; only this engine models contention.
//
// Next     topology.hpp for ports and links; docs/selection.md.
#pragma once

#include <span>

#include "tools/simulate/simulate.hpp"

namespace weft::lab {

enum class Contention : std::uint8_t {
    none,
    ports,  ///< messages queue where they leave the sender's node and enter the receiver's node
    links,  ///< messages queue at each link of their routes, ports included
};

/// Describes where messages queue.
struct Queueing {
    Contention contention = Contention::none;
    /// Routes of messages; the latency is not used. Equal to inputs.network if that is set.
    Topology topology{0};
};

/// Simulates the programs. Returns Status::argument if they deadlock; the text names a rank and the
/// signal for which it waits. Returns Status::unsupported for contention in a blocking (postal)
/// model. Outcome::events counts arrivals and each entry of a message into a queue.
[[nodiscard]] base::Result<Outcome> simulate_events(std::span<const ImagePart> parts,
                                                    const SimulationInputs& inputs,
                                                    const Queueing& queueing = {},
                                                    const Trace& trace = {});

}  // namespace weft::lab
