// SPDX-License-Identifier: BSD-3-Clause
// stream.hpp - transfers of one context, and its fence.
//
// Idea     Requests, batches and peers' memory belong to the rank. Fence and quiet belong to a
//          stream and cover its calls only. Counters record the covered calls, because other
//          threads may put meanwhile.
// Holds    The wire counts in a stream, so it must not move until it is quiet.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::run {

struct Stream {
    struct Peer {
        std::uint64_t posted = 0;  ///< transfers and requests of this stream
        std::uint64_t fence = 0;   ///< value of `posted` at the fence in effect
        bool fenced = false;       ///< later puts must be delivered after the fence
        bool dirty = false;        ///< is in the list `dirty`
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
    /// Records that something has been posted to that peer.
    void mark_dirty(Rank rank) {
        ++at(rank).posted;
        if (at(rank).dirty) return;
        at(rank).dirty = true;
        dirty.push_back(rank);
    }

    std::vector<Peer> peers;        ///< by rank of the job
    std::vector<Rank> dirty;        ///< remote peers with puts since the last quiet
    std::vector<Flush> spare;       ///< memory for the next quiet
    std::uint32_t outstanding = 0;  ///< transfers of calls that returned at once
};

}  // namespace weft::run
