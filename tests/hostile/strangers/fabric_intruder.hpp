// SPDX-License-Identifier: BSD-3-Clause
// fabric_intruder.hpp - writes over libfabric to a job's endpoints from outside of the job.
#pragma once

#include <cstdint>

namespace weft::test {

/// Result of an attack, from harmless to harmful.
enum class Intrusion : std::uint8_t {
    refused,  ///< no connection accepted a write
    reached,  ///< a connection accepted a write, which failed
    wrote,    ///< a write was completed
};

/// Tries to write with several keys to the memory of the process that listens at a TCP port.
[[nodiscard]] Intrusion write_over_fabric(std::uint16_t port);

}  // namespace weft::test
