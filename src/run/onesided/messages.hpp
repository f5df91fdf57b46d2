// SPDX-License-Identifier: BSD-3-Clause
// messages.hpp - active messages: bytes that are passed to a function at the peer.
//
// Idea     Messages from one rank to another are numbered, and written to a ring at the target.
//          When the target drives its wire, it tests for the next number, runs the handler, and
//          sends a credit for every four messages. A sender without credit queues its messages.
// Why      A send never waits in a handler, so handlers end, credits are sent, and ranks never wait
//          for each other in a cycle.
// Holds    Messages from one rank to another are handled in order, each once. Handlers run one at a
//          time, on the thread that holds the engine's turn. Headers are checked before use. A
//          message without a handler delays all later messages of its sender until the handler is
//          set. Only queued messages allocate memory, which later ones reuse.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "run/onesided/area.hpp"
#include "run/onesided/network.hpp"

namespace weft::run {

template <Network Wire>
class Messages {
  public:
    static constexpr std::size_t kHandlers = 256;  ///< limit for handler numbers

    Messages(Wire& wire, const MessageArea& area, Rank rank)
        : wire_(wire),
          area_(area),
          rank_(rank),
          own_(wire.near(rank)),
          peers_(static_cast<std::size_t>(area.ranks)),
          peer_count_(peers_.size()),
          tests_per_serve_(std::min(kPeersPerServe, peer_count_)) {
        for (Rank from = 0; from < area.ranks; ++from) {
            peer(from).segment = wire.near(from);
            expect(from, 1);
        }
    }

    /// Sets the handler of a number below kHandlers.
    void set_handler(std::uint32_t number, const MessageHandler& handler) {
        handlers_[number] = handler;
    }
    [[nodiscard]] std::size_t bytes_max() const { return area_.bytes_max(); }

    /// Sends or queues a message. Copies `data`; never waits.
    void send(Rank rank, std::uint32_t handler, const void* data, std::size_t bytes) {
        const MessageHead head{handler, static_cast<std::uint32_t>(bytes)};
        MessagePeer& to = peer(rank);
        if (to.queue.empty() && to.segment != nullptr && post_near(rank, to, head, data)) return;
        if (free_.empty())
            free_.emplace_back().bytes = std::make_unique<std::byte[]>(sizeof head + bytes_max());
        QueuedMessage& message = free_.front();
        std::memcpy(message.bytes.get(), &head, sizeof head);
        if (bytes != 0) std::memcpy(message.bytes.get() + sizeof head, data, bytes);
        message.part = {message.bytes.get(), sizeof head + bytes};
        message.number = message.resume = 0;
        to.queue.splice(to.queue.end(), free_, free_.begin());
        static_cast<void>(post_queue(rank));
    }
    /// Sends a message that fits into a cell to a local peer. Returns false if the message is too
    /// long, the peer is remote, its ring is full or other messages are queued.
    bool post_at_once(Rank rank, std::uint32_t handler, const void* data,
                      std::size_t bytes) noexcept {
        MessagePeer& to = peer(rank);
        if (!to.queue.empty() || to.segment == nullptr ||
            bytes > base::kCellPayload - sizeof(MessageHead))
            return false;
        return post_near(rank, to, {handler, static_cast<std::uint32_t>(bytes)}, data);
    }
    /// Drops present and later messages without a handler. Called when no handler can follow.
    void drop_unhandled() noexcept {
        for (MessageHandler& handler : handlers_)
            if (handler.function == nullptr)
                handler.function = [](void*, Rank, const std::byte*, std::size_t) {};
    }
    /// Drops the messages to a rank that has died.
    void forget(Rank rank) noexcept { reading_.splice(reading_.end(), peer(rank).queue); }
    /// Returns the number of messages to a rank that are not posted yet.
    [[nodiscard]] std::size_t queued(Rank rank) { return peer(rank).queue.size(); }
    /// Returns true if no message is queued or still read by the wire.
    [[nodiscard]] bool idle() const {
        const auto has_queued = [](const MessagePeer& to) { return !to.queue.empty(); };
        return reading_.empty() && std::ranges::none_of(peers_, has_queued);
    }
    /// Id of the thread that runs a handler; a default id: no thread. Any thread may read the id.
    [[nodiscard]] const auto& handler_thread() const { return handler_thread_; }

    /// Handles arrived messages of a few peers, and sends them credits and queued messages. Returns
    /// true if it did anything. Does nothing if called in a handler.
    bool serve() noexcept {
        if (serving_) return false;
        bool advanced = false;
        if (!reading_.empty()) [[unlikely]]
            advanced = free_sent();
        for (std::size_t i = tests_per_serve_; i > 0; --i) {
            if (++last_peer_ >= peer_count_) last_peer_ = 0;
            MessagePeer& from = peers_[last_peer_];
            if (is_idle(from)) [[likely]]
                continue;
            advanced = serve_peer(static_cast<Rank>(last_peer_), from) || advanced;
        }
        return advanced;
    }

