// SPDX-License-Identifier: BSD-3-Clause
// network.hpp - the latency between two ranks, where it is not the same for every pair.
//
// Next     lab/simulate/topology.hpp for topologies by name, and the links of their messages.
#pragma once

#include <utility>
#include <vector>

#include "plan/simulate/model.hpp"
#include "weft/types.hpp"

namespace weft::plan {

class Network {
  public:
    virtual ~Network() = default;
    [[nodiscard]] virtual Time latency(Rank source, Rank target) const = 0;
};

/// `near` between ranks of the same node, `far` between others.
class NodeNetwork final : public Network {
  public:
    NodeNetwork(std::vector<Rank> node_of, Time near, Time far)
        : node_of_(std::move(node_of)), near_(near), far_(far) {}

    [[nodiscard]] Time latency(Rank source, Rank target) const override {
        return node(source) == node(target) ? near_ : far_;
    }

  private:
    [[nodiscard]] Rank node(Rank rank) const { return node_of_[static_cast<std::size_t>(rank)]; }

    std::vector<Rank> node_of_;  ///< by rank
    Time near_;
    Time far_;
};

}  // namespace weft::plan
