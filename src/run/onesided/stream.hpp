// SPDX-License-Identifier: BSD-3-Clause
// stream.hpp - stream: the transfers that one context's fence and quiet cover.
//
// Idea     Counters record which calls a flush covers, because other threads may put while a thread
//          waits for the flush. Requests and batches are common to all streams of a rank.
// Holds    The wire has pointers to counters of a stream, so a busy stream must not move.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::run {

struct Stream {
    struct Peer {
        std::uint64_t posted = 0;  ///< number of transfers and requests of this stream
        std::uint64_t fence = 0;   ///< value of `posted` at the last fence
        bool fenced = false;       ///< later puts must follow the puts before the fence
        bool dirty = false;        ///< the peer is in the list `dirty`
    };
    /// A request whose completion implies that all earlier transfers to the peer are delivered.
    struct Flush {
        Rank rank = 0;
        std::uint64_t number = 0;   ///< number of the request; 0: none was needed
        std::uint64_t posted = 0;   ///< covered transfers: value of Peer::posted
        std::uint64_t writes = 0;   ///< covered transfers of the wire
        std::uint64_t signals = 0;  ///< covered signals in immediates
    };

    explicit Stream(Rank ranks) : peers(static_cast<std::size_t>(ranks)) {}
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    [[nodiscard]] Peer& at(Rank rank) { return peers[static_cast<std::size_t>(rank)]; }
    /// Records that a transfer or request has been posted to a peer.
    void mark_dirty(Rank rank) {
        ++at(rank).posted;
        if (at(rank).dirty) return;
        at(rank).dirty = true;
        dirty.push_back(rank);
    }

    std::vector<Peer> peers;        ///< by rank of the job
    std::vector<Rank> dirty;        ///< peers with posted calls since the last quiet()
    std::vector<Flush> spare;       ///< unused memory for the next quiet()
    std::uint32_t outstanding = 0;  ///< transfers in flight of calls that did not wait
};

}  // namespace weft::run
