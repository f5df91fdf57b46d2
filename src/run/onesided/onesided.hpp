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
//          An executed request is complete; if the kernel copied only a part, the peer copies all
//          bytes again.
// Next     deliveries.hpp, docs/one-sided.md, docs/decisions/0020-registered-memory.md.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/copy.hpp"
#include "run/onesided/blocks.hpp"
#include "run/onesided/deliveries.hpp"
#include "run/onesided/service.hpp"

namespace weft::run {

template <Network Wire, class Drive>
class OneSided {
  public:
    OneSided(Wire& wire, Drive& driver, const OneSidedArea& area, Rank rank)
        : wire_(wire),
          area_(area),
          own_(wire.near(rank)),
          service_(wire, area, rank),
          deliveries_(wire, driver, area, rank) {}

    [[nodiscard]] Service<Wire>& service() { return service_; }
    [[nodiscard]] Deliveries<Wire, Drive>& deliveries() { return deliveries_; }
    /// For tests: sends no requests that wake peers, because their number depends on the clock.
    void let_sleep() { wakes_ = false; }

    // `context`: stream in which the call is made; nullptr: the default stream. fence() and quiet()
    // cover only calls in their stream.
    [[nodiscard]] Streams& streams() { return deliveries_.streams(); }

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
        Stream& stream = streams().of(context);
        std::uint32_t& pending = pending_of(stream, rank, when);
        return put_unmapped(stream, rank, to, from, bytes, pending) &&
               (when == Return::at_once || await_transfers(stream, pending, rank, "put", bytes));
    }

    /// Starts a put, whose delivery Deliveries::wait() awaits.
    bool start_put(Rank rank, const RemoteAddress& to, const std::byte* from, std::size_t bytes,
                   Delivery& delivery, Stream* context = nullptr) {
        delivery = {};
        if (!put(rank, to, from, bytes, Return::at_once, context)) return false;
        if (reach(rank, to) != nullptr) return true;
        Stream& stream = streams().of(context);
        delivery = {rank, stream.number, stream.at(rank).posted};
        return true;
    }

    bool put_strided(Rank rank, const RemoteAddress& to, const std::byte* from,
                     const Strided& blocks, Stream* context = nullptr) {
        Stream& stream = streams().of(context);
        std::uint32_t& pending = pending_of(stream, rank, Return::reusable);
        std::size_t bytes = 0;
        const auto put_block = [&](std::int64_t to_offset, std::int64_t from_offset) {
            const RemoteAddress target = to + static_cast<std::uint64_t>(to_offset);
            const std::byte* const source = from + from_offset;
            bytes += blocks.block_bytes;
            if (std::byte* const near = reach(rank, target)) {
                onesided::copy_near(near, source, blocks.block_bytes, Direction::put);
                return true;
            }
            return put_unmapped(stream, rank, target, source, blocks.block_bytes, pending);
        };
        return onesided::for_blocks(blocks, put_block) &&
               await_transfers(stream, pending, rank, "put_strided", bytes);
    }

    bool get(Rank rank, std::byte* into, const RemoteAddress& from, std::size_t bytes, Return when,
             Stream* context = nullptr) {
        Stream& stream = streams().of(context);
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
            return get_by_request(streams().of(context), rank, into, from, bytes);
        const base::Read read{rank, into, bytes, from.offset, &pending, from.region()};
        std::uint64_t resume = 0;
        return deliveries_.until([&] { return wire_.try_read(read, resume) == base::Post::posted; },
                                 rank, "get");
    }

    /// Starts a get from memory that is not mapped. A request or quiet() waits for its data.
    bool start_unmapped_get(Rank rank, std::byte* into, const RemoteAddress& from,
                            std::size_t bytes, const std::shared_ptr<StartedGet>& get,
                            Stream* context = nullptr) {
        const bool started = start_get(rank, into, from, bytes, get->pending, context);
        if (get->pending == 0) return started;
        Stream& stream = streams().of(context);
        stream.keep(get);
        stream.mark_dirty(rank);  // quiet() reports its death
        return started;
    }

    bool get_strided(Rank rank, std::byte* into, const RemoteAddress& from, const Strided& blocks,
                     Stream* context = nullptr) {
        std::size_t bytes = 0;
        const auto get_block = [&](std::int64_t to_offset, std::int64_t from_offset) {
            bytes += blocks.block_bytes;
            return start_get(rank, into + to_offset, from + static_cast<std::uint64_t>(from_offset),
                             blocks.block_bytes, blocking_, context);
        };
        return onesided::for_blocks(blocks, get_block) &&
               await_transfers(streams().of(context), blocking_, rank, "get_strided", bytes);
    }

