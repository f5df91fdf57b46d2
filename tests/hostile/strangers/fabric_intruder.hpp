// SPDX-License-Identifier: BSD-3-Clause
// fabric_intruder.hpp - writes over libfabric to a job's endpoints from outside of the job.
#pragma once

#include <cstdint>

namespace weft::test {

/// Result of an attack, from harmless to harmful.
enum class Intrusion : std::uint8_t {
    refused,  ///< no write was accepted, or the intruder's own endpoint could not be opened
    reached,  ///< a connection accepted a write, which failed
    wrote,    ///< a write was completed
};

/// Sends immediates, then tries writes with several keys, to the process that listens on this TCP
/// port of 127.0.0.1. Returns the most harmful result.
[[nodiscard]] Intrusion write_over_fabric(std::uint16_t port);

}  // namespace weft::test
