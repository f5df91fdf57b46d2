// SPDX-License-Identifier: BSD-3-Clause
// extent.hpp - bytes at an offset: in a segment, a heap or a caller's buffer.
//
// Idea     The only type for an offset with a size. Addresses with a size are a std::span of bytes.
//          Programs have plan::Block instead, whose unit is not the byte.
#pragma once

#include <cstdint>

namespace weft::base {

struct Extent {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;

    [[nodiscard]] constexpr std::uint64_t end() const { return offset + bytes; }
};

/// Rounds up to a multiple of `unit`. `value + unit` must not overflow.
[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
}

}  // namespace weft::base
