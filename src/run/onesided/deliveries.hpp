// SPDX-License-Identifier: BSD-3-Clause
// deliveries.hpp - delivery of a rank's puts: requests after writes, flushes, fence and quiet.
//
// Idea     A flush is a request whose reply implies that all earlier puts to the peer have been
//          delivered. No flush is sent if completion implies delivery or nothing is in flight. A
//          put that can be awaited records the number of transfers that its stream has posted to
//          the peer; it is delivered when a flush has settled this number.
// Holds    See onesided.hpp. Other threads may have the turn during a wait, so each flush records
//          which transfers it covers.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "run/onesided/requests.hpp"
#include "run/onesided/streams.hpp"

namespace weft::run {

/// Result of a wait. late: the deadline has passed. failed: the wait cannot succeed.
enum class Waited : std::uint8_t { done, late, failed };

/// Writes of all streams to a peer.
struct PeerWrites {
    std::uint64_t delivered = 0;     ///< number of writes known to be delivered
    std::uint64_t requested = 0;     ///< number of writes before the last request
    std::uint32_t delivering = 0;    ///< writes in flight, if completion implies delivery
    std::uint64_t signals = 0;       ///< number of signals sent in immediates
    std::uint64_t signals_done = 0;  ///< number of signals known to be applied
};

template <Network Wire, class Drive>
class Deliveries {
  public:
    Deliveries(Wire& wire, Drive& driver, const OneSidedArea& area, Rank rank)
        : wire_(wire),
          driver_(driver),
          requests_(wire, driver, area, rank),
          peers_(static_cast<std::size_t>(area.ranks)),
          streams_(area.ranks) {}

    [[nodiscard]] Streams& streams() { return streams_; }
    [[nodiscard]] Requests<Wire, Drive>& requests() { return requests_; }
    [[nodiscard]] PeerWrites& peer(Rank rank) { return peers_[rank]; }
    /// Returns true if the completion of a write implies its delivery.
    [[nodiscard]] bool delivers() const {
        return wire_.remote().completion == base::RemoteCompletion::delivered;
    }

    /// Drives the engine until ended() returns true. Returns false on failure. `rank`: the peer
    /// that the wait depends on, or kNoPeer.
    template <class Ended>
    bool until(Ended ended, Rank rank, std::string_view call) {
        const auto waits = [&] {
            return rank == kNoPeer ? fmt::format("{}: waiting for own transfers", call)
                                   : fmt::format("{}: waiting for rank {}", call, rank);
        };
        return driver_.await(ended, waits, rank);
    }

    /// Sends a request that is executed after all earlier puts. Returns its number; 0: failure.
    std::uint64_t send_after_writes(Stream& stream, Rank rank, const RemoteRequest& request,
                                    void* into = nullptr) {
        if (delivers() &&
            !until([&] { return peer(rank).delivering == 0; }, rank, "one-sided call"))
            return 0;
        const auto stamp = [&](RemoteRequest& stamped) {
            peer(rank).requested = wire_.counts().written_to(rank);
            if (wire_.remote().completion == base::RemoteCompletion::counted &&
                wire_.near(rank) == nullptr)
                stamped.batch_writes = wire_.counts().close_batch(rank);
        };
        const std::uint64_t number = requests_.send(rank, request, into, stamp);
        stream.mark_dirty(rank);
        return number;
    }
    bool send_and_await(Stream& stream, Rank rank, RemoteRequest request, void* into = nullptr) {
        request.needs_reply = 1;
        const std::uint64_t number = send_after_writes(stream, rank, request, into);
        return number != 0 && requests_.await(rank, number);
    }

    /// Waits until all earlier puts to a peer are delivered.
    bool flush(Stream& stream, Rank rank) {
        const auto started = start_flush(stream, rank);
        if (!started || !until([&] { return is_flushed(*started); }, rank, "flush")) return false;
        settle(stream, *started);
        return true;
    }

    /// See OneSided::fence().
    bool fence(Stream& stream) {
        // Release: orders this rank's stores to mapped memory.
        std::atomic_thread_fence(std::memory_order_release);
        std::vector<Rank> near;  // with unfinished requests, which is rare
        for (const Rank rank : stream.dirty) {
            Stream::Peer& at = stream.at(rank);
            if (!needs_fence(rank)) continue;
            at.fenced = true;
            at.fence = at.posted;
            if (wire_.near(rank) != nullptr) near.push_back(rank);
        }
        // Other threads may change the list of dirty peers during a flush.
        return std::ranges::all_of(near, [&](Rank rank) { return flush(stream, rank); });
    }
    /// See OneSided::quiet().
    Waited quiet(Stream& stream, const base::Deadline& deadline) {
        const auto is_dead = [&](Rank rank) { return driver_.deaths().contains(rank); };
        for (bool lost = false;; lost = true) {
            const Waited waited = complete(stream, deadline);
            if (waited == Waited::failed && stream.mark_clean_if(is_dead)) continue;
            return lost && waited == Waited::done ? Waited::failed : waited;
        }
    }

