// SPDX-License-Identifier: BSD-3-Clause
// requests.hpp - origin's side of requests: numbers and posts requests, and reads replies.
//
// Idea     A reply implies that all earlier requests to the peer are done. Only requests with a
//          result, flushes, and two requests in each round of the ring need a reply.
// Holds    Only the first request to a peer allocates memory. During a wait, other threads may have
//          the turn and send requests, so a request gets its number after the wait for a slot.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "run/onesided/area.hpp"
#include "run/onesided/network.hpp"
#include "run/onesided/request.hpp"

namespace weft::run {

template <Network Wire, class Drive>
class Requests {
  public:
    Requests(Wire& wire, Drive& driver, const OneSidedArea& area, Rank rank)
        : wire_(wire),
          driver_(driver),
          area_(area),
          rank_(rank),
          own_(wire.near(rank)),
          rings_(static_cast<std::size_t>(area.ranks)) {
        for (RequestRing& ring : rings_) ring.sent = ring.done = area.before_first;
    }

    /// Posts a request and returns its number; 0: failure, see driver.failure(). Calls
    /// stamp(request) when the request has its number, for fields that depend on the writes posted
    /// until then. If `into` is not null, the reply's value is stored there, in the word's width.
    template <class Stamp>
    std::uint64_t send(Rank rank, RemoteRequest request, void* into, Stamp stamp) {
        RequestRing& ring = rings_[rank];
        if (ring.slots == nullptr) ring.slots = std::make_unique<Slot[]>(area_.slots());
        if (!until([&] { return has_room(rank); }, rank, "a free slot")) return 0;
        const std::uint64_t number = ++ring.sent;
        stamp(request);
        if (into != nullptr || number % (area_.slots() / 2) == 0) request.needs_reply = 1;
        if (request.needs_reply != 0)
            ring.slots[ring.replies_due++ % area_.slots()].reply_number = number;
        Slot& slot = ring.slots[number % area_.slots()];
        slot.request = request;
        slot.into = into;
        slot.part = {reinterpret_cast<const std::byte*>(&slot.request), slot.request.bytes()};
        const base::Put put{.peer = rank,
                            .parts = {&slot.part, 1},
                            .bytes = slot.part.bytes,
                            .cell = area_.request(rank_, number),
                            .flag = base::flag_word(number, 0),
                            .pending = &slot.pending};
        std::uint64_t resume = 0;
        const auto post = [&] { return wire_.try_put(put, resume) == base::Post::posted; };
        return until(post, rank, "the network to accept a request") ? number : 0;
    }

    /// Returns true if a slot is free, so that send() would not wait for one.
    [[nodiscard]] bool has_room(Rank rank) noexcept {
        RequestRing& ring = rings_[rank];
        if (ring.slots == nullptr) return true;
        const std::uint64_t number = ring.sent + 1;
        if (number - ring.done > area_.slots()) read_replies(rank, ring);
        return number - ring.done <= area_.slots() &&
               ring.slots[number % area_.slots()].pending == 0;
    }
    /// Returns true if a request that needs a reply, and all earlier requests, are done.
    [[nodiscard]] bool is_done(Rank rank, std::uint64_t number) noexcept {
        return read_replies(rank, rings_[rank]) >= number;
    }
    /// Waits until is_done() returns true. Returns false on failure.
    bool await(Rank rank, std::uint64_t number) {
        return until([&] { return is_done(rank, number); }, rank, "a reply");
    }
    /// Discards the result of a request that may be incomplete. `into`: as passed to send().
    void discard_result(Rank rank, const void* into) {
        RequestRing& ring = rings_[rank];
        for (std::uint64_t i = 0; ring.slots != nullptr && i < area_.slots(); ++i)
            if (ring.slots[i].into == into) ring.slots[i].into = nullptr;
    }
    /// Returns true if a request to the peer may be incomplete.
    [[nodiscard]] bool has_outstanding(Rank rank) {
        RequestRing& ring = rings_[rank];
        return ring.sent != ring.done && read_replies(rank, ring) != ring.sent;
    }

  private:
    struct Slot {
        RemoteRequest request;
        base::PutPart part;
        /// Unrelated to `request`, in a ring of its own: number of a request that needs a reply.
        std::uint64_t reply_number = 0;
        void* into = nullptr;       ///< memory for the result, or nullptr
        std::uint32_t pending = 0;  ///< transfers that still read `request`
    };
    struct RequestRing {
        std::unique_ptr<Slot[]> slots;  ///< nullptr before the first request
        std::uint64_t sent = 0;         ///< number of the last request
        std::uint64_t done = 0;         ///< number of the last request known to be done
        std::uint64_t replies_due = 0;  ///< number of sent requests that need a reply
        std::uint64_t replies = 0;      ///< number of replies read
    };

    /// Reads new replies. Returns the number of the last request known to be done.
    std::uint64_t read_replies(Rank rank, RequestRing& ring) noexcept {
        while (ring.replies != ring.replies_due) {
            const std::uint64_t number = ring.slots[ring.replies % area_.slots()].reply_number;
            const std::uint64_t at = area_.reply(rank, number);
            wire_.settle(at);
            const auto* cell = reinterpret_cast<const base::Cell*>(own_ + at);
            // Acquire: pairs with the release of the flag; makes the reply visible.
            if (cell->flag.load(std::memory_order_acquire) != base::flag_word(number, 0)) break;
            Slot& slot = ring.slots[number % area_.slots()];
            if (slot.into != nullptr) std::memcpy(slot.into, cell->payload, slot.request.width);
            slot.into = nullptr;
            ring.done = number;
            ++ring.replies;
        }
        return ring.done;
    }

    template <class Ended>
    bool until(Ended ended, Rank rank, std::string_view what) {
        const auto waits = [&] {
            return fmt::format(
                "one-sided call to rank {}: waiting for {} ({} of {} requests are done)", rank,
                what, rings_[rank].done, rings_[rank].sent);
        };
        return driver_.await(ended, waits, rank);
    }

    Wire& wire_;
    Drive& driver_;
    OneSidedArea area_;
    Rank rank_;
    std::byte* own_;
    std::vector<RequestRing> rings_;  ///< by rank of the job
};

}  // namespace weft::run
