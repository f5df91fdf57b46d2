// SPDX-License-Identifier: BSD-3-Clause
// events.hpp - the engine in order of time, the only one that knows contention.
//
// Next     topology.hpp for ports and links; docs/selection.md.
#pragma once

#include <span>

#include "lab/simulate/topology.hpp"
#include "plan/simulate/simulate.hpp"

namespace weft::lab {

enum class Contention : std::uint8_t { none, ports, links };

/// What messages queue for.
struct Queueing {
    Contention contention = Contention::none;
    Topology topology{0};  ///< whose ports or links they are
};

/// Status::argument if the programs deadlock: the text names rank and signal. Outcome::events
/// counts what the queue held.
[[nodiscard]] base::Result<plan::Outcome> simulate_events(std::span<const plan::ImagePart> parts,
                                                          const plan::Surroundings& surroundings,
                                                          const Queueing& queueing = {},
                                                          const plan::Trace& trace = {});

}  // namespace weft::lab