  private:
    static constexpr std::size_t kPeersPerServe = 8;  ///< keeps serve() short in large jobs
    // Values of the 16-bit hash in flags: the message is in the cell or in the slot; a credit.
    static constexpr std::uint16_t kInCell = 1;
    static constexpr std::uint16_t kInSlot = 2;
    static constexpr std::uint16_t kCredit = 3;

    struct QueuedMessage {
        std::unique_ptr<std::byte[]> bytes;  ///< header and data
        base::PutPart part;
        std::uint64_t number = 0;   ///< number at the peer; 0: no number yet
        std::uint64_t resume = 0;   ///< the wire's state of a partly posted put
        std::uint32_t pending = 0;  ///< transfers that still read `bytes`
    };
    /// A list, because it passes an entry to another list without a copy or an allocation.
    using MessageList = std::list<QueuedMessage>;
    struct MessagePeer {
        MessageList queue;                 ///< messages to the peer that are not posted
        std::uint64_t sent = 0;            ///< number of the last message sent to the peer
        std::uint64_t credits = 0;         ///< number of credits received
        std::uint64_t handled = 0;         ///< number of the peer's last handled message
        const base::Cell* next = nullptr;  ///< cell of the peer's next message
        base::FlagWord awaited = 0;        ///< flag of the next message, with a hash of 0
        std::byte* segment = nullptr;      ///< the peer's segment; nullptr: remote peer
        std::uint64_t credited = 0;        ///< number of credits sent to the peer
        std::uint64_t resume = 0;          ///< the wire's state of a partly posted credit
    };

    [[nodiscard]] MessagePeer& peer(Rank rank) { return peers_[rank]; }

    /// Frees sent messages that the wire no longer reads. Returns true if there were any.
    [[gnu::noinline]] bool free_sent() noexcept {
        const std::size_t before = reading_.size();
        for (auto at = reading_.begin(); at != reading_.end();) {
            const auto message = at++;
            if (message->pending == 0) free_.splice(free_.end(), reading_, message);
        }
        return reading_.size() != before;
    }

    /// Makes `number` the next message to handle of a rank.
    void expect(Rank rank, std::uint64_t number) {
        MessagePeer& from = peer(rank);
        from.next = reinterpret_cast<const base::Cell*>(own_ + area_.cell(rank, number));
        from.awaited = base::flag_word(number, 0);
    }

    /// Returns true if the peer is local and no message from or to it waits: the usual case.
    [[nodiscard]] static bool is_idle(const MessagePeer& from) noexcept {
        if (from.segment == nullptr || !from.queue.empty()) return false;
        return !has_arrived(from, from.next->flag.load(std::memory_order_relaxed));
    }
    /// Returns true for the flags of the peer's next message: in a cell or in a slot.
    [[nodiscard]] static bool has_arrived(const MessagePeer& from, base::FlagWord flag) noexcept {
        static_assert(kInCell == 1 && kInSlot == 2);  // so one comparison suffices
        return flag - from.awaited - kInCell <= kInSlot - kInCell;
    }

    [[gnu::noinline]] bool serve_peer(Rank rank, MessagePeer& from) noexcept {
        serving_ = true;
        handler_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        bool advanced = false;
        for (std::uint64_t i = 0; i < MessageArea::kSlots && has_arrived(rank, from); ++i) {
            if (!handle_next(rank, from)) break;
            advanced = true;
        }
        if (from.handled / MessageArea::kMessagesPerCredit > from.credited)
            advanced = post_credits(rank) || advanced;
        if (!from.queue.empty()) advanced = post_queue(rank) || advanced;
        handler_thread_.store(std::thread::id(), std::memory_order_relaxed);
        serving_ = false;
        return advanced;
    }

    [[nodiscard]] bool has_arrived(Rank rank, const MessagePeer& from) noexcept {
        if (from.segment == nullptr) wire_.settle(area_.cell(rank, from.handled + 1));
        // Acquire: pairs with the release of the flag; makes the message visible.
        const base::FlagWord flag = from.next->flag.load(std::memory_order_acquire);
        return has_arrived(from, flag);
    }

