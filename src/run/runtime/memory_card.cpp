// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/memory_card.hpp"

#include <fmt/format.h>

namespace weft::run {

namespace {

bool is_sound(const MemoryCard& card, const SegmentLayout& layout) {
    if (card.bytes >= MemoryCard::kBytesMax || card.address + card.bytes < card.address)
        return false;
    if (card.number > Place::kNumberMax) return false;
    if (card.segment_end != 0 &&
        (card.segment_end > layout.bytes || card.segment_end < layout.heap + card.bytes))
        return false;
    return card.region_bytes == 0 || (card.region_bytes >= card.bytes &&
                                      card.region_base + card.region_bytes >= card.region_base);
}

}  // namespace

std::string text_of(MemoryFault fault) {
    switch (fault) {
        case MemoryFault::null:
            return "memory is NULL, and bytes are not 0";
        case MemoryFault::too_long:
            return fmt::format("bytes are not below {}", MemoryCard::kBytesMax);
        case MemoryFault::unmapped:
            return "not all of the memory is mapped";
        case MemoryFault::ours:
            return "the memory is the library's own";
        case MemoryFault::no_number:
            return fmt::format("{} ranges are registered already", Place::kNumberMax);
        case MemoryFault::none:
            break;
    }
    return "";
}

base::Result<void> check(const MemoryCard& card, Rank member, const SegmentLayout& layout) {
    if (card.fault > MemoryFault::no_number ||
        (card.fault == MemoryFault::none && !is_sound(card, layout)))
        return base::fail(Status::peer,
                          "rank {} says of its memory what cannot be: {} bytes at {:#x}, up to {} "
                          "of its segment, a region of {} bytes",
                          member, card.bytes, card.address, card.segment_end, card.region_bytes);
    if (card.fault == MemoryFault::none) return {};
    const Status status = card.fault == MemoryFault::no_number ? Status::memory : Status::argument;
    return base::fail(status, "rank {}, {} bytes at {:#x}: {}", member, card.bytes, card.address,
                      text_of(card.fault));
}

}  // namespace weft::run
