// SPDX-License-Identifier: BSD-3-Clause
// service.hpp - target's side of requests: reads them from cells, executes them, and replies.
//
// Idea     The wire calls serve() whenever it is driven. serve() tests the next request cell of a
//          few ranks, round robin, so it stays short in a large job.
// Holds    A request is checked before it is executed. Requests of an origin are executed in order,
//          each after the delivery of the origin's earlier writes. serve() neither waits nor
//          allocates. A request that needs a reply waits until a Reply is free.
// Next     docs/one-sided.md, section 4.
#pragma once

#include <algorithm>
#include <cstring>
#include <list>
#include <vector>

#include "base/copy.hpp"
#include "run/onesided/area.hpp"
#include "run/onesided/network.hpp"
#include "run/onesided/request.hpp"

namespace weft::run {

template <Network Wire>
class Service {
  public:
    Service(Wire& wire, const OneSidedArea& area, Rank rank)
        : wire_(wire), area_(area), rank_(rank), own_(wire.near(rank)) {
        for (Rank peer = 0; peer < area.ranks; ++peer) {
            if (wire.near(peer) == nullptr) origins_.push_back({peer, area.before_first + 1});
        }
        if (!origins_.empty()) free_.resize(kReplies);
    }
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    [[nodiscard]] bool has_origins() const { return !origins_.empty(); }
    /// Starts to serve a local rank, which sends requests only for registered memory.
    void serve_near(Rank rank) {
        if (rank == rank_ || std::ranges::find(origins_, rank, &Origin::rank) != origins_.end())
            return;
        if (origins_.empty()) free_.resize(kReplies);
        origins_.push_back({rank, area_.before_first + 1});
    }
    /// Returns the table of this rank's registered memory, which requests may access.
    [[nodiscard]] RegisteredRanges& registered() { return registered_; }

    /// Returns true if no rank can send requests, and no reply is in flight.
    [[nodiscard]] bool at_rest() const { return origins_.empty() && open_.empty(); }
    /// Executes arrived requests of a few ranks. Returns true if there were any.
    [[gnu::noinline]] bool serve() noexcept {
        bool served = false;
        if (!open_.empty()) post_replies();
        for (std::size_t i = std::min(kOriginsPerServe, origins_.size()); i > 0; --i) {
            if (++last_origin_ >= origins_.size()) last_origin_ = 0;
            while (serve_next(origins_[last_origin_])) served = true;
        }
        return served;
    }

    /// Applies the signal in an immediate's payload. The data of its write has been delivered.
    void on_immediate(std::uint64_t payload) noexcept {
        const Signal signal = onesided::signal_of(payload, area_.words);
        const std::uint64_t offset = signal.word.offset;
        if (!in_segment(offset, sizeof signal.value) || offset % sizeof signal.value != 0)
            return wire_.distrust(-1, "a signal for a word outside the segment");
        onesided::change(
            own_ + offset,
            {.kind = signal.adds ? RequestKind::add : RequestKind::store, .operand = signal.value});
    }

    /// Returns the fault of an invalid request, or nullptr. The origin may be malicious.
    [[nodiscard]] const char* fault_of(const RemoteRequest& request) const noexcept {
        const bool copies = request.kind == RequestKind::get || request.kind == RequestKind::pull;
        if (request.kind > kLastRequestKind) return "a request of an unknown kind";
        if (request.inline_bytes > RemoteRequest::kInlineMax)
            return "a request with too many bytes";
        if (request.batch_writes != 0 &&
            wire_.remote().completion != base::RemoteCompletion::counted)
            return "a request that must follow counted writes, on a network without counts";
        if (request.inline_bytes != 0 && find(request.operand2, request.inline_bytes) == nullptr)
            return "bytes for memory outside the segment and registered memory";
        if (copies && find(request.offset, request.operand) == nullptr)
            return "a request for memory outside the segment and registered memory";
        if (copies && !in_segment(request.operand2, request.operand))
            return "a request for memory outside its own segment";
        if (copies || request.kind == RequestKind::flush) return nullptr;
        const bool is_real = request.kind == RequestKind::add_real;
        if (!onesided::is_width(request.width) || (is_real && request.width < sizeof(float)))
            return "a request for a word of an invalid size";
        const std::byte* const word = find(request.offset, request.width);
        if (word == nullptr) return "a word outside the segment and registered memory";
        if (!onesided::is_word(reinterpret_cast<std::uintptr_t>(word), request.width))
            return "a request for a word that is not aligned";
        return nullptr;
    }

  private:
    static constexpr std::size_t kOriginsPerServe = 8;
    static constexpr std::size_t kReplies = 256;  ///< limit for replies in flight

