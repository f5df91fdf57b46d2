// SPDX-License-Identifier: BSD-3-Clause
// mailbox.hpp - how endpoints reach each other: a ring of messages in memory that both map.
//
// Idea     The owner of a mailbox makes it as a nameless file; others map it through /proc. Many
//          write, one reads: a writer takes the next slot by its ticket and hands it over by
//          setting the slot's turn.
// Holds    Nothing is left behind, however a process ends. Endpoints are of one host.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace adversary {

/// What an endpoint is called.
struct Address {
    std::int32_t process = 0;
    std::int32_t file = 0;
    std::uint64_t nonce = 0;
    bool operator==(const Address&) const = default;
};

enum class MessageKind : std::uint32_t {
    write,
    landed,  ///< a write has; `data` is 0 or an error
    read,
    answer,  ///< to a read
    send,
};

struct Header {
    MessageKind kind = MessageKind::write;
    std::uint32_t bytes = 0;  ///< that follow
    Address from;
    std::uint64_t operation = 0;  ///< of the endpoint that began it
    std::uint64_t address = 0;
    std::uint64_t key = 0;
    std::uint64_t total = 0;   ///< bytes of all pieces
    std::uint64_t offset = 0;  ///< of this one
    std::uint64_t data = 0;
    std::uint32_t pieces = 1;  ///< of the operation
    std::uint32_t flags = 0;
};
inline constexpr std::uint32_t kWithData = 1;
inline constexpr std::uint32_t kWantsLanded = 2;

inline constexpr std::size_t kPieceBytes = 3968;
inline constexpr std::size_t kSlots = 256;

struct Slot {
    std::atomic<std::uint64_t> turn;
    Header header;
    std::byte bytes[kPieceBytes];
};

struct Ring {
    std::uint64_t nonce;
    std::atomic<std::uint32_t> closed;
    std::atomic<std::uint32_t> bell;      ///< rung at each message
    std::atomic<std::uint32_t> sleepers;  ///< that listen for it
    alignas(64) std::atomic<std::uint64_t> tail;
    alignas(64) std::uint64_t head;  ///< of the owner alone
    Slot slots[kSlots];
};

/// The own mailbox.
class Mailbox {
  public:
    Mailbox();
    ~Mailbox();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    [[nodiscard]] Address address() const;
    /// The next message, or nullptr; until done().
    [[nodiscard]] const Slot* next();
    void done();
    /// Sleeps until a message may be there, or a moment.
    void wait(std::uint32_t seen) const;
    [[nodiscard]] std::uint32_t bell() const { return ring_->bell.load(); }
    void ring();

  private:
    Ring* ring_ = nullptr;
    int file_ = -1;
};

/// Another endpoint's mailbox.
class Outbox {
  public:
    explicit Outbox(const Address& address);
    ~Outbox();
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;

    /// False: there is no room now.
    [[nodiscard]] bool push(const Header& header, std::span<const std::byte> bytes);
    /// The endpoint is closed, or was never there.
    [[nodiscard]] bool gone() const { return ring_ == nullptr || ring_->closed.load() != 0; }

  private:
    Ring* ring_ = nullptr;
};

}  // namespace adversary
