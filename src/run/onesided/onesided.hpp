// SPDX-License-Identifier: BSD-3-Clause
// onesided.hpp - puts, gets, signals and atomic operations on memory of peers; fence and quiet.
//
// Idea     For local peers, calls are loads, stores and atomic operations on mapped memory. For
//          remote peers, calls are writes and reads of the network, and requests for operations
//          that the target itself must execute. A rank detects that its writes have been delivered
//          by order, by counts, or by completion (section 4 of docs/one-sided.md).
// Holds    The caller has checked addresses, passes ranks of the job, and holds the engine's turn.
//          Other threads may have the turn during a wait, so values read before a wait may be
//          outdated after it. If a call returns false, driver.failure() has the reason.
// Next     quiet.hpp and registered.hpp define further members; users of OneSided include both.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "run/onesided/remote_address.hpp"
#include "run/onesided/requests.hpp"
#include "run/onesided/service.hpp"
#include "run/onesided/streams.hpp"

namespace weft::run {

/// Result of a wait. late: the deadline has passed. failed: the wait cannot succeed.
enum class Waited : std::uint8_t { done, late, failed };

template <Network Wire, class Drive>
class Deliveries;

template <Network Wire, class Drive>
class OneSided {
  public:
    OneSided(Wire& wire, Drive& driver, const OneSidedArea& area, Rank rank)
        : wire_(wire),
          driver_(driver),
          area_(area),
          own_(wire.near(rank)),
          service_(wire, area, rank),
          requests_(wire, driver, area, rank),
          peers_(static_cast<std::size_t>(area.ranks)),
          default_(area.ranks, 0),
          streams_(area.ranks) {}

    /// Functions for Wire::set_service(); `self` is a OneSided.
    static bool serve(void* self) noexcept {
        return static_cast<OneSided*>(self)->service_.serve();
    }
    static void on_immediate(void* self, std::uint64_t payload) noexcept {
        static_cast<OneSided*>(self)->service_.on_immediate(payload);
    }
    [[nodiscard]] Service<Wire>& service() { return service_; }
    /// For tests: sends no requests that wake peers, because their number depends on the clock.
    void let_sleep() { wakes_ = false; }

    // `context`: stream in which the call is made; nullptr: the default stream. fence() and quiet()
    // cover only calls in their stream.
    [[nodiscard]] Streams& streams() { return streams_; }

    /// Returns the address in this process of a peer's memory if it is mapped, else nullptr.
    [[nodiscard]] std::byte* reach(Rank rank, const RemoteAddress& at) const noexcept {
        std::byte* const base = at.memory == nullptr ? wire_.near(rank) : at.memory->mapped;
        return base == nullptr ? nullptr : base + at.offset;
    }

    bool put(Rank rank, const RemoteAddress& to, const std::byte* from, std::size_t bytes,
             Return when, Stream* context = nullptr) {
        if (std::byte* const near = reach(rank, to)) {
            onesided::copy_near(near, from, bytes, Direction::put);
            return true;
        }
        Stream& stream = stream_of(context);
        std::uint32_t& pending = pending_of(stream, rank, when);
        return put_unmapped(stream, rank, to, from, bytes, pending) &&
               (when == Return::at_once || await_transfers(stream, pending, rank, "put", bytes));
    }

    bool put_strided(Rank rank, const RemoteAddress& to, const std::byte* from,
                     const Strided& blocks, Stream* context = nullptr) {
        Stream& stream = stream_of(context);
        std::uint32_t& pending = pending_of(stream, rank, Return::reusable);
        const auto put_row = [&](std::int64_t to_offset, std::int64_t from_offset) {
            const RemoteAddress row = to + static_cast<std::uint64_t>(to_offset);
            for (std::size_t i = 0; i < blocks.count; ++i) {
                const auto* source = onesided::block_of(from + from_offset, i, blocks.from_stride);
                const RemoteAddress target = onesided::block_of(row, i, blocks.to_stride);
                if (std::byte* const near = reach(rank, target)) {
                    onesided::copy_near(near, source, blocks.block_bytes, Direction::put);
                } else if (!put_unmapped(stream, rank, target, source, blocks.block_bytes,
                                         pending)) {
                    return false;
                }
            }
            return true;
        };
        return onesided::for_rows(blocks, put_row) &&
               await_transfers(stream, pending, rank, "put_strided",
                               blocks.count * blocks.block_bytes);
    }

