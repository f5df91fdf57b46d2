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

base::Post Wire::try_write(const base::Write& write, std::uint64_t& resume) noexcept {
    FabricPut piece{.peer = write.peer,
                    .region = write.region,
                    .kind = PutKind::plain,
                    .pending = write.pending};
    if (completion_ == base::RemoteCompletion::delivered) piece.kind = PutKind::delivered;
    if (completion_ == base::RemoteCompletion::counted) {
        piece.kind = PutKind::with_immediate;
        const std::uint32_t batch = batches_[static_cast<std::size_t>(write.peer)].open;
        piece.immediate = (static_cast<std::uint32_t>(options_.rank) * kBatches + batch) << 2 |
                          static_cast<std::uint32_t>(Delivered::write);
    }
    const bool has_payload = write.payload != 0;
    while (resume < write.bytes || (has_payload && piece.kind != PutKind::with_immediate)) {
        piece.data = write.data + resume;
        piece.target = write.target + resume;
        piece.bytes = std::min<std::uint64_t>(
            {piece_bytes_max_, write.bytes - resume, room_in(piece.region, piece.target)});
        if (has_payload && resume + piece.bytes == write.bytes) {
            piece.kind = PutKind::with_immediate;
            piece.immediate = write.payload | kCarriesPayload;
        }
        if (port_->try_put(piece) == base::Post::again) return base::Post::again;
        ++written_to_[static_cast<std::size_t>(write.peer)];
        if (completion_ == base::RemoteCompletion::counted)
            ++batches_[static_cast<std::size_t>(write.peer)].open_written;
        resume += piece.bytes;
    }
    return base::Post::posted;
}

base::Post Wire::try_read(const base::Read& read, std::uint64_t& resume) noexcept {
    FabricGet piece{.peer = read.peer, .pending = read.pending, .region = read.region};
    while (resume < read.bytes) {
        piece.into = read.into + resume;
        piece.source = read.source + resume;
        piece.bytes = std::min<std::uint64_t>(
            {get_bytes_max_, read.bytes - resume, room_in(piece.region, piece.source)});
        if (port_->try_get(piece) == base::Post::again) return base::Post::again;
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
