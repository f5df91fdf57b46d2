// SPDX-License-Identifier: BSD-3-Clause
// onesided.hpp - puts, gets, signals and atomic operations on memory of peers, and their order.
//
// Idea     Near peers: loads, stores and atomic operations on the mapped memory. Far peers: writes
//          and reads of the network; whatever the target has to do itself is a request. When all
//          that was written has landed is known by order, by counting, or by delivery, as the wire
//          grants.
// Why      A network write that is complete here need not have landed there, and two of them may
//          land in any order; so fence and quiet cannot rest on completions alone
//          (docs/one-sided.md, section 4).
// Holds    Offsets are of segments, ranks of the job, both checked by the caller. One thread at a
//          time, with the engine's turn. Calls that return false have failed for good: failure() of
//          the driver.
// Next     requests.hpp and service.hpp for both ends of a request.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "run/onesided/requests.hpp"
#include "run/onesided/service.hpp"
#include "run/onesided/signal.hpp"

namespace weft::run {

/// One atomic operation: add, swap or compare_swap.
struct Atomic {
    RequestKind kind = RequestKind::add;
    std::uint8_t width = 8;  ///< 4 or 8
    std::uint64_t offset = 0;
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
};

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
          peers_(static_cast<std::size_t>(area.ranks)) {}

    /// What peers have asked this rank for; see Wire::set_service().
    static void serve(void* self) noexcept { static_cast<OneSided*>(self)->service_.serve(); }
    static void on_immediate(void* self, std::uint64_t payload) noexcept {
        static_cast<OneSided*>(self)->service_.on_immediate(payload);
    }
    [[nodiscard]] Service<Wire>& service() { return service_; }

    bool put(Rank rank, std::uint64_t to, const std::byte* from, std::size_t bytes, Return when) {
        if (std::byte* near = wire_.near(rank)) {
            onesided::copy_near(near + to, from, bytes, true);
            return true;
        }
        if (bytes == 0) return true;
        const bool fenced = peer(rank).fenced;
        if (onesided::is_word(to, bytes) && (fenced || !wire_.whole_words()))
            return put_word(rank, to, from, bytes);
        if (fenced && !flush(rank)) return false;
        return write(rank, to, from, bytes, when);
    }

    bool get(Rank rank, std::byte* into, std::uint64_t from, std::size_t bytes, Return when) {
        if (const std::byte* near = wire_.near(rank)) {
            onesided::copy_near(into, near + from, bytes, false);
            return true;
        }
        if (bytes == 0) return true;
        if (!wire_.reads()) return get_by_request(rank, into, from, bytes);
        std::uint32_t& pending = when == Return::reusable ? blocking_ : outstanding_;
        const base::Read read{rank, into, bytes, from, &pending};
        std::uint64_t resume = 0;
        return until([&] { return wire_.try_read(read, resume) == base::Post::posted; }, rank,
                     "get") &&
               (when == Return::at_once || until([&] { return blocking_ == 0; }, rank, "get"));
    }

    /// The data, then the signal: a rank that sees the signal's word changed sees the data.
    bool put_signal(Rank rank, std::uint64_t to, const std::byte* from, std::size_t bytes,
                    const Signal& signal, Return when) {
        const RequestKind kind = signal.adds ? RequestKind::add : RequestKind::store;
        if (std::byte* near = wire_.near(rank)) {
            onesided::copy_near(near + to, from, bytes, true);
            onesided::change(kind, near + signal.offset, sizeof signal.value, signal.value, 0);
            return true;
        }
        if (wire_.signals() && bytes <= onesided::kImmediateBytesMax) {
            if (const auto payload = onesided::payload_of(signal))
                return put_with_immediate(rank, to, from, bytes, *payload, when);
        }
        RemoteRequest request{.kind = kind, .offset = signal.offset, .operand = signal.value};
        if (bytes <= RemoteRequest::kInlineMax) {
            request.inline_bytes = static_cast<std::uint8_t>(bytes);
            request.other = to;
            if (bytes != 0) std::memcpy(request.data, from, bytes);
        } else {
            if (peer(rank).fenced && !flush(rank)) return false;
            if (!write(rank, to, from, bytes, when)) return false;
        }
        return send_after_writes(rank, request, false) != 0;
    }