    bool get(Rank rank, std::byte* into, const RemoteAddress& from, std::size_t bytes, Return when,
             Stream* context = nullptr) {
        Stream& stream = stream_of(context);
        std::uint32_t& pending = when == Return::reusable ? blocking_ : stream.outstanding;
        if (!start_get(rank, into, from, bytes, pending, context)) return false;
        if (when != Return::at_once) return await_transfers(stream, pending, rank, "get", bytes);
        if (reach(rank, from) == nullptr) stream.mark_dirty(rank);  // quiet() reports its death
        return true;
    }
    /// Starts a get. `pending` is not 0 until the data has arrived, and must not move until then.
    bool start_get(Rank rank, std::byte* into, const RemoteAddress& from, std::size_t bytes,
                   std::uint32_t& pending, Stream* context = nullptr) {
        if (const std::byte* const near = reach(rank, from)) {
            onesided::copy_near(into, near, bytes, Direction::get);
            return true;
        }
        if (bytes == 0) return true;
        if (!from.in_network() && from.memory->copied &&
            wire_.memory().copy_from(rank, {.address = from.address()}, into, bytes)) {
            std::atomic_thread_fence(std::memory_order_acquire);  // see onesided::copy_near()
            return true;
        }
        if (!wire_.remote().reads || !from.in_network())
            return get_by_request(stream_of(context), rank, into, from, bytes);
        const base::Read read{rank, into, bytes, from.offset, &pending, from.region()};
        std::uint64_t resume = 0;
        return until([&] { return wire_.try_read(read, resume) == base::Post::posted; }, rank,
                     "get");
    }

    /// Starts a get from memory that is not mapped. A request or quiet() waits for its data.
    bool start_unmapped_get(Rank rank, std::byte* into, const RemoteAddress& from,
                            std::size_t bytes, const std::shared_ptr<StartedGet>& get,
                            Stream* context = nullptr) {
        const bool started = start_get(rank, into, from, bytes, get->pending, context);
        if (get->pending == 0) return started;
        Stream& stream = stream_of(context);
        stream.keep(get);
        stream.mark_dirty(rank);  // quiet() reports its death
        return started;
    }

    bool get_strided(Rank rank, std::byte* into, const RemoteAddress& from, const Strided& blocks,
                     Stream* context = nullptr) {
        const auto get_row = [&](std::int64_t to_offset, std::int64_t from_offset) {
            const RemoteAddress row = from + static_cast<std::uint64_t>(from_offset);
            for (std::size_t i = 0; i < blocks.count; ++i) {
                if (!start_get(rank, onesided::block_of(into + to_offset, i, blocks.to_stride),
                               onesided::block_of(row, i, blocks.from_stride), blocks.block_bytes,
                               blocking_, context))
                    return false;
            }
            return true;
        };
        return onesided::for_rows(blocks, get_row) &&
               await_transfers(stream_of(context), blocking_, rank, "get_strided",
                               blocks.count * blocks.block_bytes);
    }