    /// Puts data, then changes a word. A rank that reads the changed word also sees the data.
    bool put_signal(Rank rank, const RemoteAddress& to, const std::byte* from, std::size_t bytes,
                    const Signal& signal, Return when, Stream* context = nullptr) {
        const RequestKind kind = signal.adds ? RequestKind::add : RequestKind::store;
        std::byte* const near = reach(rank, to);
        std::byte* const word = reach(rank, signal.word);
        if (near != nullptr && word != nullptr) {
            onesided::copy_near(near, from, bytes, Direction::put);
            onesided::change(word, {.kind = kind, .operand = signal.value});
            return true;
        }
        Stream& stream = streams().of(context);
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
        return deliveries_.send_after_writes(stream, rank, request) != 0;
    }

    /// Changes a word. If `into` is not null, stores the word's former value there, in its width:
    /// before the call returns, or if `when` is at_once, before the next quiet() returns. A change
    /// without `into` is complete when quiet() returns.
    bool change(Rank rank, const RemoteAddress& word, const WordChange& change, void* into,
                Return when, Stream* context = nullptr) {
        if (std::byte* const near = reach(rank, word)) {
            const std::uint64_t old = onesided::change(near, change);
            if (into != nullptr) onesided::store_result(into, old, change.width);
            return true;
        }
        const bool adds = change.kind == RequestKind::add;
        if (into == nullptr && (adds || change.kind == RequestKind::store) &&
            change.width == sizeof(std::uint64_t))
            return put_signal(rank, {0, word.memory}, /*from=*/nullptr, /*bytes=*/0,
                              {word, change.operand, adds}, Return::at_once, context);
        Stream& stream = streams().of(context);
        const RemoteRequest request{.kind = change.kind,
                                    .width = change.width,
                                    .offset = word.packed(),
                                    .operand = change.operand,
                                    .operand2 = change.compare};
        if (into == nullptr || when == Return::at_once)
            return deliveries_.send_after_writes(stream, rank, request, into) != 0;
        if (deliveries_.send_and_await(stream, rank, request, into)) return true;
        deliveries_.requests().discard_result(rank, into);
        return false;
    }

    /// Orders earlier puts before later puts to each peer. Waits for requests to local peers,
    /// because a later put may be a plain store.
    bool fence(Stream* context = nullptr) { return deliveries_.fence(streams().of(context)); }

    /// Waits until all puts and gets of the stream are complete, locally and at the peers. If peers
    /// have died since the last quiet(), completes the calls to all other peers and then fails.
    Waited quiet(Stream* context, const base::Deadline& deadline) {
        return deliveries_.quiet(streams().of(context), deadline);
    }
    bool quiet(Stream* context = nullptr) { return quiet(context, {}) == Waited::done; }
    /// Completes the puts and gets of all streams.
    bool quiet_all() {
        bool done = quiet();
        // Other threads may open and close streams during the waits.
        const auto streams_now = streams().all();
        for (const auto& stream : streams_now) done = done && quiet(stream.get());
        return done;
    }

  private:
    /// If a transfer takes longer, the peer probably sleeps and does not drive its network.
    static constexpr std::uint64_t kAwakeNs = 40'000;

    [[nodiscard]] std::uint32_t& pending_of(Stream& stream, Rank rank, Return when) {
        if (deliveries_.delivers()) return deliveries_.peer(rank).delivering;
        return when == Return::at_once ? stream.outstanding : blocking_;
    }

    /// Waits until `pending` is 0. If this takes long, sends a request, which wakes the peer.
    bool await_transfers(Stream& stream, std::uint32_t& pending, Rank rank, std::string_view call,
                         std::uint64_t bytes) {
        // Calls on mapped memory have no lock, and must not read `pending`.
        if (wire_.near(rank) != nullptr || pending == 0) return true;
        const std::uint64_t awake_ns = kAwakeNs + bytes;  // assumes at least 1 byte per ns
        const std::uint64_t began = base::monotonic_ns();
        if (!deliveries_.until([&] { return pending == 0; }, rank, call)) return false;
        if (!wakes_ || base::monotonic_ns() - began < awake_ns ||
            !deliveries_.requests().has_room(rank))
            return true;
        const auto sent =
            deliveries_.requests().send(rank, {.kind = RequestKind::flush}, nullptr, [](auto&) {});
        stream.mark_dirty(rank);
        return sent != 0;
    }