    struct Origin {
        Rank rank = 0;
        std::uint64_t next = 0;  ///< number of the next request
    };
    struct Reply {
        std::uint64_t value = 0;  ///< former value of the word
        base::Put put;
        base::PutPart part;
        std::uint64_t resume = 0;   ///< the wire's state of a partly posted put
        std::uint32_t pending = 0;  ///< transfers that still read `value` or the data of a get
        bool posted = false;
    };

    [[nodiscard]] bool in_segment(std::uint64_t offset, std::uint64_t bytes) const noexcept {
        return offset <= wire_.segment_bytes() && bytes <= wire_.segment_bytes() - offset;
    }

    /// Returns the memory of a packed address, or nullptr if origins may not access it.
    [[nodiscard]] std::byte* find(std::uint64_t packed, std::uint64_t bytes) const noexcept {
        if (packed >> RemoteAddress::kOffsetBits != 0) return registered_.find(packed, bytes);
        return in_segment(packed, bytes) ? own_ + packed : nullptr;
    }

    /// Executes the origin's next request. Returns false if this is not possible yet.
    bool serve_next(Origin& origin) noexcept {
        const std::uint64_t at = area_.request(origin.rank, origin.next);
        wire_.settle(at);
        const auto* cell = reinterpret_cast<const base::Cell*>(own_ + at);
        // Acquire: pairs with the release of the flag; makes the request visible.
        if (cell->flag.load(std::memory_order_acquire) != base::flag_word(origin.next, 0))
            return false;
        RemoteRequest request;
        std::memcpy(&request, cell->payload, sizeof request);
        if (const char* const fault = fault_of(request)) [[unlikely]] {
            wire_.distrust(origin.rank, fault);
            return false;
        }
        if (request.kind == RequestKind::pull && wire_.near(origin.rank) == nullptr) {
            wire_.distrust(origin.rank, "a request that only local ranks may send");
            return false;
        }
        if (request.needs_reply != 0 && free_.empty()) return false;
        const std::uint32_t writes = request.batch_writes;
        if (writes != 0 && !wire_.counts().take_batch(origin.rank, writes)) return false;
        execute(origin, request);
        ++origin.next;
        return true;
    }

    void execute(const Origin& origin, const RemoteRequest& request) noexcept {
        std::uint64_t old = 0;
        if (request.inline_bytes != 0) {
            onesided::copy_near(find(request.operand2, request.inline_bytes), request.data,
                                request.inline_bytes, Direction::put);
        }
        if (request.kind == RequestKind::pull) {
            base::copy_bytes(find(request.offset, request.operand),
                             wire_.near(origin.rank) + request.operand2, request.operand);
        } else if (request.kind != RequestKind::get && request.kind != RequestKind::flush) {
            old =
                onesided::change(find(request.offset, request.width),
                                 {request.kind, request.width, request.operand, request.operand2});
        }
        if (request.needs_reply != 0) reply(origin, request, old);
    }

    void reply(const Origin& origin, const RemoteRequest& request, std::uint64_t old) noexcept {
        Reply& reply = free_.front();
        reply.value = old;
        reply.part = {reinterpret_cast<const std::byte*>(&reply.value), sizeof reply.value};
        reply.put = {.peer = origin.rank,
                     .cell = area_.reply(rank_, origin.next),
                     .flag = base::flag_word(origin.next, 0),
                     .pending = &reply.pending};
        if (request.kind == RequestKind::get) {
            reply.part = {find(request.offset, request.operand), request.operand};
            reply.put.target = request.operand2;
        }
        reply.put.parts = {&reply.part, 1};
        reply.put.bytes = reply.part.bytes;
        reply.resume = 0;
        reply.posted = wire_.try_put(reply.put, reply.resume) == base::Post::posted;
        if (!reply.posted || reply.pending != 0) open_.splice(open_.end(), free_, free_.begin());
    }

    void post_replies() noexcept {
        for (auto at = open_.begin(); at != open_.end();) {
            const auto reply = at++;
            if (!reply->posted)
                reply->posted = wire_.try_put(reply->put, reply->resume) == base::Post::posted;
            if (reply->posted && reply->pending == 0) free_.splice(free_.begin(), open_, reply);
        }
    }

    Wire& wire_;
    OneSidedArea area_;
    Rank rank_;
    std::byte* own_;
    RegisteredRanges registered_;
    std::vector<Origin> origins_;  ///< remote ranks, and local ranks of serve_near()
    std::size_t last_origin_ = 0;  ///< index of the origin that was tested last
    std::list<Reply> free_;        ///< unused replies
    std::list<Reply> open_;        ///< replies that are not posted or that the wire still reads
};

}  // namespace weft::run