    /// Puts data, then changes a word. A rank that reads the changed word also sees the data.
    bool put_signal(Rank rank, const RemoteAddress& to, const std::byte* from, std::size_t bytes,
                    const Signal& signal, Return when, Stream* context = nullptr) {
        const RequestKind kind = signal.adds ? RequestKind::add : RequestKind::store;
        std::byte* const near = reach(rank, to);
        std::byte* const word = reach(rank, signal.word);
        if (near != nullptr && word != nullptr) {
            onesided::copy_near(near, from, bytes, Direction::put);
            onesided::change(kind, word, sizeof signal.value, signal.value, 0);
            return true;
        }
        Stream& stream = stream_of(context);
        if (to.in_network() && bytes <= onesided::kImmediateBytesMax)
            if (const auto payload = payload_for(rank, signal))
                return write_after_fence(stream, rank, to, from, bytes, when, *payload);
        RemoteRequest request{
            .kind = kind, .offset = signal.word.packed(), .operand = signal.value};
        if (bytes <= RemoteRequest::kInlineMax) {
            request.inline_bytes = static_cast<std::uint8_t>(bytes);
            request.operand2 = to.packed();
            if (bytes != 0) std::memcpy(request.data, from, bytes);
        } else if (near != nullptr) {
            onesided::copy_near(near, from, bytes, Direction::put);
        } else if (!write_after_fence(stream, rank, to, from, bytes, when)) {
            return false;
        }
        return send_after_writes(stream, rank, request) != 0;
    }

    /// Changes a word, and waits for its former value, which is stored in `old`.
    bool change(Rank rank, const Atomic& atomic, std::uint64_t& old, Stream* context = nullptr) {
        if (std::byte* const near = reach(rank, atomic.word)) {
            old = onesided::change(near, atomic);
            return true;
        }
        old = 0;
        if (send_and_await(stream_of(context), rank, onesided::request_for(atomic), &old))
            return true;
        requests_.discard_result(rank, &old);
        return false;
    }
    /// Starts a change. When quiet() returns, `into` has the word's former value, in its width.
    bool start_change(Rank rank, const Atomic& atomic, void* into, Stream* context = nullptr) {
        if (std::byte* const near = reach(rank, atomic.word)) {
            const std::uint64_t old = onesided::change(near, atomic);
            std::memcpy(into, &old, atomic.width);
            return true;
        }
        const RemoteRequest request = onesided::request_for(atomic);
        return send_after_writes(stream_of(context), rank, request, into) != 0;
    }
    /// Changes a word. The change is complete when quiet() returns.
    bool apply(Rank rank, const Atomic& atomic, Stream* context = nullptr) {
        if (std::byte* const near = reach(rank, atomic.word)) {
            onesided::change(near, atomic);
            return true;
        }
        const bool adds = atomic.kind == RequestKind::add;
        if ((adds || atomic.kind == RequestKind::store) && atomic.width == sizeof(std::uint64_t))
            return put_signal(rank, {0, atomic.word.memory}, /*from=*/nullptr, /*bytes=*/0,
                              {atomic.word, atomic.operand, adds}, Return::at_once, context);
        return send_after_writes(stream_of(context), rank, onesided::request_for(atomic)) != 0;
    }

    /// Orders earlier puts before later puts to each peer. Waits for requests to local peers,
    /// because a later put may be a plain store.
    bool fence(Stream* context = nullptr);

    /// Waits until all puts and gets of the stream are complete, locally and at the peers. If peers
    /// have died since the last quiet(), completes the calls to all other peers and then fails.
    Waited quiet(Stream* context, const base::Deadline& deadline) {
        Stream& stream = stream_of(context);
        bool lost = false;
        Waited waited = complete(stream, deadline);
        while (waited == Waited::failed &&
               stream.mark_clean_if([&](Rank rank) { return driver_.deaths().contains(rank); })) {
            lost = true;
            waited = complete(stream, deadline);
        }
        return lost && waited == Waited::done ? Waited::failed : waited;
    }
    bool quiet(Stream* context = nullptr) { return quiet(context, {}) == Waited::done; }
    /// Completes the puts and gets of all streams.
    bool quiet_all() {
        bool done = quiet();
        // Other threads may open and close streams during the waits.
        const auto streams = streams_.all();
        for (const auto& stream : streams) done = done && quiet(stream.get());
        return done;
    }

