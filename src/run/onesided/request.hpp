// SPDX-License-Identifier: BSD-3-Clause
// request.hpp - requests for operations on a peer's memory, the operations, and signals in
// immediates.
//
// Holds    Only atomic operations of the processor change words. So direct changes by local peers
//          and requests of remote ranks are atomic with each other.
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
#include "run/onesided/blocks.hpp"
#include "run/onesided/remote_address.hpp"

namespace weft::run {

/// Return of a put or get: when the caller's memory may be reused, or immediately.
enum class Return : std::uint8_t { reusable, at_once };

/// A started get, which a request waits for. Its stream keeps it until its data has arrived.
struct StartedGet {
    std::uint32_t pending = 0;   ///< transfers in flight; the wire counts them down
    std::shared_ptr<void> kept;  ///< memory that the get writes, unless the program owns it
};

enum class RequestKind : std::uint8_t {
    flush,  ///< no operation; the reply implies that all earlier requests are done
    store,
    add,
    swap,
    compare_swap,
    get,  ///< the reply has `operand` bytes from `offset`, at `other` in the origin's segment
    load,
    band,
    bor,
    bxor,
    pull,      ///< copies `operand` bytes from `other` in a local origin's segment to `offset`
    add_real,  ///< adds a float or a double: width 4 or 8
};
inline constexpr RequestKind kLastRequestKind = RequestKind::add_real;

/// Atomic operation on a word.
struct Atomic {
    RequestKind kind = RequestKind::add;  ///< a kind that changes or loads a word
    std::uint8_t width = 8;               ///< bytes: 4 or 8
    RemoteAddress place = 0;
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
};

/// Change of an aligned word of 8 bytes after a put.
struct Signal {
    RemoteAddress place = 0;
    std::uint64_t value = 0;
    bool adds = false;  ///< true: adds `value` to the word; false: stores it
};

/// Request, as stored in a cell.
struct RemoteRequest {
    static constexpr std::size_t kInlineMax = 16;

    RequestKind kind = RequestKind::flush;
    std::uint8_t width = 8;         ///< size of the word in bytes
    std::uint8_t inline_bytes = 0;  ///< size of `data`, which is first copied to `other`
    std::uint8_t asks = 0;          ///< 1: the target must reply
    std::uint32_t after = 0;   ///< transfers of the origin's oldest batch, to be delivered before
    std::uint64_t offset = 0;  ///< address of the operation; see RemoteAddress::packed()
    std::uint64_t operand = 0;
    std::uint64_t other = 0;  ///< value to compare with, or an offset
    std::byte data[kInlineMax] = {};

