// SPDX-License-Identifier: BSD-3-Clause
// strict_ports.hpp - ports of several ranks in one process, over the strict provider.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "link/fabric/port.hpp"
#include "tests/virtual/strict/strict_fabric.hpp"

namespace weft::test {

/// Ports with a memory of 4096 bytes each.
class StrictPorts {
  public:
    /// `profile` describes the network; its name is set here. The caller must set the peers.
    StrictPorts(Rank size, link::Profile profile) {
        profile.provider = "strict";
        for (Rank rank = 0; rank < size; ++rank) ports_.push_back(opened(rank, size, profile));
    }

    StrictFabric fabric{Demands{}};

    [[nodiscard]] link::Port& operator[](Rank rank) {
        return *ports_[static_cast<std::size_t>(rank)];
    }
    /// Returns the memory that the rank has registered.
    [[nodiscard]] std::byte* memory(Rank rank) {
        return memory_[static_cast<std::size_t>(rank)].data();
    }

  private:
    std::unique_ptr<link::Port> opened(Rank rank, Rank size, const link::Profile& profile) {
        link::FabricOptions options;
        options.rank = rank;
        options.size = size;
        link::Info info = fabric.offer();
        const auto grant = link::accept_offer(*info);
        auto& memory = memory_.emplace_back(4096);
        auto port = link::open_port({memory.data(), memory.size()}, options,
                                    {std::move(info), *grant, profile, {}});
        if (!port) throw std::runtime_error(port.failure().text);
        return std::move(port).value();
    }

    std::vector<std::vector<std::byte>> memory_;
    std::vector<std::unique_ptr<link::Port>> ports_;  // destroyed before the memory that they use
};

}  // namespace weft::test
