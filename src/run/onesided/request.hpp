// SPDX-License-Identifier: BSD-3-Clause
// request.hpp - requests for operations on a peer's memory, their execution, and signals in
// immediates.
//
// Holds    Only atomic instructions of the processor change words, so changes by local peers and
//          changes by requests of remote ranks are atomic among each other.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/copy.hpp"
#include "base/region.hpp"
#include "run/onesided/area.hpp"
#include "run/onesided/remote_address.hpp"

namespace weft::run {

/// When a put or get returns: when the caller's memory may be reused, or at once.
enum class Return : std::uint8_t { reusable, at_once };

/// A started get, which a request waits for. Its stream keeps it until its data has arrived.
struct StartedGet {
    Rank rank = 0;
    std::uint32_t pending = 0;   ///< transfers in flight; the wire counts them down
    std::shared_ptr<void> kept;  ///< memory that the get writes, unless the program owns it
};

/// Direction of a copy between memory of this rank and of a peer.
enum class Direction : std::uint8_t { put, get };

enum class RequestKind : std::uint8_t {
    flush,  ///< no operation; the reply implies that all earlier requests are done
    store,
    add,
    swap,
    compare_swap,  ///< stores `operand` if the word is equal to `operand2`
    get,           ///< puts `operand` bytes to offset `operand2` of the origin's segment
    load,
    band,
    bor,
    bxor,
    pull,      ///< copies `operand` bytes from offset `operand2` of a local origin's segment
    add_real,  ///< adds a float (width 4) or a double (width 8)
};
inline constexpr RequestKind kLastRequestKind = RequestKind::add_real;

/// Atomic operation on a word.
struct WordChange {
    RequestKind kind = RequestKind::add;  ///< not flush, get or pull
    std::uint8_t width = 8;               ///< bytes: 1, 2, 4 or 8
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;  ///< compare_swap: expected value
};

/// Change of an aligned word of 8 bytes after a put.
struct Signal {
    RemoteAddress word = 0;
    std::uint64_t value = 0;
    bool adds = false;  ///< true: adds `value` to the word; false: stores it
};

/// Payload of a request's cell.
struct RemoteRequest {
    static constexpr std::size_t kInlineMax = 16;  ///< bytes

    RequestKind kind = RequestKind::flush;
    std::uint8_t width = 8;          ///< size of the word in bytes
    std::uint8_t inline_bytes = 0;   ///< bytes in `data`; first copied to the address `operand2`
    std::uint8_t needs_reply = 0;    ///< 1: the target must reply
    std::uint32_t batch_writes = 0;  ///< size of the origin's batch to await first; 0: no batch
    std::uint64_t offset = 0;        ///< address at the target; see RemoteAddress::packed()
    std::uint64_t operand = 0;
    std::uint64_t operand2 = 0;  ///< see RequestKind; with data: packed address at the target
    std::byte data[kInlineMax] = {};

    /// Returns the number of bytes that must be sent.
    [[nodiscard]] std::size_t bytes() const noexcept {
        if (inline_bytes != 0) return sizeof(RemoteRequest);
        const bool has_operand2 = kind == RequestKind::compare_swap || kind == RequestKind::get ||
                                  kind == RequestKind::pull;
        return has_operand2 ? offsetof(RemoteRequest, data) : offsetof(RemoteRequest, operand2);
    }
};
static_assert(sizeof(RemoteRequest) == base::kCellPayload);

/// A request whose completion implies that all earlier transfers to the peer are delivered.
struct Flush {
    Rank rank = 0;
    std::uint64_t number = 0;  ///< number of the request; 0: none was needed
    // Values at the start of the flush, of the numbers that it covers.
    std::uint64_t posted = 0;   ///< Stream::Peer::posted
    std::uint64_t writes = 0;   ///< number of writes to the peer
    std::uint64_t signals = 0;  ///< PeerWrites::signals
};

inline constexpr Rank kNoPeer = -1;

/// A put whose delivery can be awaited; see deliveries.hpp.
struct Delivery {
    Rank rank = kNoPeer;              ///< kNoPeer: the data is delivered
    std::uint64_t stream = 0;         ///< Stream::number
    std::uint64_t posted = 0;         ///< Stream::Peer::posted after the put
    std::optional<Flush> flush = {};  ///< started by the first wait
};

/// A put or a get in flight.
struct Transfer {
    std::shared_ptr<StartedGet> get;  ///< null: a put, or a get that was complete at once
    Delivery put;