    /// Returns true if quiet() of the default stream may have to wait.
    [[nodiscard]] bool busy() const { return default_.outstanding != 0 || !default_.dirty.empty(); }

  private:
    static constexpr Rank kNoPeer = -1;
    /// If a transfer takes longer, the peer probably sleeps and does not drive its network.
    static constexpr std::uint64_t kAwakeNs = 40'000;

    friend class Deliveries<Wire, Drive>;

    // Defined in quiet.hpp.
    Waited complete(Stream& stream, const base::Deadline& deadline);

    [[nodiscard]] PeerWrites& peer(Rank rank) { return peers_[rank]; }
    [[nodiscard]] Stream& stream_of(Stream* context) { return context ? *context : default_; }
    [[nodiscard]] std::uint32_t& pending_of(Stream& stream, Rank rank, Return when) {
        if (delivers()) return peer(rank).delivering;
        return when == Return::at_once ? stream.outstanding : blocking_;
    }

    /// Drives the engine until ended() returns true. Returns false on failure.
    template <class Ended>
    bool until(Ended ended, Rank rank, std::string_view call) {
        const auto waits = [&] {
            return rank == kNoPeer ? fmt::format("{}: waiting for own transfers", call)
                                   : fmt::format("{}: waiting for rank {}", call, rank);
        };
        return driver_.await(ended, waits, rank);
    }
    template <class Ended>
    Waited until(Ended ended, const base::Deadline& deadline, Rank rank, std::string_view call) {
        if (!until([&] { return ended() || deadline.passed(); }, rank, call)) return Waited::failed;
        return ended() ? Waited::done : Waited::late;
    }

    /// Waits until `pending` is 0. If this takes long, sends a request, which wakes the peer.
    bool await_transfers(Stream& stream, std::uint32_t& pending, Rank rank, std::string_view call,
                         std::uint64_t bytes) {
        // Calls on mapped memory have no lock, and must not read `pending`.
        if (wire_.near(rank) != nullptr || pending == 0) return true;
        const std::uint64_t awake_ns = kAwakeNs + bytes;  // assumes at least 1 byte per ns
        const std::uint64_t began = base::monotonic_ns();
        if (!until([&] { return pending == 0; }, rank, call)) return false;
        if (!wakes_ || base::monotonic_ns() - began < awake_ns || !requests_.has_room(rank))
            return true;
        const auto sent = requests_.send(rank, {.kind = RequestKind::flush}, nullptr, [](auto&) {});
        stream.mark_dirty(rank);
        return sent != 0;
    }

    /// Returns true if the completion of a write implies its delivery.
    [[nodiscard]] bool delivers() const {
        return wire_.remote().completion == base::RemoteCompletion::delivered;
    }

    /// Puts bytes to memory that is not mapped. The source may be reused when `pending` is 0.
    bool put_unmapped(Stream& stream, Rank rank, const RemoteAddress& to, const std::byte* from,
                      std::size_t bytes, std::uint32_t& pending) {
        if (bytes == 0) return true;
        const bool fenced = stream.at(rank).fenced;
        if (onesided::is_word(to.address(), bytes) &&
            (fenced || !wire_.remote().whole_words || !to.in_network()))
            return put_word(stream, rank, to, from, bytes);
        if (fenced && !flush(stream, rank)) return false;
        return write(stream, rank, to, from, bytes, pending, /*payload=*/0);
    }

    /// Encodes a signal as the payload of an immediate. Returns nothing if this is not possible.
    [[nodiscard]] std::optional<std::uint64_t> payload_for(Rank rank, const Signal& signal) {
        const bool has_immediates = wire_.near(rank) == nullptr && wire_.remote().signals;
        return has_immediates ? onesided::payload_of(signal, area_.words) : std::nullopt;
    }
    /// Writes after the puts before the last fence. `payload`: a signal for the immediate; 0: none.
    bool write_after_fence(Stream& stream, Rank rank, const RemoteAddress& to,
                           const std::byte* from, std::size_t bytes, Return when,
                           std::uint64_t payload = 0) {
        if (stream.at(rank).fenced && !flush(stream, rank)) return false;
        std::uint32_t& pending = pending_of(stream, rank, when);
        if (!write(stream, rank, to, from, bytes, pending, payload)) return false;
        if (payload != 0) ++peer(rank).signals;
        return when == Return::at_once || await_transfers(stream, pending, rank, "put", bytes);
    }