    /// Puts bytes to memory that is not mapped. The source may be reused when `pending` is 0.
    bool put_unmapped(Stream& stream, Rank rank, const RemoteAddress& to, const std::byte* from,
                      std::size_t bytes, std::uint32_t& pending) {
        if (bytes == 0) return true;
        const bool fenced = stream.at(rank).fenced;
        if (onesided::is_word(to.address(), bytes) &&
            (fenced || !wire_.remote().whole_words || !to.in_network()))
            return put_word(stream, rank, to, from, bytes);
        if (fenced && !deliveries_.flush(stream, rank)) return false;
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
        if (stream.at(rank).fenced && !deliveries_.flush(stream, rank)) return false;
        std::uint32_t& pending = pending_of(stream, rank, when);
        if (!write(stream, rank, to, from, bytes, pending, payload)) return false;
        if (payload != 0) ++deliveries_.peer(rank).signals;
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
        if (wire_.counts().written_to(rank) - deliveries_.peer(rank).requested > kWritesMax &&
            !deliveries_.flush(stream, rank))
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
        const bool posted = post() || deliveries_.until(post, rank, "put");
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
            !deliveries_.requests().has_outstanding(rank))
            if (const auto payload = payload_for(rank, {.word = to, .value = request.operand}))
                return write_after_fence(stream, rank, 0, /*from=*/nullptr, /*bytes=*/0,
                                         Return::at_once, *payload);
        return deliveries_.send_after_writes(stream, rank, request) != 0;
    }

    /// Transfers data through this rank's buffer in pieces. For each, calls before(at, bytes),
    /// sends a request, and calls after(at, bytes) when the request is done.
    template <class Before, class After>
    bool through_buffer(Stream& stream, Rank rank, RequestKind kind, const RemoteAddress& target,
                        std::size_t bytes, Before before, After after) {
        const char* const call = kind == RequestKind::get ? "get" : "put";
        if (!deliveries_.until([&] { return !buffer_taken_; }, rank, call)) return false;
        buffer_taken_ = true;
        bool is_done = true;
        for (std::size_t at = 0; is_done && at < bytes; at += OneSidedArea::kBufferBytes) {
            const std::size_t piece = std::min<std::size_t>(bytes - at, OneSidedArea::kBufferBytes);
            before(at, piece);
            is_done = deliveries_.send_and_await(stream, rank,
                                                 {.kind = kind,
                                                  .offset = (target + at).packed(),
                                                  .operand = piece,
                                                  .operand2 = area_.buffer()});
            if (is_done) after(at, piece);
        }
        buffer_taken_ = false;  // also after a failure: a dead peer no longer uses the buffer
        return is_done;
    }

    /// Gets by requests, by which the peer copies. If `into` is in this rank's segment, a single
    /// request puts the data there.
    bool get_by_request(Stream& stream, Rank rank, std::byte* into, const RemoteAddress& from,
                        std::size_t bytes) {
        const auto offset =
            reinterpret_cast<std::uintptr_t>(into) - reinterpret_cast<std::uintptr_t>(own_);
        const std::uint64_t segment = wire_.segment_bytes();
        if (offset < segment && bytes <= segment - offset)
            return deliveries_.send_and_await(stream, rank,
                                              {.kind = RequestKind::get,
                                               .offset = from.packed(),
                                               .operand = bytes,
                                               .operand2 = offset});
        return through_buffer(
            stream, rank, RequestKind::get, from, bytes, [](std::size_t, std::size_t) {},
            [&](std::size_t at, std::size_t piece) {
                base::copy_bytes(into + at, own_ + area_.buffer(), piece);
            });
    }
    /// Puts to a local peer through this rank's buffer, or to a remote peer by requests with data.
    bool put_by_request(Stream& stream, Rank rank, const RemoteAddress& to, const std::byte* from,
                        std::size_t bytes) {
        if (wire_.near(rank) != nullptr)
            return through_buffer(
                stream, rank, RequestKind::pull, to, bytes,
                [&](std::size_t at, std::size_t piece) {
                    base::copy_bytes(own_ + area_.buffer(), from + at, piece);
                },
                [](std::size_t, std::size_t) {});
        for (std::size_t at = 0; at < bytes; at += RemoteRequest::kInlineMax) {
            const std::size_t piece = std::min(bytes - at, RemoteRequest::kInlineMax);
            RemoteRequest request{.kind = RequestKind::flush,
                                  .inline_bytes = static_cast<std::uint8_t>(piece),
                                  .operand2 = (to + at).packed()};
            std::memcpy(request.data, from + at, piece);
            if (deliveries_.send_after_writes(stream, rank, request) == 0) return false;
        }
        return true;
    }

    Wire& wire_;
    OneSidedArea area_;
    std::byte* own_;
    Service<Wire> service_;
    Deliveries<Wire, Drive> deliveries_;
    std::uint32_t blocking_ = 0;  ///< transfers in flight of blocking calls
    bool buffer_taken_ = false;   ///< a get or put uses OneSidedArea::buffer()
    bool wakes_ = true;           ///< false: let_sleep() was called
};

}  // namespace weft::run
