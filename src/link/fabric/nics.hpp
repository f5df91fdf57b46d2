// SPDX-License-Identifier: BSD-3-Clause
// nics.hpp - network cards (NICs) of this host, and the NIC that each of its ranks uses.
//
// Idea     Each rank uses the NIC nearest to its processors, by hwloc's tree of the machine. Ranks
//          with several equally near NICs spread over them evenly. Every rank computes the NICs
//          of all ranks of its host from the same facts, so they agree without communication.
// Holds    NICs are sorted by name. Their number does not depend on the rank.
// Next     discover.cpp, which finds the NICs among libfabric's offers; striped_port.hpp for puts
//          that use several NICs.
#pragma once

#include <sched.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::link {

/// Processors that each rank of this host may use. Empty: this process alone.
struct HostRanks {
    std::vector<cpu_set_t> processors;
    std::size_t position = 0;  ///< index of this rank
};

/// A network card whose libfabric offer is acceptable.
struct Nic {
    std::string name;                ///< libfabric's domain
    std::string bus;                 ///< PCI address, such as "0000:41:00.0"; empty: unknown
    int distance = -1;               ///< from this rank's processors; -1: unknown
    std::vector<std::size_t> ranks;  ///< indices of the ranks of this host that use the NIC
    bool chosen = false;             ///< used by this rank
};

/// Returns the names in a list with commas, without spaces and empty names.
[[nodiscard]] std::vector<std::string> names_in(std::string_view list);

/// Returns the index of each rank's NIC. `distances` has a list for each rank, with the distance
/// of each NIC; -1: unknown. A rank uses the NIC with the fewest ranks so far among its nearest.
[[nodiscard]] std::vector<std::size_t> spread_over_nics(
    std::span<const std::vector<int>> distances);

/// Sets the distances, ranks and choice of all NICs. Reads hwloc's tree only if there are several.
void assign_nics(std::vector<Nic>& nics, const HostRanks& host);

}  // namespace weft::link
