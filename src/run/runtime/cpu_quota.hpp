// SPDX-License-Identifier: BSD-3-Clause
// cpu_quota.hpp - processor time that the control group allows this process.
//
// Why      A container with a quota sees all processors of its host. If its ranks spin, their waits
//          use up the quota. The container is then stopped for the rest of the period (100 ms).
#pragma once

#include <cstdint>
#include <string>

namespace weft::run {

/// Sent as bytes.
struct CpuQuota {
    /// Identifies the group with the limit; equal for ranks that share it.
    std::uint64_t group = 0;
    std::uint32_t thousandths = 0;  ///< of one processor; 0: no limit
    std::uint32_t reserved = 0;

    [[nodiscard]] bool limited() const { return thousandths != 0; }
};

/// Returns the lowest limit of this process's groups, up to the root, in version 2 and version 1.
/// Only tests pass other paths.
[[nodiscard]] CpuQuota cpu_quota(const std::string& groups_file = "/proc/self/cgroup",
                                 const std::string& root = "/sys/fs/cgroup");

}  // namespace weft::run
