// SPDX-License-Identifier: BSD-3-Clause
#include "link/wire/remote_puts.hpp"

#include <algorithm>
#include <cstring>

namespace weft::link {
namespace {

constexpr std::size_t kDeferredEntries = 256;  ///< largest number of deferred puts at a time

/// `resume` of a deferred put has the index of its entry, plus one, in the bits from kEntryShift,
/// and the number of posted bytes in the bits below.
constexpr unsigned kEntryShift = 48;
constexpr std::uint64_t kBytesMask = (std::uint64_t{1} << kEntryShift) - 1;

}  // namespace

RemotePuts::RemotePuts(FabricPort* port, Rank rank, std::size_t ranks, WriteCounts& counts)
    : port_(port), rank_(rank), counts_(counts) {
    if (port == nullptr) return;
    facts_ = port->facts();
    if (facts_.paced_bytes == 0) facts_.paced_bytes = ~std::size_t{0};
    const Notify large = facts_.notify.large;
    lanes_.resize(ranks * facts_.counters);
    if (large != Notify::delivery && large != Notify::counter) return;
    deferred_.resize(kDeferredEntries);
    deferred_open_.reserve(kDeferredEntries);
    for (std::size_t entry = kDeferredEntries; entry-- > 0;)
        deferred_free_.push_back(static_cast<std::uint16_t>(entry));
}

base::Post RemotePuts::put(const base::Put& put, std::uint64_t& resume) noexcept {
    if (put.cell == base::Put::kNoCell) return put_without_cell(put, resume);
    const bool small = put.target == base::Put::kInCell;
    if (small && facts_.notify.small == Notify::cells) return put_words(put);
    switch (facts_.notify.large) {
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
    return small ? put_cell(put) : put_immediate(put, resume);
}

// --- immediate ---------------------------------------------------------------------------------

base::Post RemotePuts::put_cell(const base::Put& put) noexcept {
    std::byte bytes[sizeof(base::FlagWord) + base::kCellPayload];
    std::memcpy(bytes, &put.flag, sizeof put.flag);
    const std::byte* const end = put.copy_to(bytes + sizeof put.flag);
    return post_small({.peer = put.peer,
                       .kind = PutKind::with_immediate,
                       .more = put.more,
                       .target = put.cell + base::kCellDelivered,
                       .immediate = immediate_for(put.cell, Arrival::whole)},
                      {bytes, static_cast<std::size_t>(end - bytes)});
}

/// Writes payload and flag word in one operation with two targets, whose immediate arrives after
/// both writes. A payload that does not fit one operation is written in pieces. If the network has
/// such operations and delivers pieces in order, the last piece carries the flag word. Otherwise
/// each piece has an immediate, and a header with the number of pieces follows.
base::Post RemotePuts::put_immediate(const base::Put& put, std::uint64_t& resume) noexcept {
    base::Put piece = put;
    piece.kind = PutKind::with_immediate;
    piece.immediate = immediate_for(put.cell, Arrival::whole);
    const bool parts_fit =
        put.parts.size() <= facts_.flagged_parts_max || put.bytes <= facts_.copied_bytes;
    if (parts_fit && put.bytes != 0 &&
        put.bytes <= std::min(facts_.message_bytes_max, facts_.paced_bytes) &&
        put.bytes <= bytes_to_section_end(put.region, put.target))
        return port_->try_put(piece);
    const bool in_order = facts_.remote.completion == base::RemoteCompletion::ordered;
    if (in_order && facts_.flagged_parts_max != 0 && put.bytes != 0) {
        piece.kind = PutKind::plain;
        return post_pieces(put, piece, resume);
    }
    piece.cell = base::Put::kNoCell;
    piece.immediate = immediate_for(put.cell, Arrival::piece);
    std::uint64_t count = 0;
    if (post_pieces(put, piece, resume, &count) == base::Post::again) return base::Post::again;
    const std::uint64_t header[] = {put.flag, count};
    return post_small({.peer = put.peer,
                       .kind = PutKind::with_immediate,
                       .target = put.cell + base::kCellDelivered,
                       .immediate = immediate_for(put.cell, Arrival::header)},
                      {reinterpret_cast<const std::byte*>(header), sizeof header});
}

// --- cells -------------------------------------------------------------------------------------

base::Post RemotePuts::put_words(const base::Put& put) noexcept {
    std::uint32_t data[base::Landing::kWords] = {};
    auto* bytes = reinterpret_cast<std::byte*>(data);
    std::memcpy(bytes, &put.flag, sizeof put.flag);
    const auto size = static_cast<std::size_t>(put.copy_to(bytes + sizeof put.flag) - bytes);
    const std::size_t count = (size + kWordData - 1) / kWordData;
    const std::uint32_t tag = word_tag(put.flag, count);
    std::uint64_t words[base::Landing::kWords];
    for (std::size_t i = 0; i < count; ++i) words[i] = tagged_word(data[i], tag);
    return post_small(
        {.peer = put.peer, .more = put.more, .target = put.cell + base::kLandingOffset},
        {reinterpret_cast<const std::byte*>(words), count * sizeof words[0]});
}

// --- a separate flag ---------------------------------------------------------------------------

/// Writes the flag after the data. A fence keeps this order, or the network itself does.
base::Post RemotePuts::put_then_flag(const base::Put& put, std::uint64_t& resume) noexcept {
    const bool fence = facts_.notify.large == Notify::fence;
    const base::Put piece{.kind = fence ? PutKind::delivered : PutKind::plain,
                          .more = true,  // the flag follows
                          .pending = put.pending};
    if (post_pieces(put, piece, resume) == base::Post::again) return base::Post::again;
    return post_flag(put.peer, put.cell, put.flag,
                     fence && put.bytes != 0 ? PutKind::fenced : PutKind::plain);
}

/// Writes the flag when all pieces are delivered. A put that its caller does not resume keeps its
/// entry; this happens only if its team has failed.
base::Post RemotePuts::put_delivered(const base::Put& put, std::uint64_t& resume) noexcept {
    if (put.bytes == 0) return post_flag(put.peer, put.cell, put.flag, PutKind::plain);
    if (resume == 0) {
        if (deferred_free_.empty()) return base::Post::again;
        resume = open_deferred(
            {.flag = put.flag, .cell = put.cell, .pending = put.pending, .peer = put.peer});
    }
    Deferred& deferred = deferred_[(resume >> kEntryShift) - 1];
    const base::Put piece{
        .kind = PutKind::delivered, .more = put.more, .pending = &deferred.outstanding};
    const base::Post posted = post_pieces(put, piece, resume);
    deferred.all_posted = posted == base::Post::posted;
    return posted;
}

/// Stores a deferred put in a free entry, which must exist. Returns the put's `resume`.
std::uint64_t RemotePuts::open_deferred(const Deferred& deferred) noexcept {
    const std::uint16_t entry = deferred_free_.back();
    deferred_free_.pop_back();
    deferred_open_.push_back(entry);
    deferred_[entry] = deferred;
    if (deferred.pending != nullptr) ++*deferred.pending;
    return (std::uint64_t{entry} + 1) << kEntryShift;
}

void RemotePuts::finish_deferred() noexcept {
    std::erase_if(deferred_open_, [this](std::uint16_t entry) {
        const Deferred& deferred = deferred_[entry];
        if (!deferred.all_posted || deferred.outstanding != 0) return false;
        if (facts_.notify.large == Notify::counter) {
            lanes_[deferred.lane].busy = false;
        } else if (post_flag(deferred.peer, deferred.cell, deferred.flag, PutKind::plain) ==
                   base::Post::again) {
            return false;
        }
        if (deferred.pending != nullptr) --*deferred.pending;
        deferred_free_.push_back(entry);
        return true;
    });
}

// --- a counter at the target -------------------------------------------------------------------

/// Reserves a counter at the target for this put alone, until all its data is delivered: when the
/// counter has reached the number in the put's header. Returns false if no counter is free.
bool RemotePuts::reserve_lane(const base::Put& put, std::uint64_t& resume) noexcept {
    if (deferred_free_.empty()) return false;
    const auto first = static_cast<std::uint32_t>(put.peer) * facts_.counters;
    std::uint32_t lane = first;
    while (lane < first + facts_.counters && lanes_[lane].busy) ++lane;
    if (lane == first + facts_.counters) return false;
    lanes_[lane].busy = true;
    resume = open_deferred({.pending = put.pending, .peer = put.peer, .lane = lane});
    return true;
}

base::Post RemotePuts::put_with_counter(const base::Put& put, std::uint64_t& resume) noexcept {
    if (resume == 0 && !reserve_lane(put, resume)) return base::Post::again;
    Deferred& deferred = deferred_[(resume >> kEntryShift) - 1];
    CounterLane& lane = lanes_[deferred.lane];
    const bool small = put.target == base::Put::kInCell;
    const auto number = static_cast<std::uint8_t>(deferred.lane % facts_.counters);
    base::Put piece{
        .kind = PutKind::delivered, .counter = number, .pending = &deferred.outstanding};
    std::uint64_t count = 0;
    if (!small && post_pieces(put, piece, resume, &count) == base::Post::again)
        return base::Post::again;
    const std::uint64_t header =
        counted_header(static_cast<std::uint64_t>(rank_), number,
                       static_cast<std::uint32_t>(lane.writes + count + 1));
    const std::uint64_t words[] = {put.flag, header, ~header};
    std::byte bytes[sizeof words + base::kCellPayload];
    std::memcpy(bytes, words, sizeof words);
    const std::byte* const end = small ? put.copy_to(bytes + sizeof words) : bytes + sizeof words;
    piece.peer = put.peer;
    piece.target = put.cell + base::kLandingOffset;
    if (post_small(piece, {bytes, static_cast<std::size_t>(end - bytes)}) == base::Post::again)
        return base::Post::again;
    lane.writes += count + 1;
    deferred.all_posted = true;
    return base::Post::posted;
}

// --- without a cell ----------------------------------------------------------------------------

/// Writes the data. If Put::immediate is not 0, the last piece carries it; a network with signals
/// delivers earlier pieces before the immediate.
base::Post RemotePuts::put_without_cell(const base::Put& put, std::uint64_t& resume) noexcept {
    base::PutPart source;
    base::Put piece{
        .peer = put.peer, .parts = {&source, 1}, .region = put.region, .pending = put.pending};
    if (facts_.remote.completion == base::RemoteCompletion::delivered)
        piece.kind = PutKind::delivered;
    if (facts_.remote.completion == base::RemoteCompletion::counted) {
        piece.kind = PutKind::with_immediate;
        piece.immediate = counts_.immediate_to(put.peer);
    }
    const bool has_immediate = put.immediate != 0;
    while (resume < put.bytes || (has_immediate && piece.kind != PutKind::with_immediate)) {
        piece.target = put.target + resume;
        piece.bytes = std::min({facts_.message_bytes_max, put.bytes - resume,
                                bytes_to_section_end(piece.region, piece.target)});
        source = {put.parts.front().data + resume, piece.bytes};
        if (has_immediate && resume + piece.bytes == put.bytes) {
            piece.kind = PutKind::with_immediate;
            piece.immediate = put.immediate | kHasPayload;
        }
        if (port_->try_put(piece) == base::Post::again) return base::Post::again;
        counts_.add_written(put.peer);
        resume += piece.bytes;
    }
    return base::Post::posted;
}

base::Post RemotePuts::read(const base::Read& read, std::uint64_t& resume) noexcept {
    base::Read piece = read;
    while (resume < read.bytes) {
        piece.into = read.into + resume;
        piece.source = read.source + resume;
        piece.bytes = std::min({facts_.get_bytes_max, read.bytes - resume,
                                bytes_to_section_end(piece.region, piece.source)});
        if (port_->try_read(piece) == base::Post::again) return base::Post::again;
        resume += piece.bytes;
    }
    return base::Post::posted;
}

// --- common parts ------------------------------------------------------------------------------

/// Returns the largest size of one transfer that begins at an offset of the peer's segment, whose
/// sections have separate registrations, or of a region, which has one registration.
std::uint64_t RemotePuts::bytes_to_section_end(const base::RemoteRegion* region,
                                               std::uint64_t offset) const noexcept {
    return region != nullptr ? ~std::uint64_t{0} : port_->bytes_to_section_end(offset);
}

/// Posts the data of a put in pieces with the kind, counter, immediate and `pending` of `piece`. If
/// `piece` has a cell, only the last piece carries the flag and the immediate. The lower bits of
/// `resume` have the number of posted bytes. Adds the number of all pieces, including those posted
/// earlier, to `count`.
base::Post RemotePuts::post_pieces(const base::Put& put, base::Put piece, std::uint64_t& resume,
                                   std::uint64_t* count) noexcept {
    const std::uint64_t done = resume & kBytesMask;
    const std::uint64_t target =
        put.target == base::Put::kInCell ? put.cell + base::kCellPayloadOffset : put.target;
    const bool flagged = piece.cell != base::Put::kNoCell;
    base::PutPart source;
    piece.peer = put.peer;
    piece.region = put.region;
    piece.parts = {&source, 1};
    piece.cell = base::Put::kNoCell;
    std::uint64_t at = 0;  ///< offset in the payload
    for (const base::PutPart& part : put.parts) {
        const std::uint64_t end = at + part.bytes;
        for (const std::byte* data = part.data; at < end; at += piece.bytes, data += piece.bytes) {
            piece.target = target + at;
            piece.bytes = std::min({facts_.message_bytes_max, facts_.paced_bytes, end - at,
                                    bytes_to_section_end(put.region, piece.target)});
            if (count != nullptr) ++*count;
            if (at < done) continue;
            source = {data, piece.bytes};
            if (flagged && at + piece.bytes == put.bytes) {
                piece.kind = PutKind::with_immediate;
                piece.cell = put.cell;
            }
            if (port_->try_put(piece) == base::Post::again) return base::Post::again;
            resume += piece.bytes;
            // Other transfers proceed, so that the peer receives this piece from the caches.
            if (piece.bytes == facts_.paced_bytes && at + piece.bytes < put.bytes)
                return base::Post::again;
        }
    }
    return base::Post::posted;
}

base::Post RemotePuts::post_flag(Rank peer, std::uint64_t cell, base::FlagWord flag,
                                 PutKind kind) noexcept {
    return post_small({.peer = peer, .kind = kind, .target = cell + base::kCellDelivered},
                      {reinterpret_cast<const std::byte*>(&flag), sizeof flag});
}

/// Posts a put whose source is reused after this call, so that the port copies it.
base::Post RemotePuts::post_small(base::Put put, base::PutPart source) noexcept {
    put.copied = true;
    put.parts = {&source, 1};
    put.bytes = source.bytes;
    return port_->try_put(put);
}

}  // namespace weft::link