    /// Writes by the network, the kernel or requests.
    bool write(Stream& stream, Rank rank, const RemoteAddress& to, const std::byte* from,
               std::size_t bytes, std::uint32_t& pending, std::uint64_t payload) {
        if (!to.in_network()) {
            const bool copied =
                to.memory->copied &&
                wire_.memory().copy_to(rank, {.address = to.address()}, from, bytes);
            return copied || put_by_request(stream, rank, to, from, bytes);
        }
        // RemoteRequest::batch_writes has 32 bits.
        constexpr std::uint64_t kWritesMax = std::uint64_t{1} << 31;
        if (wire_.counts().written_to(rank) - peer(rank).requested > kWritesMax &&
            !flush(stream, rank))
            return false;
        const base::PutPart source{from, bytes};
        const base::Put put{.peer = rank,
                            .parts = {&source, 1},
                            .bytes = bytes,
                            .target = to.offset,
                            .region = to.region(),
                            .immediate = payload,
                            .pending = &pending};
        std::uint64_t resume = 0;
        const auto post = [&] { return wire_.try_put(put, resume) == base::Post::posted; };
        const bool posted = post() || until(post, rank, "put");
        stream.mark_dirty(rank);
        return posted;
    }

    /// Puts a word by a signal or a request, so that the peer never reads a half-written word.
    bool put_word(Stream& stream, Rank rank, const RemoteAddress& to, const std::byte* from,
                  std::size_t bytes) {
        RemoteRequest request{.kind = RequestKind::store,
                              .width = static_cast<std::uint8_t>(bytes),
                              .offset = to.packed()};
        std::memcpy(&request.operand, from, bytes);
        // A signal might overtake an unfinished request for the same word.
        if (bytes == sizeof request.operand && !stream.at(rank).fenced &&
            !requests_.has_outstanding(rank))
            if (const auto payload = payload_for(rank, {.word = to, .value = request.operand}))
                return write_after_fence(stream, rank, 0, /*from=*/nullptr, /*bytes=*/0,
                                         Return::at_once, *payload);
        return send_after_writes(stream, rank, request) != 0;
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

    /// Waits until all earlier puts to a peer are delivered.
    bool flush(Stream& stream, Rank rank) {
        const auto started = start_flush(stream, rank);
        if (!started || !until([&] { return is_flushed(*started); }, rank, "flush")) return false;
        settle(stream, *started);
        return true;
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

    // Defined in registered.hpp.
    template <class Before, class After>
    bool through_buffer(Stream& stream, Rank rank, RequestKind kind, const RemoteAddress& target,
                        std::size_t bytes, Before before, After after);
    bool get_by_request(Stream& stream, Rank rank, std::byte* into, const RemoteAddress& from,
                        std::size_t bytes);
    bool put_by_request(Stream& stream, Rank rank, const RemoteAddress& to, const std::byte* from,
                        std::size_t bytes);

    Wire& wire_;
    Drive& driver_;
    OneSidedArea area_;
    std::byte* own_;
    Service<Wire> service_;
    Requests<Wire, Drive> requests_;
    /// By rank of the job. Never resized: the wire has pointers to counters.
    std::vector<PeerWrites> peers_;
    Stream default_;
    Streams streams_;
    std::uint32_t blocking_ = 0;  ///< transfers in flight of blocking calls
    bool buffer_taken_ = false;   ///< a get or put uses OneSidedArea::buffer()
    bool wakes_ = true;           ///< false: let_sleep() was called
};

}  // namespace weft::run