    [[nodiscard]] bool in_flight() const {
        return put.rank >= 0 || (get != nullptr && get->pending != 0);
    }
};

namespace onesided {

/// Adds two floats or doubles: `operand` to the word. Returns the word's former value.
template <class Word>
Word add_real(const std::atomic_ref<Word>& word, Word operand) noexcept {
    using Real = std::conditional_t<sizeof(Word) == sizeof(float), float, double>;
    Word current = word.load(std::memory_order_relaxed);
    const auto sum = [&] {
        return std::bit_cast<Word>(std::bit_cast<Real>(current) + std::bit_cast<Real>(operand));
    };
    while (!word.compare_exchange_weak(current, sum(), std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
    }
    return current;
}

template <class Word>
std::uint64_t change_as(std::byte* at, const WordChange& change) noexcept {
    const std::atomic_ref<Word> word(*reinterpret_cast<Word*>(at));
    const auto value = static_cast<Word>(change.operand);
    // Release: pairs with the acquire of a wait for the word.
    switch (change.kind) {
        case RequestKind::add:
            return word.fetch_add(value, std::memory_order_acq_rel);
        case RequestKind::swap:
            return word.exchange(value, std::memory_order_acq_rel);
        case RequestKind::compare_swap: {
            auto expected = static_cast<Word>(change.compare);
            word.compare_exchange_strong(expected, value, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
            return expected;
        }
        case RequestKind::store:
            word.store(value, std::memory_order_release);
            break;
        case RequestKind::load:
            return word.load(std::memory_order_acquire);
        case RequestKind::band:
            return word.fetch_and(value, std::memory_order_acq_rel);
        case RequestKind::bor:
            return word.fetch_or(value, std::memory_order_acq_rel);
        case RequestKind::bxor:
            return word.fetch_xor(value, std::memory_order_acq_rel);
        case RequestKind::add_real:
            if constexpr (sizeof(Word) >= sizeof(float)) return add_real(word, value);
            break;
        case RequestKind::flush:
        case RequestKind::get:
        case RequestKind::pull:
            break;
    }
    return 0;
}

/// Changes a word that is aligned to its width. Returns the former value; 0 for a store.
inline std::uint64_t change(std::byte* at, const WordChange& change) noexcept {
    switch (change.width) {
        case 1:
            return change_as<std::uint8_t>(at, change);
        case 2:
            return change_as<std::uint16_t>(at, change);
        case 4:
            return change_as<std::uint32_t>(at, change);
        default:
            return change_as<std::uint64_t>(at, change);
    }
}

/// Stores a former value in the word's width: 4 or 8 bytes.
inline void store_result(void* into, std::uint64_t value, std::size_t width) noexcept {
    std::memcpy(into, &value, width == sizeof value ? sizeof value : sizeof(std::uint32_t));
}

/// Returns true for the sizes of words: 1, 2, 4 and 8 bytes.
[[nodiscard]] constexpr bool is_width(std::size_t bytes) noexcept {
    return bytes <= 8 && bytes != 0 && (bytes & (bytes - 1)) == 0;
}
/// Returns true if the bytes are an aligned word, which one load or store accesses as a whole.
[[nodiscard]] constexpr bool is_word(std::uint64_t address, std::size_t bytes) noexcept {
    return is_width(bytes) && (address & (bytes - 1)) == 0;
}

template <class Word>
void copy_word(std::byte* to, const std::byte* from, Direction direction) noexcept {
    Word value;
    if (direction == Direction::put) {
        std::memcpy(&value, from, sizeof value);
        // Release: pairs with the acquire of a wait for the word. After this wait, the peer may
        // overwrite data that this rank has read before the store.
        std::atomic_ref<Word>(*reinterpret_cast<Word*>(to)).store(value, std::memory_order_release);
    } else {
        auto* shared = reinterpret_cast<Word*>(const_cast<std::byte*>(from));
        value = std::atomic_ref<Word>(*shared).load(std::memory_order_acquire);
        std::memcpy(to, &value, sizeof value);
    }
}

/// Copies between memory of this rank and mapped memory of a peer. One load or store copies an
/// aligned word. A get must read its data before later stores of this rank take effect: such a
/// store may be a signal that lets the peer overwrite the data.
inline void copy_near(std::byte* to, const std::byte* from, std::size_t bytes,
                      Direction direction) noexcept {
    const auto shared = reinterpret_cast<std::uintptr_t>(direction == Direction::put ? to : from);
    if (!is_word(shared, bytes)) {
        if (bytes != 0) base::move_bytes(to, from, bytes);
        // Acquire: see above. Puts need no fence here, because fence() and signals order them.
        if (direction == Direction::get) std::atomic_thread_fence(std::memory_order_acquire);
    } else if (bytes == 8) {
        copy_word<std::uint64_t>(to, from, direction);
    } else if (bytes == 4) {
        copy_word<std::uint32_t>(to, from, direction);
    } else if (bytes == 2) {
        copy_word<std::uint16_t>(to, from, direction);
    } else {
        copy_word<std::uint8_t>(to, from, direction);
    }
}

// --- signals -----------------------------------------------------------------------------------
//
// The payload of an immediate has 43 bits (link/fabric/keys.hpp), enough for most signals. Such a
// signal is sent with its data in one transfer, without a cell or a reply.

/// Largest put, in bytes, whose signal is in an immediate. For larger puts, the time of a separate
/// transfer for the signal is small.
constexpr std::size_t kImmediateBytesMax = std::size_t{512} << 10;

/// Number of bits for the word's number, by format. The value has the rest of kPayloadSharedBits.
constexpr std::array<unsigned, 4> kPayloadWordBits{26, 20, 14, 10};
constexpr unsigned kPayloadSharedBits = 40;  ///< bits of word and value together
constexpr unsigned kPayloadFormatBits = 2;
constexpr unsigned kPayloadBits = kPayloadSharedBits + kPayloadFormatBits + 1;  ///< 1: `adds`

/// Returns a signal as the payload of an immediate, never 0; nothing if the signal does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> payload_of(const Signal& signal,
                                                                const SignalWords& words) noexcept {
    const auto number = words.number_of(signal.word.offset);
    if (signal.word.memory != nullptr || !number) return std::nullopt;
    for (std::uint64_t format = 0; format < kPayloadWordBits.size(); ++format) {
        const unsigned word_bits = kPayloadWordBits[format];
        if (*number >> word_bits != 0) break;  // further formats have fewer bits for it
        if (signal.value >> (kPayloadSharedBits - word_bits) != 0) continue;
        const std::uint64_t kind = std::uint64_t{signal.adds} << kPayloadFormatBits | format;
        const std::uint64_t payload =
            kind << kPayloadSharedBits | signal.value << word_bits | *number;
        return payload == 0 ? std::nullopt : std::optional(payload);
    }
    return std::nullopt;
}

/// Decodes the payload of an immediate.
[[nodiscard]] constexpr Signal signal_of(std::uint64_t payload, const SignalWords& words) noexcept {
    const auto low = [](std::uint64_t from, unsigned bits) {
        return from & ((std::uint64_t{1} << bits) - 1);
    };
    const std::uint64_t kind = payload >> kPayloadSharedBits;
    const unsigned word_bits = kPayloadWordBits[low(kind, kPayloadFormatBits)];
    const std::uint64_t shared = low(payload, kPayloadSharedBits);
    return {.word = words.offset_of(low(shared, word_bits)),
            .value = shared >> word_bits,
            .adds = low(kind >> kPayloadFormatBits, 1) != 0};
}

}  // namespace onesided

}  // namespace weft::run
