// SPDX-License-Identifier: BSD-3-Clause
// flagged_put.cpp - payload and flag in one write with two targets.
//
// Idea     The flag word is the last source, and its cell the second target. One immediate arrives
//          after both. Short sources are copied, by libfabric or here, so that the caller need not
//          wait for a completion.
// Why      The completion is available at once. But over sockets, reading it is a system call,
//          which takes longer than a copy of some KiB.
// Next     profile.hpp for the size; docs/decisions/0012-notify-strategies.md.
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/copy.hpp"
#include "link/fabric/port.hpp"

namespace weft::link {

/// Copies the sources and the flag to memory that is kept until the write completes.
iovec Port::copied(const Transfer& transfer, const base::Put& put) noexcept {
    const auto number = static_cast<std::size_t>(&transfer - transfers_.data());
    std::byte* const start = copies_.get() + number * copy_stride();
    std::byte* end = start;
    for (const base::PutPart& part : put.parts) {
        if (part.bytes != 0) base::copy_bytes(end, part.data, part.bytes);
        end += part.bytes;
    }
    std::memcpy(end, &put.flag, sizeof put.flag);
    return {start, put.bytes + sizeof put.flag};
}

/// Writes payload and flag. Copies small ones at once, by libfabric or here.
base::Post Port::put_flagged(Peer& peer, const Place& place, const base::Put& put) noexcept {
    WEFT_CHECK(put.kind == PutKind::with_immediate, put.peer, static_cast<int>(put.kind));
    const auto flag = place_of(peer, put.peer, put.cell + base::kCellDelivered, sizeof put.flag);
    Transfer* transfer = free_;
    if (!flag) return base::Post::again;
    if (transfer == nullptr || peer.in_flight >= in_flight_per_peer_max_) return base::Post::again;
    const bool injected = put.bytes + sizeof put.flag <= facts_.inject_bytes;
    const bool copied_at_once = injected || put.bytes <= facts_.copied_bytes;
    std::array<iovec, kSourceParts> sources;
    std::size_t count = 0;
    if (put.bytes <= facts_.copied_bytes) {
        sources[count++] = copied(*transfer, put);
    } else {
        for (const base::PutPart& part : put.parts) {
            WEFT_CHECK(count < facts_.flagged_parts_max, count, put.peer);
            if (part.bytes != 0) sources[count++] = {const_cast<std::byte*>(part.data), part.bytes};
        }
        transfer->flag = put.flag;
        sources[count++] = {&transfer->flag, sizeof transfer->flag};
    }
    const std::array targets{fi_rma_iov{place.address, put.bytes, place.key},
                             fi_rma_iov{flag->address, sizeof put.flag, flag->key}};
    const fi_msg_rma message{.msg_iov = sources.data(),
                             .iov_count = count,
                             .addr = peer.address,
                             .rma_iov = targets.data(),
                             .rma_iov_count = targets.size(),
                             .context = &transfer->context,
                             .data = sealed_for(peer, put.immediate)};
    const ssize_t code = fi_writemsg(
        endpoint_.get(), &message, FI_REMOTE_CQ_DATA | FI_COMPLETION | (injected ? FI_INJECT : 0U));
    const base::Post posted = posted_as(code, put.peer, {.bytes = put.bytes});
    if (posted == base::Post::posted)
        take(*transfer, peer, put.peer, put.bytes, copied_at_once ? nullptr : put.pending);
    return posted;
}

}  // namespace weft::link
