// SPDX-License-Identifier: BSD-3-Clause
// bounce_area.hpp - part of the calling rank's segment, for copies of buffers that local peers
// cannot map.
//
// Idea     The owner copies a buffer to a piece of this area before a call, and back after it if
//          peers may have written to the piece. Peers have the segment mapped.
// Holds    No allocation. New pieces are at the lowest free address, so that few pages are touched.
//          The piece of a failed call is never given back, because peers may still write to it.
// Next     direct_memory.cpp for when a copy to this area is cheaper than other methods.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "link/direct/address_query.hpp"

namespace weft::link {

class BounceArea {
  public:
    static constexpr std::size_t kPieces = 8;  ///< largest number of pieces in use at a time

    explicit BounceArea(std::span<std::byte> memory) : memory_(memory) {}

    /// Returns the largest size of a piece: half of the area, because a call may have an input and
    /// an output.
    [[nodiscard]] std::uint64_t bytes_max() const noexcept { return memory_.size() / 2; }
    /// Returns a piece of at least `bytes` bytes, or nullptr if there is no room.
    [[nodiscard]] std::byte* take(std::uint64_t bytes) noexcept {
        const auto [begin, at] = find(bytes);
        if (begin == kNowhere) return nullptr;
        const auto lent = pieces_.begin() + count_++;
        std::copy_backward(pieces_.begin() + at, lent, lent + 1);
        pieces_[at] = {begin, begin + round_to_pages(bytes)};
        return memory_.data() + begin;
    }
    /// Frees a piece. Ignores an address that is not the start of a piece in use.
    void give_back(const std::byte* piece) noexcept {
        const auto begin = static_cast<std::uint64_t>(piece - memory_.data());
        const auto lent = pieces_.begin() + count_;
        const auto found = std::find_if(pieces_.begin(), lent,
                                        [&](const Piece& one) { return one.begin == begin; });
        if (found == lent) return;
        std::copy(found + 1, lent, found);
        --count_;
    }
    [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept {
        return find(bytes).begin != kNowhere;
    }

  private:
    struct Piece {
        std::uint64_t begin = 0;  ///< offset in the area
        std::uint64_t end = 0;
    };
    /// Free room before, between or after pieces.
    struct Gap {
        std::uint64_t begin = kNowhere;  ///< offset in the area; kNowhere: no room
        std::size_t at = 0;              ///< index in `pieces_` for a piece in the gap
    };
    static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

    static std::uint64_t round_to_pages(std::uint64_t bytes) {
        return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    }
    [[nodiscard]] Gap find(std::uint64_t bytes) const noexcept {
        if (bytes > bytes_max() || count_ == kPieces) return {};
        const std::uint64_t wanted = round_to_pages(bytes);
        std::uint64_t begin = 0;
        std::size_t at = 0;
        while (at < count_ && pieces_[at].begin - begin < wanted) begin = pieces_[at++].end;
        if (memory_.size() - begin < wanted) return {};
        return {begin, at};
    }

    std::span<std::byte> memory_;
    std::array<Piece, kPieces> pieces_{};  ///< the first count_ are in use, by ascending offset
    std::size_t count_ = 0;
};

}  // namespace weft::link