    /// Waits until the peer has the data and the source may be changed. If the deadline has passed,
    /// returns the present state without driving.
    Waited wait(Delivery& delivery, const base::Deadline& deadline) {
        if (delivery.rank == kNoPeer) return Waited::done;
        const std::shared_ptr<Stream> stream = streams_.find(delivery.stream);
        if (stream == nullptr) return Waited::done;  // closed after its puts were complete
        const Rank rank = delivery.rank;
        const auto await = [&](auto ended) { return until(ended, deadline, rank, "put"); };
        // Another thread, or the wait for another put, may settle this put.
        const auto is_settled = [&] { return stream->at(rank).settled >= delivery.posted; };
        if (!delivery.flush) {
            const auto waited = await([&] { return is_settled() || is_flushable(rank); });
            if (waited != Waited::done) return waited;
            if (!is_settled()) delivery.flush = start_flush(*stream, rank);
        }
        if (!is_settled()) {
            if (!delivery.flush) return Waited::failed;
            const Flush flush = *delivery.flush;
            const auto waited = await([&] { return is_settled() || is_flushed(flush); });
            if (waited != Waited::done) return waited;
            settle(*stream, flush);
        }
        const Waited waited = await([&] { return stream->outstanding == 0; });
        if (waited == Waited::done) delivery = {};
        return waited;
    }

  private:
    template <class Ended>
    Waited until(Ended ended, const base::Deadline& deadline, Rank rank, std::string_view call) {
        if (!until([&] { return ended() || deadline.passed(); }, rank, call)) return Waited::failed;
        return ended() ? Waited::done : Waited::late;
    }

    /// Returns true if a later put to the peer could overtake an earlier put or request.
    [[nodiscard]] bool needs_fence(Rank rank) {
        if (requests_.has_outstanding(rank)) return true;
        switch (wire_.remote().completion) {
            case base::RemoteCompletion::ordered:
                // Writes are delivered in order, but signals in immediates are applied later.
                return peer(rank).signals != peer(rank).signals_done;
            case base::RemoteCompletion::delivered:
                return peer(rank).delivering != 0;
            case base::RemoteCompletion::counted:
                break;
        }
        return peer(rank).delivered != wire_.counts().written_to(rank);
    }

    /// Returns true if start_flush() would not wait.
    [[nodiscard]] bool is_flushable(Rank rank) {
        return (!delivers() || peer(rank).delivering == 0) && requests_.has_room(rank);
    }
    /// Starts a flush. Returns nothing on failure.
    std::optional<Flush> start_flush(Stream& stream, Rank rank) {
        const PeerWrites& at = peer(rank);
        Flush flush{.rank = rank,
                    .posted = stream.at(rank).posted,
                    .writes = wire_.counts().written_to(rank),
                    .signals = at.signals};
        // If completion implies delivery, is_flushed() waits for the writes.
        const bool settled = delivers() || at.delivered == flush.writes;
        if (settled && !requests_.has_outstanding(rank)) return flush;
        flush.number =
            send_after_writes(stream, rank, {.kind = RequestKind::flush, .needs_reply = 1});
        if (flush.number == 0) return std::nullopt;
        return flush;
    }
    [[nodiscard]] bool is_flushed(const Flush& flush) {
        return (flush.number == 0 || requests_.is_done(flush.rank, flush.number)) &&
               (!delivers() || peer(flush.rank).delivering == 0);
    }
    /// Records that all puts before a completed flush have been delivered.
    void settle(Stream& stream, const Flush& flush) {
        PeerWrites& at = peer(flush.rank);
        at.delivered = std::max(at.delivered, flush.writes);
        at.signals_done = std::max(at.signals_done, flush.signals);
        Stream::Peer& here = stream.at(flush.rank);
        here.settled = std::max(here.settled, flush.posted);
        here.fenced = here.fenced && here.fence > flush.posted;
    }

    /// Completes all puts and gets of the stream. Fails if one of their peers has died.
    Waited complete(Stream& stream, const base::Deadline& deadline) {
        // This fence and the last one order accesses of mapped memory before and after quiet().
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const auto wait = [&](Rank rank, auto ended) {
            return until(ended, deadline, rank, "quiet");
        };
        Waited waited =
            wait(kNoPeer, [&] { return stream.outstanding == 0 && stream.forget_ended_gets(); });
        // Flushes only peers that are dirty now: other threads may put during the waits below.
        std::vector<Flush> flushes = std::exchange(stream.spare, {});
        flushes.clear();
        for (const Rank rank : stream.dirty) flushes.push_back({.rank = rank});
        for (std::size_t i = 0; waited == Waited::done && i < flushes.size(); ++i) {
            const Rank rank = flushes[i].rank;
            waited = wait(rank, [&] { return is_flushable(rank); });
            if (waited != Waited::done) break;
            const auto started = start_flush(stream, rank);
            if (started)
                flushes[i] = *started;
            else
                waited = Waited::failed;
        }
        for (std::size_t i = 0; waited == Waited::done && i < flushes.size(); ++i) {
            const Flush& flush = flushes[i];
            waited = wait(flush.rank, [&] { return is_flushed(flush); });
            if (waited == Waited::done) settle(stream, flush);
        }
        if (waited == Waited::done) stream.mark_clean(flushes);
        stream.spare = std::move(flushes);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return waited;
    }

    Wire& wire_;
    Drive& driver_;
    Requests<Wire, Drive> requests_;
    /// By rank of the job. Never resized: the wire has pointers to counters.
    std::vector<PeerWrites> peers_;
    Streams streams_;
};

}  // namespace weft::run
