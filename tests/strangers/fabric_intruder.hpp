// SPDX-License-Identifier: BSD-3-Clause
// fabric_intruder.hpp - writes over libfabric into endpoints that it was never
// told of.
#pragma once

#include <cstdint>

namespace weft::test {

/// Tries to write under many keys into the memory behind a TCP port of this
/// machine. True if a write was reported as done.
[[nodiscard]] bool write_over_fabric(std::uint16_t port);

}  // namespace weft::test
