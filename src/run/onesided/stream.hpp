// SPDX-License-Identifier: BSD-3-Clause
// stream.hpp - calls of one context: what they have under way, and whether a fence stands.
//
// Idea     Requests, batches and the memory of peers belong to the rank. What a fence or a quiet is
//          about belongs to a stream, so one stream need not wait for the puts of another.
//          What a fence or a quiet covers is told by counting: other threads may put meanwhile.
// Holds    The wire counts in it, so it stays where it is until it is quiet.
// Next     onesided.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::run {

struct Stream {
    struct Peer {
        std::uint64_t posted = 0;  ///< transfers and requests of this stream
        std::uint64_t fence = 0;   ///< so many of them were posted before the fence that stands
        bool fenced = false;       ///< what is put next must land after those
        bool dirty = false;        ///< in `dirty`
    };
    /// Something that all before it to a peer have landed follows from.
    struct Flush {
        Rank rank = 0;
        std::uint64_t number = 0;   ///< of the request; 0: none was needed
        std::uint64_t posted = 0;   ///< what it covers, by the counts of Peer,
        std::uint64_t writes = 0;   ///< of the wire
        std::uint64_t signals = 0;  ///< and of signals that travel with their data
    };

    explicit Stream(Rank ranks) : peers(static_cast<std::size_t>(ranks)) {}
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    [[nodiscard]] Peer& at(Rank rank) { return peers[static_cast<std::size_t>(rank)]; }
    /// Something has been posted to that peer.
    void mark_dirty(Rank rank) {
        ++at(rank).posted;
        if (at(rank).dirty) return;
        at(rank).dirty = true;
        dirty.push_back(rank);
    }

    std::vector<Peer> peers;        ///< by rank of the job
    std::vector<Rank> dirty;        ///< far peers that something was put to since the last quiet
    std::vector<Flush> spare;       ///< memory for the next quiet
    std::uint32_t outstanding = 0;  ///< transfers of calls that returned at once
};

}  // namespace weft::run
