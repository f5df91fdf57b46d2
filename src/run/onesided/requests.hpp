// SPDX-License-Identifier: BSD-3-Clause
// requests.hpp - the origin's side of requests: numbers them, posts them, and takes the replies.
//
// Idea     A reply to one request implies that all earlier ones are done. So only some requests ask
//          for a reply: those with a result, flushes, and every few requests to free slots.
// Holds    The first request to a peer allocates memory; later ones do not. Each wait may give the
//          turn to other threads, so a request is numbered only after the wait for room.
// Next     service.hpp for the target's side; onesided.hpp for the caller.
#pragma once

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
          peers_(static_cast<std::size_t>(area.ranks)) {
        for (RequestRing& peer : peers_) peer.sent = peer.done = area.before_first;
    }

    /// Posts a request and returns its number. Returns 0 on failure; driver.failure() has the
    /// reason. Calls stamp() when the request has its place in the order. `into` receives the
    /// result, with the width of the word, when the reply is taken; the request must ask for
    /// a reply then.
    template <class Stamp>
    std::uint64_t send(Rank rank, RemoteRequest request, bool asks, void* into, Stamp stamp) {
        RequestRing& peer = ring(rank);
        if (peer.slots == nullptr) peer.slots = std::make_unique<Slot[]>(area_.slots());
        if (!driver_.await([&] { return has_room(rank); },
                           [&] { return waits(rank, peer, "room for a request"); }))
            return 0;
        const std::uint64_t number = ++peer.sent;
        stamp(request);
        request.asks = asks || number % (area_.slots() / 2) == 0 ? 1 : 0;
        if (request.asks != 0) peer.slots[peer.asked++ % area_.slots()].asked_number = number;
        Slot& slot = peer.slots[number % area_.slots()];
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
        if (!driver_.await([&] { return wire_.try_put(put, resume) == base::Post::posted; },
                           [&] { return waits(rank, peer, "the network to take a request"); }))
            return 0;
        return number;
    }

    /// Returns true if send() would not wait for the peer.
    [[nodiscard]] bool has_room(Rank rank) noexcept {
        RequestRing& peer = ring(rank);
        if (peer.slots == nullptr) return true;
        const std::uint64_t number = peer.sent + 1;
        if (number - peer.done > area_.slots()) take_replies(rank, peer);
        return number - peer.done <= area_.slots() &&
               peer.slots[number % area_.slots()].pending == 0;
    }
    /// Returns true if a request that asked for a reply, and all earlier ones, are done.
    [[nodiscard]] bool is_done(Rank rank, std::uint64_t number) noexcept {
        return take_replies(rank, ring(rank)) >= number;
    }
    /// Waits until a request that asked for a reply, and all earlier ones, are done.
    bool await(Rank rank, std::uint64_t number) {
        RequestRing& peer = ring(rank);
        return driver_.await([&] { return take_replies(rank, peer) >= number; },
                             [&] { return waits(rank, peer, "a reply"); });
    }
    /// Discards the result of a request.
    void forget(Rank rank, const void* into) {
        RequestRing& peer = ring(rank);
        for (std::uint64_t i = 0; peer.slots != nullptr && i < area_.slots(); ++i)
            if (peer.slots[i].into == into) peer.slots[i].into = nullptr;
    }
    /// Returns true if some request to the peer may not be done.
    [[nodiscard]] bool outstanding(Rank rank) {
        RequestRing& peer = ring(rank);
        return peer.sent != peer.done && take_replies(rank, peer) != peer.sent;
    }

  private:
    struct Slot {
        RemoteRequest request;
        base::PutPart part;
        /// Entry of a separate queue: numbers of requests that asked for a reply.
        std::uint64_t asked_number = 0;
        void* into = nullptr;  ///< receives the result, or nullptr
        std::uint32_t pending = 0;
    };
    struct RequestRing {
        std::unique_ptr<Slot[]> slots;
        std::uint64_t sent = 0;      ///< number of the last request
        std::uint64_t done = 0;      ///< number of the last request known to be done
        std::uint64_t asked = 0;     ///< requests that asked for a reply
        std::uint64_t answered = 0;  ///< replies taken
    };

    [[nodiscard]] RequestRing& ring(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }

    std::uint64_t take_replies(Rank rank, RequestRing& peer) noexcept {
        while (peer.answered != peer.asked) {
            const std::uint64_t number = peer.slots[peer.answered % area_.slots()].asked_number;
            const std::uint64_t at = area_.reply(rank, number);
            wire_.settle(at);
            const auto* cell = reinterpret_cast<const base::Cell*>(own_ + at);
            // Acquire: pairs with the release of the flag; makes the reply visible.
            if (cell->flag.load(std::memory_order_acquire) != base::flag_word(number, 0)) break;
            Slot& slot = peer.slots[number % area_.slots()];
            if (slot.into != nullptr) std::memcpy(slot.into, cell->payload, slot.request.width);
            slot.into = nullptr;
            peer.done = number;
            ++peer.answered;
        }
        return peer.done;
    }

    [[nodiscard]] static std::string waits(Rank rank, const RequestRing& peer,
                                           std::string_view what) {
        return fmt::format(
            "one-sided call: waiting for {} from rank {} (asked for {} requests, {} are "
            "done)",
            what, rank, peer.sent, peer.done);
    }

    Wire& wire_;
    Drive& driver_;
    OneSidedArea area_;
    Rank rank_;
    std::byte* own_;
    std::vector<RequestRing> peers_;  ///< by rank of the job
};

}  // namespace weft::run
