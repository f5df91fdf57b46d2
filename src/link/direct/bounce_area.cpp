// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/bounce_area.hpp"

#include <algorithm>

#include "link/direct/address_query.hpp"

namespace weft::link {

namespace {

std::uint64_t in_pages(std::uint64_t bytes) {
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

BounceArea::Gap BounceArea::find(std::uint64_t bytes) const noexcept {
    if (bytes > bytes_max() || count_ == kPieces) return {};
    const std::uint64_t wanted = in_pages(bytes);
    std::uint64_t begin = 0;
    std::size_t at = 0;
    while (at < count_ && pieces_[at].begin - begin < wanted) begin = pieces_[at++].end;
    if (memory_.size() - begin < wanted) return {};
    return {begin, at};
}

std::byte* BounceArea::take(std::uint64_t bytes) noexcept {
    const auto [begin, at] = find(bytes);
    if (begin == kNowhere) return nullptr;
    std::copy_backward(pieces_.begin() + at, pieces_.begin() + count_,
                       pieces_.begin() + count_ + 1);
    pieces_[at] = {begin, begin + in_pages(bytes)};
    ++count_;
    return memory_.data() + begin;
}

void BounceArea::give_back(const std::byte* piece) noexcept {
    const auto begin = static_cast<std::uint64_t>(piece - memory_.data());
    const auto lent = pieces_.begin() + count_;
    const auto found =
        std::find_if(pieces_.begin(), lent, [&](const Piece& one) { return one.begin == begin; });
    if (found == lent) return;
    std::copy(found + 1, lent, found);
    --count_;
}

}  // namespace weft::link
