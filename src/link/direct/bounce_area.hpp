// SPDX-License-Identifier: BSD-3-Clause
// bounce_area.hpp - memory of the calling rank's segment that stands for buffers which mates cannot
// map.
//
// Idea     A part of the segment is lent piece by piece: a buffer's bytes are copied there before a
//          call, and back after it if mates may have written them. Mates have the segment mapped.
// Holds    No allocation, a few pieces at a time, lowest addresses first, so that the same pages
//          serve again and again. What was lost (a call failed, and mates may still write there) is
//          never lent again.
// Next     direct_memory.hpp for when that pays.
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
    static constexpr std::size_t kPieces = 8;  ///< lent at a time

    explicit BounceArea(std::span<std::byte> memory) : memory_(memory) {}

    /// No buffer gets more: some calls have two of them.
    [[nodiscard]] std::uint64_t bytes_max() const noexcept { return memory_.size() / 2; }
    /// nullptr: there is no room.
    [[nodiscard]] std::byte* take(std::uint64_t bytes) noexcept {
        const auto [begin, at] = find(bytes);
        if (begin == kNowhere) return nullptr;
        const auto lent = pieces_.begin() + count_++;
        std::copy_backward(pieces_.begin() + at, lent, lent + 1);
        pieces_[at] = {begin, begin + in_pages(bytes)};
        return memory_.data() + begin;
    }
    void give_back(const std::byte* piece) noexcept {
        const auto begin = static_cast<std::uint64_t>(piece - memory_.data());
        const auto lent = pieces_.begin() + count_;
        const auto found = std::find_if(pieces_.begin(), lent,
                                        [&](const Piece& one) { return one.begin == begin; });
        if (found == lent) return;
        std::copy(found + 1, lent, found);
        --count_;
    }
    /// Whether take() would find so many bytes.
    [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept {
        return find(bytes).begin != kNowhere;
    }

  private:
    struct Piece {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    /// Room between two pieces, and the place of a new one in the list.
    struct Gap {
        std::uint64_t begin = kNowhere;
        std::size_t at = 0;
    };
    static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

    static std::uint64_t in_pages(std::uint64_t bytes) {
        return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    }
    [[nodiscard]] Gap find(std::uint64_t bytes) const noexcept {
        if (bytes > bytes_max() || count_ == kPieces) return {};
        const std::uint64_t wanted = in_pages(bytes);
        std::uint64_t begin = 0;
        std::size_t at = 0;
        while (at < count_ && pieces_[at].begin - begin < wanted) begin = pieces_[at++].end;
        if (memory_.size() - begin < wanted) return {};
        return {begin, at};
    }

    std::span<std::byte> memory_;
    std::array<Piece, kPieces> pieces_{};  ///< lent, by address
    std::size_t count_ = 0;
};

}  // namespace weft::link