    bool change(Rank rank, const Atomic& atomic, std::uint64_t& old) {
        if (std::byte* near = wire_.near(rank)) {
            old = onesided::change(atomic.kind, near + atomic.offset, atomic.width, atomic.operand,
                                   atomic.compare);
            return true;
        }
        const std::uint64_t number = send_after_writes(rank,
                                                       {.kind = atomic.kind,
                                                        .width = atomic.width,
                                                        .offset = atomic.offset,
                                                        .operand = atomic.operand,
                                                        .other = atomic.compare},
                                                       true);
        if (number == 0 || !requests_.await(rank, number)) return false;
        old = requests_.result(rank, number);
        return true;
    }

    /// What was put before lands, at each peer, before what is put after.
    void fence() {
        // Release: orders this rank's stores to near peers.
        std::atomic_thread_fence(std::memory_order_release);
        for (const Rank rank : dirty_) peer(rank).fenced = peer(rank).fenced || unsettled(rank);
    }

    /// Everything that was put or got is done, here and at the peers.
    bool quiet() {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!until([&] { return outstanding_ == 0; }, kNoPeer, "quiet")) return false;
        for (const Rank rank : dirty_) {
            if (!ask_flush(rank)) return false;
        }
        for (const Rank rank : dirty_) {
            if (!await_flush(rank)) return false;
            peer(rank).dirty = false;
        }
        dirty_.clear();
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return true;
    }

    /// Whether quiet() would have to wait for something.
    [[nodiscard]] bool busy() const { return outstanding_ != 0 || !dirty_.empty(); }

  private:
    static constexpr Rank kNoPeer = -1;

    struct Peer {
        std::uint64_t flush = 0;         ///< number of the request that flushes
        std::uint64_t flush_writes = 0;  ///< transfers that it follows
        std::uint64_t landed = 0;        ///< transfers that are known to have landed
        std::uint64_t requested = 0;     ///< transfers before the last request
        std::uint32_t delivering = 0;  ///< writes under way, where delivery is what completes them
        bool fenced = false;           ///< what is put next must land after all before
        bool dirty = false;            ///< in dirty_
        /// Has had signals with its data, which are done later than they land: a flush has to
        /// follow.
        bool signaled = false;
    };

    [[nodiscard]] Peer& peer(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }

    template <class Ended>
    bool until(Ended ended, Rank rank, std::string_view call) {
        return driver_.await(ended, [&] {
            if (rank == kNoPeer)
                return fmt::format("{}: waiting for {} transfers of its own", call, outstanding_);
            return fmt::format("{}: waiting for rank {}", call, rank);
        });
    }

    void mark_dirty(Rank rank) {
        if (peer(rank).dirty) return;
        peer(rank).dirty = true;
        dirty_.push_back(rank);
    }

    [[nodiscard]] bool delivers() const {
        return wire_.completion() == base::RemoteCompletion::delivered;
    }

    bool put_with_immediate(Rank rank, std::uint64_t to, const std::byte* from, std::size_t bytes,
                            std::uint64_t payload, Return when) {
        if (peer(rank).fenced && !flush(rank)) return false;
        peer(rank).signaled = true;
        return write(rank, to, from, bytes, when, payload);
    }

    bool write(Rank rank, std::uint64_t to, const std::byte* from, std::size_t bytes, Return when,
               std::uint64_t payload = 0) {
        // Requests say in 32 bits how many transfers they follow.
        constexpr std::uint64_t kTransfersMax = std::uint64_t{1} << 31;
        if (wire_.written_to(rank) - peer(rank).requested > kTransfersMax && !flush(rank))
            return false;
        mark_dirty(rank);
        std::uint32_t& pending = delivers()                ? peer(rank).delivering
                                 : when == Return::at_once ? outstanding_
                                                           : blocking_;
        const base::Write write{rank, from, bytes, to, &pending, payload};
        std::uint64_t resume = 0;
        if (wire_.try_write(write, resume) == base::Post::again &&
            !until([&] { return wire_.try_write(write, resume) == base::Post::posted; }, rank,
                   "put"))
            return false;
        if (when == Return::at_once || pending == 0) return true;
        return until([&] { return pending == 0; }, rank, "put");
    }

    bool put_word(Rank rank, std::uint64_t to, const std::byte* from, std::size_t bytes) {
        RemoteRequest request{
            .kind = RequestKind::store, .width = static_cast<std::uint8_t>(bytes), .offset = to};
        std::memcpy(&request.operand, from, bytes);
        return send_after_writes(rank, request, false) != 0;
    }

    /// A request that is done after all that was put to that peer before.
    std::uint64_t send_after_writes(Rank rank, RemoteRequest request, bool asks) {
        mark_dirty(rank);
        if (delivers() &&
            !until([&] { return peer(rank).delivering == 0; }, rank, "one-sided call"))
            return 0;
        peer(rank).requested = wire_.written_to(rank);
        if (wire_.completion() == base::RemoteCompletion::counted)
            request.after = wire_.close_batch(rank);
        return requests_.send(rank, request, asks);
    }

    /// Whether something that was put or asked may not be there yet.
    [[nodiscard]] bool unsettled(Rank rank) {
        if (requests_.outstanding(rank)) return true;
        switch (wire_.completion()) {
            case base::RemoteCompletion::ordered:
                return peer(rank).signaled;  // else what is written next lands after it
            case base::RemoteCompletion::delivered:
                return peer(rank).delivering != 0;
            case base::RemoteCompletion::counted:
                break;
        }
        return peer(rank).landed != wire_.written_to(rank);
    }

    bool flush(Rank rank) { return ask_flush(rank) && await_flush(rank); }

    bool ask_flush(Rank rank) {
        Peer& at = peer(rank);
        at.flush = 0;
        at.flush_writes = wire_.written_to(rank);
        const bool settled = delivers() ? at.delivering == 0 : at.landed == at.flush_writes;
        if (!requests_.outstanding(rank) && settled) return true;
        if (delivers() && !requests_.outstanding(rank)) return true;  // await_flush() sees it
        at.flush = send_after_writes(rank, {.kind = RequestKind::flush}, true);
        return at.flush != 0;
    }

    bool await_flush(Rank rank) {
        Peer& at = peer(rank);
        if (at.flush != 0 && !requests_.await(rank, at.flush)) return false;
        if (delivers() && !until([&] { return at.delivering == 0; }, rank, "flush")) return false;
        at.landed = at.flush_writes;
        at.fenced = false;
        at.signaled = false;
        return true;
    }

    /// One piece at a time: into its place if that lies in this rank's segment, else by the buffer.
    bool get_by_request(Rank rank, std::byte* into, std::uint64_t from, std::size_t bytes) {
        const auto offset =
            reinterpret_cast<std::uintptr_t>(into) - reinterpret_cast<std::uintptr_t>(own_);
        const std::uint64_t segment = wire_.segment_bytes();
        const bool direct = offset < segment && bytes <= segment - offset;
        mark_dirty(rank);
        for (std::size_t done = 0; done < bytes;) {
            const std::size_t piece =
                direct ? bytes : std::min<std::size_t>(bytes - done, OneSidedArea::kBufferBytes);
            const std::uint64_t number =
                send_after_writes(rank,
                                  {.kind = RequestKind::get,
                                   .offset = from + done,
                                   .operand = piece,
                                   .other = direct ? offset : area_.buffer()},
                                  true);
            if (number == 0 || !requests_.await(rank, number)) return false;
            if (!direct) std::memcpy(into + done, own_ + area_.buffer(), piece);
            done += piece;
        }
        return true;
    }

    Wire& wire_;
    Drive& driver_;
    OneSidedArea area_;
    std::byte* own_;
    Service<Wire> service_;
    Requests<Wire, Drive> requests_;
    std::vector<Peer> peers_;        ///< by rank of the job; never resized: the wire counts in it
    std::vector<Rank> dirty_;        ///< far peers that something was put to since the last quiet()
    std::uint32_t outstanding_ = 0;  ///< transfers of calls that returned at once
    std::uint32_t blocking_ = 0;     ///< of the call that waits
};

}  // namespace weft::run
