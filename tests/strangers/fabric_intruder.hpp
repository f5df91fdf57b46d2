// SPDX-License-Identifier: BSD-3-Clause
// fabric_intruder.hpp - writes over libfabric into endpoints that it was never told of.
#pragma once

#include <cstdint>

namespace weft::test {

/// How far it came: no connection took a write; a connection took one; one was reported as done.
enum class Intrusion : std::uint8_t { refused, reached, wrote };

/// Tries to write under many keys into the memory behind a TCP port of this machine.
[[nodiscard]] Intrusion write_over_fabric(std::uint16_t port);

}  // namespace weft::test
