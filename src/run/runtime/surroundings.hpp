// SPDX-License-Identifier: BSD-3-Clause
// surroundings.hpp - what a rank finds around it: its network, its addresses, its processor time.
//
// Idea     Published on the card of a rank, so that all ranks decide by the same facts which of
//          them share a network, and how many processors the ranks of a host have.
#pragma once

#include <sched.h>

#include <cstdint>
#include <map>
#include <type_traits>

#include "link/fabric/host_addresses.hpp"
#include "run/runtime/cpu_quota.hpp"

namespace weft::run {

/// Travels as its bytes.
struct Surroundings {
    static constexpr std::uint32_t kAddressesMax = 8;

    std::uint64_t network = 0;  ///< see link::network_identity(): one of those of its kernel
    CpuQuota quota;
    std::uint32_t address_count = 0;
    std::uint32_t reserved = 0;
    link::HostAddress addresses[kAddressesMax] = {};

    /// Under the kernel that this boot names: networks of several hosts have the same identities.
    [[nodiscard]] link::HostOnNetwork on_network(std::uint64_t boot) const;
};
static_assert(std::is_trivially_copyable_v<Surroundings>);

[[nodiscard]] Surroundings look_around();

/// The ranks under one running kernel.
struct HostCount {
    int ranks = 0;
    int limited_ranks = 0;
    cpu_set_t cpus{};
    std::map<std::uint64_t, std::uint32_t> quotas;  ///< by group, in thousandths of a processor

    void add(const cpu_set_t& cpus_of_rank, const CpuQuota& quota);
    /// Those that the ranks may use; if all ranks have quotas, no more than these pay for. At
    /// least 1.
    [[nodiscard]] int processors() const;
    /// Whether the quotas are what limits them.
    [[nodiscard]] bool limited() const;
};

}  // namespace weft::run
