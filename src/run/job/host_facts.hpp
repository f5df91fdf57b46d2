// SPDX-License-Identifier: BSD-3-Clause
// host_facts.hpp - facts about a rank's host (network, addresses, processor time), and the
// processor on which each rank starts (docs/decisions/0016-how-ranks-wait.md).
//
// Idea     Each rank publishes the facts on its card. All ranks derive the same results from the
//          cards: which ranks share a network, and how many processors each host's ranks may use.
// Why      A container with a quota sees all processors of its host. If its ranks spin, their waits
//          use up the quota, and the kernel throttles the container for the rest of the period.
// Holds    Ranks are not bound: the scheduler can separate two jobs that start on the same
//          processors. If a host has more ranks than processors, neighbouring ranks share one.
#pragma once

#include <sched.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "link/fabric/host_addresses.hpp"

namespace weft::run {

/// Processor time that the control group allows this process. Sent as bytes.
struct CpuQuota {
    /// Identifies the group with the limit; equal for ranks that share it.
    std::uint64_t group = 0;
    std::uint32_t thousandths = 0;  ///< limit in thousandths of a processor; 0: no limit
    std::uint32_t reserved = 0;     ///< explicit padding: the bytes are sent

    [[nodiscard]] bool limited() const { return thousandths != 0; }
};

/// Returns the lowest limit of this process's control groups and their ancestors, with the group
/// that has it. Reads both versions of the cgroup file system. Only tests pass other paths.
[[nodiscard]] CpuQuota cpu_quota(const std::string& groups_file = "/proc/self/cgroup",
                                 const std::string& root = "/sys/fs/cgroup");

/// Facts about a rank's host. Sent as bytes.
struct HostFacts {
    static constexpr std::uint32_t kAddressesMax = 8;

    std::uint64_t network = 0;  ///< link::network_identity(); unique within a running kernel
    CpuQuota quota;
    std::uint32_t address_count = 0;
    std::uint32_t reserved = 0;
    link::HostAddress addresses[kAddressesMax] = {};

    /// Returns the facts with an identity unique among hosts; `boot`: hash of the kernel's boot id.
    [[nodiscard]] link::HostOnNetwork on_network(std::uint64_t boot) const;
};
static_assert(std::is_trivially_copyable_v<HostFacts>);

[[nodiscard]] HostFacts read_host_facts();

/// Counts the ranks of one host (running kernel) and their processors.
struct HostCount {
    int ranks = 0;
    int limited_ranks = 0;                          ///< ranks that have a quota
    cpu_set_t cpus{};                               ///< processors that at least one rank may use
    std::map<std::uint64_t, std::uint32_t> quotas;  ///< by group, in thousandths of a processor

    void add(const cpu_set_t& cpus_of_rank, const CpuQuota& quota);
    /// Returns the number of processors that the ranks may use, at least 1. If all ranks have
    /// quotas, the result is limited to the sum of the quotas.
    [[nodiscard]] int processors() const;
    /// Returns true if the quotas allow less than `cpus`.
    [[nodiscard]] bool limited() const;
};

/// Returns the processor on which the rank at `index` starts. `allowed` has the processors that
/// each rank of the host may use. Returns nothing if these sets differ.
[[nodiscard]] std::optional<int> processor_for(std::span<const cpu_set_t> allowed,
                                               std::size_t index);

/// Moves the calling thread to a processor once, and restores its affinity, if permitted.
void move_to(int processor) noexcept;

}  // namespace weft::run
