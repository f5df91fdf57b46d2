// SPDX-License-Identifier: BSD-3-Clause
// blocks.hpp - blocks at constant strides in one or several dimensions, for strided puts and gets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "run/onesided/remote_address.hpp"

namespace weft::run {

/// Blocks of equal size in several dimensions. Block (i, j, ...) begins i * strides[0] +
/// j * strides[1] + ... bytes after the first block. Strides may be negative. The caller owns the
/// arrays, which have an entry for each dimension.
struct Strided {
    static constexpr std::size_t kDimensionsMax = 8;

    std::span<const std::size_t> counts;           ///< 1 to kDimensionsMax entries
    const std::ptrdiff_t* to_strides = nullptr;    ///< bytes
    const std::ptrdiff_t* from_strides = nullptr;  ///< bytes
    std::size_t block_bytes = 0;

    [[nodiscard]] bool empty() const {
        return block_bytes == 0 || std::ranges::find(counts, std::size_t{0}) != counts.end();
    }
};

namespace onesided {

/// Calls body(to_offset, from_offset) for each block, with offsets in bytes from the first block.
/// Stops and returns false when body() returns false.
template <class Body>
bool for_blocks(const Strided& blocks, Body body) {
    if (blocks.empty()) return true;
    std::array<std::size_t, Strided::kDimensionsMax> index{};
    std::uint64_t to = 0, from = 0;  // modulo 2^64: the step after the last block may overflow
    for (;;) {
        if (!body(static_cast<std::int64_t>(to), static_cast<std::int64_t>(from))) return false;
        for (std::size_t dimension = blocks.counts.size();;) {
            if (dimension-- == 0) return true;
            const auto to_stride = static_cast<std::uint64_t>(blocks.to_strides[dimension]);
            const auto from_stride = static_cast<std::uint64_t>(blocks.from_strides[dimension]);
            to += to_stride;
            from += from_stride;
            if (++index[dimension] < blocks.counts[dimension]) break;
            const std::size_t steps = std::exchange(index[dimension], 0);
            to -= steps * to_stride;
            from -= steps * from_stride;
        }
    }
}

/// Range of bytes that contains all blocks, relative to the first byte of the first block.
struct ByteSpan {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Returns the range of bytes on the side of `strides`; nothing if the range, or the sum of all
/// block sizes, exceeds the address space. The blocks must not be empty.
[[nodiscard]] inline std::optional<ByteSpan> span_of(const Strided& blocks,
                                                     const std::ptrdiff_t* strides) {
    constexpr std::uint64_t kDistanceMax = std::uint64_t{1} << RemoteAddress::kOffsetBits;
    ByteSpan span{.end = static_cast<std::int64_t>(blocks.block_bytes)};
    std::size_t bytes = blocks.block_bytes;
    for (const std::size_t count : blocks.counts) {
        const std::ptrdiff_t stride = *strides++;
        const auto step = stride < 0 ? 0 - static_cast<std::uint64_t>(stride)
                                     : static_cast<std::uint64_t>(stride);
        if (count > SIZE_MAX / bytes || (step != 0 && count - 1 > kDistanceMax / step))
            return std::nullopt;
        bytes *= count;
        (stride < 0 ? span.begin : span.end) += static_cast<std::int64_t>(count - 1) * stride;
    }
    return span;
}

}  // namespace onesided

}  // namespace weft::run