    /// Returns the number of bytes that must be sent.
    [[nodiscard]] std::size_t bytes() const noexcept {
        if (inline_bytes != 0) return sizeof(RemoteRequest);
        const bool takes_other = kind == RequestKind::compare_swap || kind == RequestKind::get ||
                                 kind == RequestKind::pull;
        return takes_other ? offsetof(RemoteRequest, data) : offsetof(RemoteRequest, other);
    }
};
static_assert(sizeof(RemoteRequest) == base::kCellPayload);

/// A request whose completion implies that all earlier transfers to the peer are delivered.
struct Flush {
    Rank rank = 0;
    std::uint64_t number = 0;   ///< number of the request; 0: none was needed
    std::uint64_t posted = 0;   ///< covered transfers: value of Stream::Peer::posted
    std::uint64_t writes = 0;   ///< covered transfers of the wire
    std::uint64_t signals = 0;  ///< covered signals in immediates
};

/// A put whose delivery can be awaited; see deliveries.hpp.
struct Delivery {
    Rank rank = -1;            ///< -1: the data is delivered
    std::uint64_t stream = 0;  ///< Stream::number
    std::uint64_t posted = 0;  ///< Stream::Peer::posted after the put
    std::optional<Flush> flush = {};
};

namespace onesided {

/// Adds the float or double in `operand` to the one in a word. Returns the former value.
template <class Word>
Word add_real(const std::atomic_ref<Word>& word, Word operand) noexcept {
    using Real = std::conditional_t<sizeof(Word) == sizeof(float), float, double>;
    Word seen = word.load(std::memory_order_relaxed);
    const auto sum = [&] {
        return std::bit_cast<Word>(std::bit_cast<Real>(seen) + std::bit_cast<Real>(operand));
    };
    while (!word.compare_exchange_weak(seen, sum(), std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
    }
    return seen;
}

template <class Word>
std::uint64_t change_as(RequestKind kind, std::byte* at, std::uint64_t operand,
                        std::uint64_t other) noexcept {
    const std::atomic_ref<Word> word(*reinterpret_cast<Word*>(at));
    const auto value = static_cast<Word>(operand);
    // Release: pairs with the acquire of a wait for the word; makes earlier stores visible with it.
    switch (kind) {
        case RequestKind::add:
            return word.fetch_add(value, std::memory_order_acq_rel);
        case RequestKind::swap:
            return word.exchange(value, std::memory_order_acq_rel);
        case RequestKind::compare_swap: {
            auto expected = static_cast<Word>(other);
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

/// Changes a word that is aligned to its width. Returns the former value, or 0 for a store.
inline std::uint64_t change(RequestKind kind, std::byte* at, std::size_t width,
                            std::uint64_t operand, std::uint64_t other) noexcept {
    switch (width) {
        case 1:
            return change_as<std::uint8_t>(kind, at, operand, other);
        case 2:
            return change_as<std::uint16_t>(kind, at, operand, other);
        case 4:
            return change_as<std::uint32_t>(kind, at, operand, other);
        default:
            return change_as<std::uint64_t>(kind, at, operand, other);
    }
}

inline std::uint64_t change(std::byte* at, const Atomic& atomic) noexcept {
    return change(atomic.kind, at, atomic.width, atomic.operand, atomic.compare);
}
[[nodiscard]] inline RemoteRequest request_for(const Atomic& atomic) {
    return {.kind = atomic.kind,
            .width = atomic.width,
            .offset = atomic.place.packed(),
            .operand = atomic.operand,
            .other = atomic.compare};
}

/// Returns true if a word may have `bytes` bytes.
[[nodiscard]] constexpr bool is_width(std::size_t bytes) noexcept {
    return bytes <= 8 && bytes != 0 && (bytes & (bytes - 1)) == 0;
}
/// Returns true if the bytes are an aligned word, which a single store can write.
[[nodiscard]] constexpr bool is_word(std::uint64_t address, std::size_t bytes) noexcept {
    return is_width(bytes) && (address & (bytes - 1)) == 0;
}

template <class Word>
void copy_word(std::byte* to, const std::byte* from, bool storing) noexcept {
    Word value;
    if (storing) {
        std::memcpy(&value, from, sizeof value);
        // Release: pairs with the acquire of a wait for the word. After that wait, the peer may
        // overwrite data that this rank has read before.
        std::atomic_ref<Word>(*reinterpret_cast<Word*>(to)).store(value, std::memory_order_release);
    } else {
        auto* shared = reinterpret_cast<Word*>(const_cast<std::byte*>(from));
        value = std::atomic_ref<Word>(*shared).load(std::memory_order_acquire);
        std::memcpy(to, &value, sizeof value);
    }
}

/// Copies between memory of this rank and mapped memory of a peer: `storing` is true for a put. An
/// aligned word is copied by one load or store. A get must have read its data before later stores
/// of this rank take effect: such a store may be a signal to the peer to overwrite the data.
inline void copy_near(std::byte* to, const std::byte* from, std::size_t bytes,
                      bool storing) noexcept {
    const auto shared = reinterpret_cast<std::uintptr_t>(storing ? to : from);
    if (!is_word(shared, bytes)) {
        if (bytes != 0) base::move_bytes(to, from, bytes);
        // Acquire: as for a word. Puts need no fence here, because fence() and signals order them.
        if (!storing) std::atomic_thread_fence(std::memory_order_acquire);
    } else if (bytes == 8) {
        copy_word<std::uint64_t>(to, from, storing);
    } else if (bytes == 4) {
        copy_word<std::uint32_t>(to, from, storing);
    } else if (bytes == 2) {
        copy_word<std::uint16_t>(to, from, storing);
    } else {
        copy_word<std::uint8_t>(to, from, storing);
    }
}

// --- signals -----------------------------------------------------------------------------------
//
// An immediate has 43 bits of payload beside its seal (link/fabric/keys.hpp), enough for most
// signals. Such a signal is sent with its data in one transfer, without a cell or a reply.

/// Largest put, in bytes, whose signal is in an immediate. For larger puts, the time of a second
/// transfer is small.
constexpr std::size_t kImmediateBytesMax = std::size_t{512} << 10;

/// Formats of a payload: number of bits for the word's number. The value has the other bits of
/// kPayloadSharedBits.
constexpr std::array<unsigned, 4> kPayloadWordBits{26, 20, 14, 10};
constexpr unsigned kPayloadSharedBits = 40;  ///< bits of word and value together
constexpr unsigned kPayloadFormatBits = 2;
constexpr unsigned kPayloadBits = kPayloadSharedBits + kPayloadFormatBits + 1;

/// Returns a signal as the payload of an immediate, never 0, or nothing if it does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> payload_of(const Signal& signal,
                                                                const SignalWords& words) noexcept {
    const auto numbered = words.number_of(signal.place.offset);
    if (signal.place.memory != nullptr || !numbered) return std::nullopt;
    const std::uint64_t word = *numbered;
    for (std::uint64_t format = 0; format < kPayloadWordBits.size(); ++format) {
        const unsigned word_bits = kPayloadWordBits[format];
        if (word >> word_bits != 0) return std::nullopt;
        if (signal.value >> (kPayloadSharedBits - word_bits) != 0) continue;
        const std::uint64_t kind = std::uint64_t{signal.adds} << kPayloadFormatBits | format;
        const std::uint64_t payload = kind << kPayloadSharedBits | signal.value << word_bits | word;
        return payload == 0 ? std::nullopt : std::optional(payload);
    }
    return std::nullopt;
}

[[nodiscard]] constexpr Signal signal_of(std::uint64_t payload, const SignalWords& words) noexcept {
    const auto low = [](std::uint64_t from, unsigned bits) {
        return from & ((std::uint64_t{1} << bits) - 1);
    };
    const std::uint64_t kind = payload >> kPayloadSharedBits;
    const unsigned word_bits = kPayloadWordBits[low(kind, kPayloadFormatBits)];
    const std::uint64_t shared = low(payload, kPayloadSharedBits);
    return {.place = words.offset_of(low(shared, word_bits)),
            .value = shared >> word_bits,
            .adds = low(kind >> kPayloadFormatBits, 1) != 0};
}

}  // namespace onesided

}  // namespace weft::run
