// SPDX-License-Identifier: BSD-3-Clause
// adoption_probe.hpp - measures the time to remap ("adopt") a buffer, and to map a remapped one.
//
// Idea     The process acts as its own local peer: it exposes a buffer and maps it, as
//          a peer would.
// Next     link/direct/direct_memory.hpp; `weft fit`.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "link/direct/direct_memory.hpp"

namespace weft::tools {

class AdoptionProbe {
  public:
    AdoptionProbe();

    struct Times {
        double adopt_us = 0;   ///< of the owner
        double window_us = 0;  ///< to map the buffer, and to touch each page once
    };
    /// Measures a buffer that was not exposed before. Returns nothing if buffers
    /// cannot be remapped.
    [[nodiscard]] std::optional<Times> time(std::span<std::byte> buffer);

    /// Returns the owner's time to expose and unexpose a remapped buffer.
    [[nodiscard]] double expose_us(std::span<std::byte> buffer);

  private:
    link::DirectMemory direct_;
};

}  // namespace weft::tools
