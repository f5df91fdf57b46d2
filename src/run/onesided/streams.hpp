// SPDX-License-Identifier: BSD-3-Clause
// streams.hpp - records of the puts and gets that fence and quiet of one context cover.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "run/onesided/request.hpp"

namespace weft::run {

/// Transfers and requests that fence and quiet of one context cover. Counters record which of them
/// a flush covers, because other threads may put while a thread waits for the flush. The wire has a
/// pointer to `outstanding`, so a stream must not move while transfers are in flight.
struct Stream {
    struct Peer {
        std::uint64_t posted = 0;   ///< number of transfers and requests of this stream
        std::uint64_t fence = 0;    ///< value of `posted` at the last fence
        std::uint64_t settled = 0;  ///< the first `settled` of them are known to be delivered
        bool fenced = false;        ///< puts before `fence` may be incomplete at the peer
        bool dirty = false;         ///< the peer is in Stream::dirty
    };

    /// `own_number`: no earlier stream has this number.
    Stream(Rank ranks, std::uint64_t own_number)
        : peers(static_cast<std::size_t>(ranks)), number(own_number) {}

    [[nodiscard]] Peer& at(Rank rank) { return peers[rank]; }
    /// Records that a transfer or request has been posted to a peer.
    void mark_dirty(Rank rank) {
        ++at(rank).posted;
        if (at(rank).dirty) return;
        at(rank).dirty = true;
        dirty.push_back(rank);
    }
    /// Marks dirty peers that fulfil the condition as clean. Returns true if there were any.
    template <class Condition>
    bool mark_clean_if(Condition condition) {
        return std::erase_if(dirty, [&](Rank rank) {
                   if (!condition(rank)) return false;
                   at(rank).dirty = at(rank).fenced = false;
                   return true;
               }) != 0;
    }
    /// Marks peers as clean if nothing was posted to them after their flush.
    void mark_clean(const std::vector<Flush>& flushes) {
        for (const Flush& flush : flushes) {
            // `posted` also counts the flush's own request.
            const std::uint64_t covered = flush.posted + (flush.number != 0 ? 1 : 0);
            Peer& peer = at(flush.rank);
            peer.dirty = peer.dirty && peer.posted != covered;
        }
        std::erase_if(dirty, [&](Rank rank) { return !at(rank).dirty; });
    }

    /// Returns true if all calls in the stream are complete, and a quiet() has ended since.
    [[nodiscard]] bool is_idle() {
        return outstanding == 0 && dirty.empty() && forget_ended_gets();
    }
    /// Keeps a get in flight.
    void keep(std::shared_ptr<StartedGet> get) {
        forget_ended_gets();
        gets.push_back(std::move(get));
    }
    /// Forgets gets whose data has arrived. Returns true if none is in flight.
    bool forget_ended_gets() {
        std::erase_if(gets, [](const auto& get) { return get->pending == 0; });
        return gets.empty();
    }

    std::vector<Peer> peers;        ///< by rank of the job
    std::vector<Rank> dirty;        ///< peers to which calls were posted since the last quiet()
    std::vector<Flush> spare;       ///< memory for the next quiet()
    std::uint64_t team = 0;         ///< serial number of the context's team; 0: none
    bool closed = false;            ///< not used again
    std::uint32_t outstanding = 0;  ///< transfers in flight of calls that did not wait
    std::vector<std::shared_ptr<StartedGet>> gets;  ///< in flight
    /// Number of calls that only accessed mapped memory. Written without the turn.
    alignas(64) std::atomic<unsigned> mapped_calls{0};
    const std::uint64_t number;
};

/// The default stream, and those of contexts, which threads may close while others wait for them.
class Streams {
  public:
    explicit Streams(Rank ranks) : ranks_(ranks), default_(std::make_shared<Stream>(ranks, 0)) {}

    /// Returns the default stream if `context` is nullptr.
    [[nodiscard]] Stream& of(Stream* context) { return context ? *context : *default_; }
    /// Returns the stream with a number; nullptr if it has been closed.
    [[nodiscard]] std::shared_ptr<Stream> find(std::uint64_t number) const {
        if (number == 0) return default_;
        const auto found =
            std::ranges::find(streams_, number, [](const auto& stream) { return stream->number; });
        return found != streams_.end() ? *found : nullptr;
    }
    [[nodiscard]] Stream* open() {
        return streams_.emplace_back(std::make_shared<Stream>(ranks_, ++last_)).get();
    }
    /// Ends the use of a stream. If transfers are in flight, the stream stays until a later close.
    void close(Stream* stream) {
        stream->closed = true;
        close_of(0);
    }
    /// Closes the streams of a team that has ended. team: serial number; 0: none.
    void close_of(std::uint64_t team) {
        std::erase_if(streams_, [&](const auto& held) {
            held->closed = held->closed || (team != 0 && held->team == team);
            return held->closed && held->is_idle();
        });
    }
    [[nodiscard]] const std::vector<std::shared_ptr<Stream>>& all() const { return streams_; }

  private:
    Rank ranks_;
    std::shared_ptr<Stream> default_;
    std::vector<std::shared_ptr<Stream>> streams_;
    std::uint64_t last_ = 0;  ///< number of the last stream
};

}  // namespace weft::run
