// SPDX-License-Identifier: BSD-3-Clause
// transfers.cpp - writes and reads without a flag, between remote ranks.
//
// Holds    Transfers are divided at the size limit of the network and at sections. On `again`,
//          `resume` has the number of posted bytes. The last piece carries the payload for the
//          peer, and earlier pieces are delivered before it. Immediates of counted writes contain
//          the origin's rank and the batch, so the target counts writes without further knowledge.
//          A batch is closed when the request after it is sent. The user of the wire ensures that
//          at most kBatches are in flight.
// Next     run/onesided for the use.
#include <algorithm>
#include <utility>

#include "link/wire/wire.hpp"

namespace weft::link {

std::uint64_t Wire::room_in(const base::RemoteRegion* region, std::uint64_t offset) const noexcept {
    return region != nullptr ? region->bytes - offset : port_->room_at(offset);
}

base::Post Wire::put_without_cell(const base::Put& put, std::uint64_t& resume) noexcept {
    base::PutPart source;
    base::Put piece{
        .peer = put.peer, .parts = {&source, 1}, .region = put.region, .pending = put.pending};
    if (completion_ == base::RemoteCompletion::delivered) piece.kind = PutKind::delivered;
    if (completion_ == base::RemoteCompletion::counted) {
        piece.kind = PutKind::with_immediate;
        const std::uint32_t batch = batches_[static_cast<std::size_t>(put.peer)].open;
        piece.immediate = (static_cast<std::uint32_t>(options_.rank) * kBatches + batch) << 2 |
                          static_cast<std::uint32_t>(Delivered::write);
    }
    const bool has_payload = put.immediate != 0;
    while (resume < put.bytes || (has_payload && piece.kind != PutKind::with_immediate)) {
        piece.target = put.target + resume;
        piece.bytes = std::min<std::uint64_t>(
            {piece_bytes_max_, put.bytes - resume, room_in(piece.region, piece.target)});
        source = {put.parts.front().data + resume, piece.bytes};
        if (has_payload && resume + piece.bytes == put.bytes) {
            piece.kind = PutKind::with_immediate;
            piece.immediate = put.immediate | kCarriesPayload;
        }
        if (port_->try_put(piece) == base::Post::again) return base::Post::again;
        ++written_to_[static_cast<std::size_t>(put.peer)];
        if (completion_ == base::RemoteCompletion::counted)
            ++batches_[static_cast<std::size_t>(put.peer)].open_written;
        resume += piece.bytes;
    }
    return base::Post::posted;
}

base::Post Wire::try_read(const base::Read& read, std::uint64_t& resume) noexcept {
    base::Read piece{.peer = read.peer, .pending = read.pending, .region = read.region};
    while (resume < read.bytes) {
        piece.into = read.into + resume;
        piece.source = read.source + resume;
        piece.bytes = std::min<std::uint64_t>(
            {get_bytes_max_, read.bytes - resume, room_in(piece.region, piece.source)});
        if (port_->try_read(piece) == base::Post::again) return base::Post::again;
        resume += piece.bytes;
    }
    return base::Post::posted;
}

std::uint32_t Wire::close_batch(Rank peer) noexcept {
    Batch& batch = batches_[static_cast<std::size_t>(peer)];
    const std::uint32_t written = std::exchange(batch.open_written, 0);
    if (written != 0) batch.open = static_cast<std::uint8_t>((batch.open + 1) % kBatches);
    return written;
}

bool Wire::take_batch(Rank peer, std::uint32_t transfers) noexcept {
    Batch& batch = batches_[static_cast<std::size_t>(peer)];
    const auto& landed_of = batch_landed_[static_cast<std::size_t>(peer)];
    const std::uint32_t landed = landed_of != nullptr ? (*landed_of)[batch.oldest] : 0;
    if (landed != transfers) return false;
    if (landed_of != nullptr) (*landed_of)[batch.oldest] = 0;
    batch.oldest = static_cast<std::uint8_t>((batch.oldest + 1) % kBatches);
    return true;
}

}  // namespace weft::link
