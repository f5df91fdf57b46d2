// SPDX-License-Identifier: BSD-3-Clause
// far_put.cpp - the origin's half of the notify strategies: network puts that make up one put.
//
// Holds    On `again`, posted pieces stay posted, and `resume` has their size. A put's sources are
//          read until `pending` is lowered. Flags, words and headers are copied.
// Next     delivery.cpp for the target's half.
#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/copy.hpp"
#include "link/wire/wire.hpp"
#include "link/wire/word_tag.hpp"

namespace weft::link {

namespace {

/// `resume` of a deferred put: its entry plus one, above the number of posted bytes.
constexpr unsigned kEntryShift = 48;
constexpr std::uint64_t kBytesMask = (std::uint64_t{1} << kEntryShift) - 1;

std::size_t pack(const base::Put& put, std::byte* to) noexcept {
    std::size_t bytes = 0;
    for (const base::PutPart& part : put.parts) {
        if (part.bytes != 0) base::copy_bytes(to + bytes, part.data, part.bytes);
        bytes += part.bytes;
    }
    return bytes;
}

}  // namespace

base::Post Wire::put_far(const base::Put& put, std::uint64_t& resume) noexcept {
    if (put.cell == base::Put::kNoCell) return put_without_cell(put, resume);
    const bool small = put.target == base::Put::kInCell;
    if (small && plan_.small == Notify::cells) return put_words(put);
    switch (plan_.large) {
        case Notify::delivery:
            return put_delivered(put, resume);
        case Notify::fence:
        case Notify::ordered:
            return put_then_flag(put, resume);
        case Notify::counter:
            return put_with_counter(put, resume);
        case Notify::immediate:
        case Notify::cells:
            break;
    }
    if (small) return put_cell(put);
    const bool few_parts = put.parts.size() <= flagged_parts_max_ || put.bytes <= copied_bytes_;
    const bool one_write = few_parts && put.bytes != 0 &&
                           put.bytes <= std::min(piece_bytes_max_, paced_bytes_) &&
                           put.bytes <= room_at(put, put.target);
    if (one_write) return put_flagged(put);
    const bool in_order = completion_ == base::RemoteCompletion::ordered;
    return in_order && flagged_parts_max_ != 0 && put.bytes != 0 ? put_in_order(put, resume)
                                                                 : put_counted(put, resume);
}

// --- immediate ---------------------------------------------------------------------------------

base::Post Wire::put_cell(const base::Put& put) noexcept {
    std::byte bytes[sizeof(base::FlagWord) + base::kCellPayload];
    std::memcpy(bytes, &put.flag, sizeof put.flag);
    const std::size_t payload = pack(put, bytes + sizeof put.flag);
    return post_small({.peer = put.peer,
                       .kind = PutKind::with_immediate,
                       .target = put.cell + base::kCellDelivered,
                       .immediate = immediate_for(put.cell, Delivered::all)},
                      {bytes, sizeof put.flag + payload});
}

/// Writes payload and flag word in one operation with two targets. Its immediate
/// arrives after both.
base::Post Wire::put_flagged(const base::Put& put) noexcept {
    base::Put flagged = put;
    flagged.kind = PutKind::with_immediate;
    flagged.immediate = immediate_for(put.cell, Delivered::all);
    return port_->try_put(flagged);
}

/// Writes pieces that are delivered in order. The last one carries the flag word and the immediate.
base::Post Wire::put_in_order(const base::Put& put, std::uint64_t& resume) noexcept {
    Pieces pieces{.immediate = immediate_for(put.cell, Delivered::all),
                  .pending = put.pending,
                  .done = resume,
                  .flagged = true};
    const base::Post posted = post_pieces(put, pieces);
    resume = pieces.done;
    return posted;
}

/// Writes pieces, each with an immediate, then the flag word with the number of pieces.
base::Post Wire::put_counted(const base::Put& put, std::uint64_t& resume) noexcept {
    Pieces pieces{.kind = PutKind::with_immediate,
                  .immediate = immediate_for(put.cell, Delivered::piece),
                  .pending = put.pending,
                  .done = resume};
    const base::Post posted = post_pieces(put, pieces);
    resume = pieces.done;
    if (posted == base::Post::again) return posted;
    std::byte header[sizeof(base::FlagWord) + sizeof pieces.count];
    std::memcpy(header, &put.flag, sizeof put.flag);
    std::memcpy(header + sizeof put.flag, &pieces.count, sizeof pieces.count);
    return post_small({.peer = put.peer,
                       .kind = PutKind::with_immediate,
                       .target = put.cell + base::kCellDelivered,
                       .immediate = immediate_for(put.cell, Delivered::header)},
                      {header, sizeof header});
}

// --- cells -------------------------------------------------------------------------------------

base::Post Wire::put_words(const base::Put& put) noexcept {
    std::uint32_t data[base::Landing::kWords] = {};
    auto* bytes = reinterpret_cast<std::byte*>(data);
    std::memcpy(bytes, &put.flag, sizeof put.flag);
    const std::size_t payload = pack(put, bytes + sizeof put.flag);
    const std::size_t count = kFlagWords + (payload + kWordData - 1) / kWordData;
    const std::uint32_t tag = word_tag(put.flag, count);
    std::uint64_t words[base::Landing::kWords];
    for (std::size_t i = 0; i < count; ++i) words[i] = tagged_word(data[i], tag);
    return post_small({.peer = put.peer, .target = put.cell + base::kLandingOffset},
                      {reinterpret_cast<const std::byte*>(words), count * sizeof words[0]});
}

// --- a separate flag ---------------------------------------------------------------------------

/// Writes the flag when all pieces are known to be delivered. A put that is never completed keeps
/// its entry; this happens only if its team has failed.
base::Post Wire::put_delivered(const base::Put& put, std::uint64_t& resume) noexcept {
    if (put.bytes == 0) return post_flag(put.peer, put.cell, put.flag, PutKind::plain);
    if (resume == 0) {
        if (deferred_free_.empty()) return base::Post::again;
        const std::uint16_t entry = deferred_free_.back();
        deferred_free_.pop_back();
        deferred_open_.push_back(entry);
        deferred_[entry] = {
            .flag = put.flag, .cell = put.cell, .pending = put.pending, .peer = put.peer};
        ++*put.pending;
        resume = (std::uint64_t{entry} + 1) << kEntryShift;
    }
    Deferred& deferred = deferred_[(resume >> kEntryShift) - 1];
    Pieces pieces{
        .kind = PutKind::delivered, .pending = &deferred.outstanding, .done = resume & kBytesMask};
    const base::Post posted = post_pieces(put, pieces);
    resume = (resume & ~kBytesMask) | pieces.done;
    deferred.whole = posted == base::Post::posted;
    return posted;
}

void Wire::post_deferred_flags() noexcept {
    std::erase_if(deferred_open_, [this](std::uint16_t entry) {
        const Deferred& deferred = deferred_[entry];
        if (!deferred.whole || deferred.outstanding != 0) return false;
        if (plan_.large == Notify::counter) {
            lanes_[deferred.lane].busy = false;
        } else if (post_flag(deferred.peer, deferred.cell, deferred.flag, PutKind::plain) ==
                   base::Post::again) {
            return false;
        }
        --*deferred.pending;
        deferred_free_.push_back(entry);
        return true;
    });
}

// --- a counter at the target -------------------------------------------------------------------

/// Reserves a counter for the put. It counts no other put until all of this one is delivered. So
/// the put is delivered when the counter has reached the number in the header. Returns false if no
/// counter is free.
bool Wire::take_lane(const base::Put& put, std::uint64_t& resume) noexcept {
    if (deferred_free_.empty()) return false;
    const auto first = static_cast<std::uint32_t>(put.peer) * counters_;
    std::uint32_t lane = first;
    while (lane < first + counters_ && lanes_[lane].busy) ++lane;
    if (lane == first + counters_) return false;
    lanes_[lane].busy = true;
    const std::uint16_t entry = deferred_free_.back();
    deferred_free_.pop_back();
    deferred_open_.push_back(entry);
    deferred_[entry] = {.pending = put.pending, .peer = put.peer, .lane = lane};
    ++*put.pending;
    resume = (std::uint64_t{entry} + 1) << kEntryShift;
    return true;
}

base::Post Wire::put_with_counter(const base::Put& put, std::uint64_t& resume) noexcept {
    if (resume == 0 && !take_lane(put, resume)) return base::Post::again;
    Deferred& deferred = deferred_[(resume >> kEntryShift) - 1];
    Lane& lane = lanes_[deferred.lane];
    const bool small = put.target == base::Put::kInCell;
    const auto number = static_cast<std::uint8_t>(deferred.lane % counters_);
    Pieces pieces{.kind = PutKind::delivered,
                  .pending = &deferred.outstanding,
                  .done = resume & kBytesMask,
                  .counter = number};
    const base::Post posted = small ? base::Post::posted : post_pieces(put, pieces);
    resume = (resume & ~kBytesMask) | pieces.done;
    if (posted == base::Post::again) return posted;
    const std::uint64_t count =
        counted_header(static_cast<std::uint64_t>(options_.rank), number,
                       static_cast<std::uint32_t>(lane.writes + pieces.count + 1));
    const std::uint64_t words[] = {put.flag, count, ~count};
    std::memcpy(deferred.header, words, sizeof words);
    const std::size_t payload = small ? pack(put, deferred.header + sizeof words) : 0;
    const base::PutPart header{deferred.header, sizeof words + payload};
    const base::Post headed = port_->try_put({.peer = put.peer,
                                              .kind = PutKind::delivered,
                                              .counter = number,
                                              .parts = {&header, 1},
                                              .bytes = header.bytes,
                                              .target = put.cell + base::kLandingOffset,
                                              .pending = &deferred.outstanding});
    if (headed == base::Post::again) return headed;
    lane.writes += pieces.count + 1;
    deferred.whole = true;
    return base::Post::posted;
}

/// Writes the flag after the data, by a fence, or because the fabric keeps all puts in order.
base::Post Wire::put_then_flag(const base::Put& put, std::uint64_t& resume) noexcept {
    const bool fence = plan_.large == Notify::fence;
    Pieces pieces{.kind = fence ? PutKind::delivered : PutKind::plain,
                  .pending = put.pending,
                  .done = resume};
    const base::Post posted = post_pieces(put, pieces);
    resume = pieces.done;
    if (posted == base::Post::again) return posted;
    return post_flag(put.peer, put.cell, put.flag,
                     fence && put.bytes != 0 ? PutKind::fenced : PutKind::plain);
}

// --- common parts ------------------------------------------------------------------------------

/// Returns the most bytes that one write may write at a place. Exposed memory of a
/// peer is contiguous.
std::uint64_t Wire::room_at(const base::Put& put, std::uint64_t target) const noexcept {
    return put.region != nullptr ? ~std::uint64_t{0} : port_->room_at(target);
}

base::Post Wire::post_pieces(const base::Put& put, Pieces& pieces) noexcept {
    const std::uint64_t target =
        put.target == base::Put::kInCell ? put.cell + base::kCellPayloadOffset : put.target;
    std::uint64_t part_start = 0;
    for (const base::PutPart& part : put.parts) {
        std::size_t size = 0;
        for (std::size_t at = 0; at < part.bytes; at += size) {
            const std::uint64_t to = target + part_start + at;
            size = std::min({piece_bytes_max_, paced_bytes_, part.bytes - at, room_at(put, to)});
            ++pieces.count;
            if (part_start + at < pieces.done) continue;
            const base::PutPart source{part.data + at, size};
            base::Put piece{.peer = put.peer,
                            .kind = pieces.kind,
                            .counter = pieces.counter,
                            .parts = {&source, 1},
                            .bytes = size,
                            .target = to,
                            .region = put.region,
                            .immediate = pieces.immediate,
                            .pending = pieces.pending};
            if (pieces.flagged && part_start + at + size == put.bytes) {
                piece.kind = PutKind::with_immediate;
                piece.cell = put.cell;
                piece.flag = put.flag;
            }
            if (port_->try_put(piece) == base::Post::again) return base::Post::again;
            pieces.done = part_start + at + size;
            // Gives other transfers a turn: the peer receives this piece while it is in the caches.
            if (size == paced_bytes_ && pieces.done < put.bytes) return base::Post::again;
        }
        part_start += part.bytes;
    }
    return base::Post::posted;
}

base::Post Wire::post_flag(Rank peer, std::uint64_t cell, base::FlagWord flag,
                           PutKind kind) noexcept {
    return post_small({.peer = peer, .kind = kind, .target = cell + base::kCellDelivered},
                      {reinterpret_cast<const std::byte*>(&flag), sizeof flag});
}

/// Posts a put of a source that is reused after this call.
base::Post Wire::post_small(base::Put put, base::PutPart source) noexcept {
    put.parts = {&source, 1};
    put.bytes = source.bytes;
    const bool copied_at_once = put.kind == PutKind::plain || put.kind == PutKind::with_immediate;
    if (copied_at_once && put.bytes <= inject_bytes_) return port_->try_put(put);
    StagedPut& staging = staging_[next_staging_];
    if (staging.pending != 0) return base::Post::again;
    base::copy_bytes(staging.bytes, source.data, source.bytes);
    source.data = staging.bytes;
    put.pending = &staging.pending;
    const base::Post posted = port_->try_put(put);
    if (posted == base::Post::posted) next_staging_ = (next_staging_ + 1) % staging_.size();
    return posted;
}

}  // namespace weft::link
