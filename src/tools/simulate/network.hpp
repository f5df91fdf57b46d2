// SPDX-License-Identifier: BSD-3-Clause
// network.hpp - interface for latencies that differ between pairs of ranks.
//
// Next     tools/simulate/topology.hpp for named topologies and the links of messages.
#pragma once

#include "tools/simulate/clock.hpp"
#include "weft/types.hpp"

namespace weft::lab {

class Network {
  public:
    Network() = default;
    Network(const Network&) = default;
    Network& operator=(const Network&) = default;
    virtual ~Network() = default;
    /// Returns the time from the end of a send to the arrival of the message.
    [[nodiscard]] virtual Time latency(Rank source, Rank target) const = 0;
};

}  // namespace weft::lab
