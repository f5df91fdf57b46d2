// SPDX-License-Identifier: BSD-3-Clause
// adoption_probe.hpp - what it takes to adopt a buffer, and to map one that a mate has adopted.
//
// Idea     The process is its own node-mate: it exposes a buffer and maps what it exposed, as a
//          mate would.
// Next     link/direct/direct_memory.hpp; `weft fit`.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "link/direct/direct_memory.hpp"

namespace weft::run {

class AdoptionProbe {
  public:
    AdoptionProbe();

    struct Times {
        double adopt_us = 0;   ///< by the owner
        double window_us = 0;  ///< to map it, and to touch each page once
    };
    /// Of a buffer that was not exposed before. Nothing where buffers are not adopted.
    [[nodiscard]] std::optional<Times> time(std::span<std::byte> buffer);

    /// What its owner takes to expose one that is adopted, and to end that.
    [[nodiscard]] double expose_us(std::span<std::byte> buffer);

  private:
    link::DirectMemory direct_;
};

}  // namespace weft::run
