// SPDX-License-Identifier: BSD-3-Clause
// fabric_intruder.hpp - writes over libfabric to endpoints whose addresses weft never gave to it.
#pragma once

#include <cstdint>

namespace weft::test {

/// Result of an attack: no connection took a write; a connection took one; one was completed.
enum class Intrusion : std::uint8_t { refused, reached, wrote };

/// Tries to write under many keys to the memory of the process that listens at this TCP port.
[[nodiscard]] Intrusion write_over_fabric(std::uint16_t port);

}  // namespace weft::test
