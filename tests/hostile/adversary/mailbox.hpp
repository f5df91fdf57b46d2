// SPDX-License-Identifier: BSD-3-Clause
// mailbox.hpp - a ring of messages in shared memory, from all endpoints to one endpoint.
//
// Idea     The reading endpoint creates the ring in an unnamed file; other processes map it through
//          /proc. A writer reserves the next slot by a ticket and publishes its message by setting
//          the slot's turn.
// Holds    No file remains, however a process ends. All endpoints are on one host.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace adversary {

/// Address of an endpoint.
struct Address {
    std::int32_t process = 0;
    std::int32_t file = 0;    ///< descriptor of the ring in that process
    std::uint64_t nonce = 0;  ///< random; identifies the ring
    bool operator==(const Address&) const = default;
};

enum class MessageKind : std::uint32_t {
    write,
    delivered,  ///< confirms the delivery of a write; `data` is 0 or an error
    read,
    answer,  ///< data for a read
    send,
};

/// Header of a message. Not all kinds use all fields.
struct Header {
    MessageKind kind = MessageKind::write;
    std::uint32_t bytes = 0;  ///< bytes of data after the header
    Address from;
    std::uint64_t operation = 0;  ///< id of the operation at its origin
    std::uint64_t address = 0;    ///< of the piece at the target
    std::uint64_t key = 0;        ///< of the target's region
    std::uint64_t total = 0;      ///< bytes of all pieces
    std::uint64_t offset = 0;     ///< offset of this piece in the data
    std::uint64_t data = 0;       ///< immediate, or an error
    std::uint32_t pieces = 1;     ///< number of pieces of the operation
    std::uint32_t flags = 0;      ///< kWithData, kWantsDelivery
};
inline constexpr std::uint32_t kWithData = 1;       ///< flag: has an immediate
inline constexpr std::uint32_t kWantsDelivery = 2;  ///< flag: the target confirms the delivery

inline constexpr std::size_t kPieceBytes = 3968;  ///< maximum data of a message
inline constexpr std::size_t kSlots = 256;        ///< messages that a ring can have

/// Memory of one message.
struct Slot {
    std::atomic<std::uint64_t> turn;  ///< the ticket that may write; +1 after it has written
    Header header;
    std::byte bytes[kPieceBytes];
};

/// The shared memory.
struct Ring {
    std::uint64_t nonce;
    std::atomic<std::uint32_t> closed;
    std::atomic<std::uint32_t> bell;              ///< incremented with each message
    std::atomic<std::uint32_t> sleepers;          ///< number of threads that wait for `bell`
    alignas(64) std::atomic<std::uint64_t> tail;  ///< next ticket
    alignas(64) std::uint64_t head;               ///< next ticket to read; only the reader uses it
    Slot slots[kSlots];
};

/// The mailbox that this endpoint reads.
class Mailbox {
  public:
    Mailbox();
    ~Mailbox();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    [[nodiscard]] Address address() const;
    /// Returns the next message or nullptr. The message stays valid until free_slot().
    [[nodiscard]] const Slot* next();
    /// Frees the slot of next().
    void free_slot();
    /// Sleeps until `bell` differs from `seen`, at most 2 ms.
    void wait(std::uint32_t seen) const;
    [[nodiscard]] std::uint32_t bell() const { return ring_->bell.load(); }
    /// Wakes the thread in wait().
    void ring();

  private:
    Ring* ring_ = nullptr;
    int file_ = -1;
};

/// The mailbox of another endpoint, to which this one writes.
class Outbox {
  public:
    explicit Outbox(const Address& address);
    ~Outbox();
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;

    /// Sends a message. Returns false if the ring is full.
    [[nodiscard]] bool push(const Header& header, std::span<const std::byte> bytes);
    /// Returns true if the endpoint is closed or never existed.
    [[nodiscard]] bool gone() const { return ring_ == nullptr || ring_->closed.load() != 0; }

  private:
    Ring* ring_ = nullptr;
};

}  // namespace adversary
