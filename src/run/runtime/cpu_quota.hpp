// SPDX-License-Identifier: BSD-3-Clause
// cpu_quota.hpp - how much processor time the control group of this process may
// take.
//
// Why      A container with a quota sees all processors of its host, but is
// stopped for the rest of
//          each period (100 ms) once its ranks have waited the quota away.
//          Ranks that spin do.
#pragma once

#include <cstdint>
#include <string>

namespace weft::run {

/// Travels as its bytes.
struct CpuQuota {
    std::uint64_t group = 0;        ///< which group has the limit: equal for ranks that share it
    std::uint32_t thousandths = 0;  ///< of one processor; 0: no limit
    std::uint32_t reserved = 0;

    [[nodiscard]] bool limited() const { return thousandths != 0; }
};

/// The narrowest limit of the groups that this process is in, from its own up
/// to the root; of version 2 and of version 1. The paths are those of the
/// system but in tests.
[[nodiscard]] CpuQuota cpu_quota(const std::string& groups_file = "/proc/self/cgroup",
                                 const std::string& root = "/sys/fs/cgroup");

}  // namespace weft::run
