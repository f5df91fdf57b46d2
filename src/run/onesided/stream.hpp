// SPDX-License-Identifier: BSD-3-Clause
// stream.hpp - calls of one context: what they have under way, and whether a fence stands.
//
// Idea     Requests, batches and the memory of peers belong to the rank. What a fence or a quiet is
//          about belongs to a stream, so one stream need not wait for the puts of another.
// Holds    The wire counts in it, so it stays where it is until it is quiet.
// Next     onesided.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::run {

struct Stream {
    struct Peer {
        bool fenced = false;  ///< what is put next must land after all before
        bool dirty = false;   ///< in `dirty`
    };

    explicit Stream(Rank ranks) : peers(static_cast<std::size_t>(ranks)) {}
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    [[nodiscard]] Peer& at(Rank rank) { return peers[static_cast<std::size_t>(rank)]; }
    void mark_dirty(Rank rank) {
        if (at(rank).dirty) return;
        at(rank).dirty = true;
        dirty.push_back(rank);
    }

    std::vector<Peer> peers;        ///< by rank of the job
    std::vector<Rank> dirty;        ///< far peers that something was put to since the last quiet
    std::uint32_t outstanding = 0;  ///< transfers of calls that returned at once
};

}  // namespace weft::run
