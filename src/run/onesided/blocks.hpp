// SPDX-License-Identifier: BSD-3-Clause
// blocks.hpp - blocks at constant strides in one or several dimensions, for strided puts and gets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "run/onesided/remote_address.hpp"

namespace weft::run {

/// Outer dimensions of blocks. Row (i, j, ...) begins i * strides[0] + j * strides[1] + ... bytes
/// after the first row. Unused dimensions have a count of 1.
struct Rows {
    static constexpr std::size_t kDimensionsMax = 7;

    std::array<std::int64_t, kDimensionsMax> to_strides{};                ///< bytes
    std::array<std::int64_t, kDimensionsMax> from_strides{};              ///< bytes
    std::array<std::size_t, kDimensionsMax> counts{1, 1, 1, 1, 1, 1, 1};  ///< at least 1
};

/// Blocks of equal size at constant strides. Strides may be negative.
struct Strided {
    std::int64_t to_stride = 0;    ///< bytes from one target block to the next
    std::int64_t from_stride = 0;  ///< bytes from one source block to the next
    std::size_t block_bytes = 0;
    std::size_t count = 0;       ///< number of blocks in each row
    const Rows* rows = nullptr;  ///< nullptr: a single row
};

/// Returns blocks in counts.size() dimensions: 1 to kDimensionsMax + 1. Strides are in bytes. The
/// last dimension becomes the row. The others are stored in `rows`, to which the result points.
[[nodiscard]] inline Strided strided_of(std::span<const std::size_t> counts,
                                        const std::ptrdiff_t* to_strides,
                                        const std::ptrdiff_t* from_strides, std::size_t block_bytes,
                                        Rows& rows) {
    const std::size_t outer = counts.size() - 1;
    const bool empty = std::ranges::find(counts, std::size_t{0}) != counts.end();
    Strided blocks{to_strides[outer], from_strides[outer], block_bytes, empty ? 0 : counts[outer],
                   outer == 0 || empty ? nullptr : &rows};
    std::copy_n(to_strides, outer, rows.to_strides.begin());
    std::copy_n(from_strides, outer, rows.from_strides.begin());
    std::copy_n(counts.begin(), outer, rows.counts.begin());
    return blocks;
}

enum class BlockSide : std::uint8_t { target, source };

namespace onesided {

/// Returns the pointer or RemoteAddress of block i. `stride`: in bytes.
template <class First>
[[nodiscard]] constexpr First block_of(First first, std::size_t i, std::int64_t stride) noexcept {
    const std::int64_t bytes = static_cast<std::int64_t>(i) * stride;
    if constexpr (std::is_pointer_v<First>) {
        return first + bytes;
    } else {
        return first + static_cast<std::uint64_t>(bytes);
    }
}

/// Calls body(to_offset, from_offset) for each row, with offsets in bytes. Stops and returns false
/// when body() returns false.
template <class Body>
bool for_rows(const Strided& blocks, Body body) {
    if (blocks.rows == nullptr) return body(0, 0);
    const Rows& rows = *blocks.rows;
    std::array<std::size_t, Rows::kDimensionsMax> index{};
    std::int64_t to = 0, from = 0;
    for (;;) {
        if (!body(to, from)) return false;
        std::size_t dimension = index.size();
        for (;;) {
            if (dimension == 0) return true;
            --dimension;
            to += rows.to_strides[dimension];
            from += rows.from_strides[dimension];
            if (++index[dimension] < rows.counts[dimension]) break;
            const auto steps = static_cast<std::int64_t>(std::exchange(index[dimension], 0));
            to -= steps * rows.to_strides[dimension];
            from -= steps * rows.from_strides[dimension];
        }
    }
}

/// Range of bytes that contains all blocks, relative to the first byte of the first block.
struct ByteSpan {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Returns the range of bytes on one side; nothing if the range, or the sum of all block sizes,
/// exceeds the address space. The blocks must not be empty.
[[nodiscard]] inline std::optional<ByteSpan> span_of(const Strided& blocks, BlockSide side) {
    constexpr std::uint64_t kDistanceMax = std::uint64_t{1} << RemoteAddress::kOffsetBits;
    ByteSpan span{.end = static_cast<std::int64_t>(blocks.block_bytes)};
    std::size_t bytes = blocks.block_bytes;
    const auto add = [&](std::size_t count, std::int64_t stride) {
        const auto step = stride < 0 ? 0 - static_cast<std::uint64_t>(stride)
                                     : static_cast<std::uint64_t>(stride);
        if (count > SIZE_MAX / bytes || (step != 0 && count - 1 > kDistanceMax / step))
            return false;
        bytes *= count;
        (stride < 0 ? span.begin : span.end) += static_cast<std::int64_t>(count - 1) * stride;
        return true;
    };
    const bool to = side == BlockSide::target;
    if (!add(blocks.count, to ? blocks.to_stride : blocks.from_stride)) return std::nullopt;
    for (std::size_t i = 0; blocks.rows != nullptr && i < Rows::kDimensionsMax; ++i) {
        const auto& strides = to ? blocks.rows->to_strides : blocks.rows->from_strides;
        if (!add(blocks.rows->counts[i], strides[i])) return std::nullopt;
    }
    return span;
}

}  // namespace onesided

}  // namespace weft::run