    /// Handles a message that has arrived. Returns false if it is invalid or has no handler.
    bool handle_next(Rank rank, MessagePeer& from) noexcept {
        const bool in_cell =
            from.next->flag.load(std::memory_order_relaxed) == (from.awaited | kInCell);
        const std::byte* const at =
            in_cell ? from.next->payload : own_ + area_.slot(rank, from.handled + 1);
        MessageHead head;
        std::memcpy(&head, at, sizeof head);
        const std::size_t limit = in_cell ? base::kCellPayload - sizeof head : bytes_max();
        if (head.bytes > limit || head.handler >= kHandlers) [[unlikely]] {
            wire_.distrust(rank, head.bytes > limit ? "a message that is too long"
                                                    : "a message for an invalid handler number");
            return false;
        }
        const MessageHandler handler = handlers_[head.handler];
        if (handler.function == nullptr) return false;
        handler.function(handler.argument, rank, at + sizeof head, head.bytes);
        ++from.handled;
        expect(rank, from.handled + 1);
        return true;
    }

    bool post_credits(Rank rank) noexcept {
        MessagePeer& to = peer(rank);
        const std::uint64_t before = to.credited;
        while (to.handled / MessageArea::kMessagesPerCredit > to.credited) {
            const std::uint64_t next = to.credited + 1;
            const base::Put put{.peer = rank,
                                .cell = area_.credit(rank_, next),
                                .flag = base::flag_word(next, kCredit)};
            if (wire_.try_put(put, to.resume) == base::Post::again) break;
            to.credited = next;
            to.resume = 0;
        }
        return to.credited != before;
    }

    /// Reads credits if necessary. Returns true if a slot of the peer's ring is free.
    [[nodiscard]] bool has_room(Rank rank, MessagePeer& to) noexcept {
        while (to.sent - to.credits * MessageArea::kMessagesPerCredit >= MessageArea::kSlots) {
            const std::uint64_t next = to.credits + 1;
            const std::uint64_t at = area_.credit(rank, next);
            if (to.segment == nullptr) wire_.settle(at);
            const auto* const cell = reinterpret_cast<const base::Cell*>(own_ + at);
            // Acquire: pairs with the release of the flag; the slots may then be overwritten.
            if (cell->flag.load(std::memory_order_acquire) != base::flag_word(next, kCredit))
                return false;
            to.credits = next;
        }
        return true;
    }

    /// Stores a message to a local peer. Returns false if the peer's ring is full.
    [[gnu::always_inline]] bool post_near(Rank rank, MessagePeer& to, const MessageHead& head,
                                          const void* data) noexcept {
        if (!has_room(rank, to)) return false;
        const std::uint64_t number = ++to.sent;
        const bool fits = sizeof head + head.bytes <= base::kCellPayload;
        auto* const cell = reinterpret_cast<base::Cell*>(to.segment + area_.cell(rank_, number));
        std::byte* const at = fits ? cell->payload : to.segment + area_.slot(rank_, number);
        std::memcpy(at, &head, sizeof head);
        if (head.bytes == sizeof(std::uint64_t))  // a fixed size, so memcpy() is inlined
            std::memcpy(at + sizeof head, data, sizeof(std::uint64_t));
        else if (head.bytes != 0)
            std::memcpy(at + sizeof head, data, head.bytes);
        // Release: pairs with the acquire in the peer's has_arrived().
        cell->flag.store(base::flag_word(number, fits ? kInCell : kInSlot),
                         std::memory_order_release);
        return true;
    }

    bool post_queue(Rank rank) noexcept {
        MessagePeer& to = peer(rank);
        bool posted = false;
        while (!to.queue.empty()) {
            QueuedMessage& message = to.queue.front();
            if (message.number == 0) {
                if (!has_room(rank, to)) break;
                message.number = ++to.sent;
            }
            const bool fits = message.part.bytes <= base::kCellPayload;
            const base::Put put{
                .peer = rank,
                .parts = {&message.part, 1},
                .bytes = message.part.bytes,
                .target = fits ? base::Put::kInCell : area_.slot(rank_, message.number),
                .cell = area_.cell(rank_, message.number),
                .flag = base::flag_word(message.number, fits ? kInCell : kInSlot),
                .pending = &message.pending};
            if (wire_.try_put(put, message.resume) == base::Post::again) break;
            MessageList& next = message.pending == 0 ? free_ : reading_;
            next.splice(next.end(), to.queue, to.queue.begin());
            posted = true;
        }
        return posted;
    }

    Wire& wire_;
    MessageArea area_;
    Rank rank_;
    std::byte* own_;
    std::array<MessageHandler, kHandlers> handlers_{};
    std::vector<MessagePeer> peers_;  ///< by rank of the job
    MessageList free_;                ///< unused entries
    MessageList reading_;             ///< posted messages that the wire still reads
    std::size_t last_peer_ = 0;       ///< index of the peer that was tested last
    bool serving_ = false;            ///< a handler may be running
    const std::size_t peer_count_;
    const std::size_t tests_per_serve_;              ///< number of peers that serve() tests
    std::atomic<std::thread::id> handler_thread_{};  ///< see handler_thread()
};

}  // namespace weft::run
