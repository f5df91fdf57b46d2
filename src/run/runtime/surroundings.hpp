// SPDX-License-Identifier: BSD-3-Clause
// surroundings.hpp - facts about a rank's host: its network, its addresses, its processor time.
//
// Idea     They are published on a rank's card. So all ranks decide from the same facts which of
//          them share a network, and how many processors the ranks of a host have.
#pragma once

#include <sched.h>

#include <cstdint>
#include <map>
#include <type_traits>

#include "link/fabric/host_addresses.hpp"
#include "run/runtime/cpu_quota.hpp"

namespace weft::run {

/// Sent as bytes.
struct Surroundings {
    static constexpr std::uint32_t kAddressesMax = 8;

    std::uint64_t network = 0;  ///< see link::network_identity(); unique within a running kernel
    CpuQuota quota;
    std::uint32_t address_count = 0;
    std::uint32_t reserved = 0;
    link::HostAddress addresses[kAddressesMax] = {};

    /// Combines the network with the kernel's boot id, because networks of several hosts may
    /// have equal identities.
    [[nodiscard]] link::HostOnNetwork on_network(std::uint64_t boot) const;
};
static_assert(std::is_trivially_copyable_v<Surroundings>);

[[nodiscard]] Surroundings look_around();

/// The ranks of one running kernel.
struct HostCount {
    int ranks = 0;
    int limited_ranks = 0;
    cpu_set_t cpus{};
    std::map<std::uint64_t, std::uint32_t> quotas;  ///< by group, in thousandths of a processor

    void add(const cpu_set_t& cpus_of_rank, const CpuQuota& quota);
    /// Returns the number of processors that the ranks may use, at least 1. If all ranks have
    /// quotas, returns no more than these allow.
    [[nodiscard]] int processors() const;
    /// Returns true if the quotas limit the processors.
    [[nodiscard]] bool limited() const;
};

}  // namespace weft::run
