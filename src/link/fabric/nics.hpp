// SPDX-License-Identifier: BSD-3-Clause
// nics.hpp - network cards (NICs) of this host, and the NIC that each of its ranks uses.
//
// Idea     Each rank uses the NIC nearest to its processors, by hwloc's tree of the machine. Ranks
//          with several equally near NICs spread over them evenly. Every rank computes the NICs
//          of all ranks of its host from the same facts, so they agree without communication.
// Holds    NICs are sorted by name. Their number does not depend on the rank.
// Next     discover.cpp, which finds the NICs; striped_port.hpp for puts that use several NICs.
#pragma once

#include <sched.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::link {

struct HostRanks {
    std::vector<cpu_set_t> processors;  ///< allowed for each rank; empty: this process is alone
    std::size_t position = 0;           ///< index of this rank in `processors`
};

/// A network card whose libfabric offer is acceptable.
struct Nic {
    std::string name;                ///< libfabric's domain
    std::string bus;                 ///< PCI address, such as "0000:41:00.0"; empty: unknown
    int distance = -1;               ///< levels of hwloc's tree from this rank; -1: unknown
    std::vector<std::size_t> ranks;  ///< indices of the ranks of this host that use the NIC
    bool chosen = false;             ///< used by this rank
};

/// Splits a list at commas. Removes spaces and empty names.
[[nodiscard]] std::vector<std::string> names_in(std::string_view list);

/// Returns the index of each rank's NIC: among its nearest NICs, the one with the fewest ranks so
/// far. `distances` has a list for each rank, with the distance of each NIC; -1: unknown.
[[nodiscard]] std::vector<std::size_t> spread_over_nics(
    std::span<const std::vector<int>> distances);

/// Sets the distances, ranks and choice of all NICs. Reads hwloc's tree only for several NICs.
void assign_nics(std::vector<Nic>& nics, const HostRanks& host);

}  // namespace weft::link
