// SPDX-License-Identifier: BSD-3-Clause
// request.hpp - what one rank asks another to do to its memory, and how it is done.
//
// Holds    Words are changed by atomic operations of the processor, so the target's node-mates,
//          which change them directly, and far ranks, which ask, see one history.
// Next     service.hpp for the target's side, requests.hpp for the origin's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/copy.hpp"
#include "base/region.hpp"
#include "run/onesided/place.hpp"

namespace weft::run {

/// When a put or get returns: once the caller's memory is its own again, or at once.
enum class Return : std::uint8_t { reusable, at_once };

/// Blocks of equal size at equal distances, which may be negative, on either side.
struct Strided {
    std::int64_t to_stride = 0;  ///< bytes from one block to the next
    std::int64_t from_stride = 0;
    std::size_t block_bytes = 0;
    std::size_t count = 0;
};

enum class RequestKind : std::uint8_t {
    flush,  ///< nothing: its reply implies that all before it is done
    store,
    add,
    swap,
    compare_swap,
    get,  ///< put `operand` bytes from `offset` to `other` in the origin's segment
    load,
    band,
    bor,
    bxor,
    pull,  ///< copy `operand` bytes to `offset` from `other` in the segment of a near origin
};
inline constexpr RequestKind kLastRequestKind = RequestKind::pull;

/// One atomic operation on a word.
struct Atomic {
    RequestKind kind = RequestKind::add;  ///< one that changes or loads a word
    std::uint8_t width = 8;               ///< 4 or 8
    Place place = 0;
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
};

/// One request, as it lies in a cell.
struct RemoteRequest {
    static constexpr std::size_t kInlineMax = 16;

    RequestKind kind = RequestKind::flush;
    std::uint8_t width = 8;         ///< bytes of the word
    std::uint8_t inline_bytes = 0;  ///< of `data`, stored at `other` before the word is changed
    std::uint8_t asks = 0;          ///< whether a reply is wanted
    std::uint32_t after = 0;   ///< transfers of this origin since the last request that had some
    std::uint64_t offset = 0;  ///< of the word, in the target's segment; see Place::packed()
    std::uint64_t operand = 0;
    std::uint64_t other = 0;  ///< the value to compare with, or an offset
    std::byte data[kInlineMax] = {};

    /// How much of it is used; the rest need not travel.
    [[nodiscard]] std::size_t bytes() const noexcept {
        if (inline_bytes != 0) return sizeof(RemoteRequest);
        const bool takes_other = kind == RequestKind::compare_swap || kind == RequestKind::get ||
                                 kind == RequestKind::pull;
        return takes_other ? offsetof(RemoteRequest, data) : offsetof(RemoteRequest, other);
    }
};
static_assert(sizeof(RemoteRequest) == base::kCellPayload);

namespace onesided {

/// Where block i of a strided transfer is.
template <class First>
[[nodiscard]] constexpr First block_of(First first, std::size_t i, std::int64_t stride) noexcept {
    const std::int64_t distance = static_cast<std::int64_t>(i) * stride;
    if constexpr (std::is_pointer_v<First>) {
        return first + distance;
    } else {
        return first + static_cast<std::uint64_t>(distance);
    }
}

template <class Word>
std::uint64_t change_as(RequestKind kind, std::byte* at, std::uint64_t operand,
                        std::uint64_t other) noexcept {
    const std::atomic_ref<Word> word(*reinterpret_cast<Word*>(at));
    const auto value = static_cast<Word>(operand);
    // Release: pairs with the acquire of a wait for the word; what came before is visible with it.
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
        case RequestKind::flush:
        case RequestKind::get:
        case RequestKind::pull:
            break;
    }
    return 0;
}

/// Changes a word and returns what it was, if the change says so. The word is aligned to its width.
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

/// Whether a word can have so many bytes.
[[nodiscard]] constexpr bool is_width(std::size_t bytes) noexcept {
    return bytes <= 8 && bytes != 0 && (bytes & (bytes - 1)) == 0;
}
/// Whether these bytes are a word that can be stored at once.
[[nodiscard]] constexpr bool is_word(std::uint64_t address, std::size_t bytes) noexcept {
    return is_width(bytes) && (address & (bytes - 1)) == 0;
}

template <class Word>
void copy_word(std::byte* to, const std::byte* from, bool storing) noexcept {
    Word value;
    if (storing) {
        std::memcpy(&value, from, sizeof value);
        // Release: pairs with the acquire of a wait for the word, by whose sight the peer may write
        // anew what this rank has read before.
        std::atomic_ref<Word>(*reinterpret_cast<Word*>(to)).store(value, std::memory_order_release);
    } else {
        auto* shared = reinterpret_cast<Word*>(const_cast<std::byte*>(from));
        value = std::atomic_ref<Word>(*shared).load(std::memory_order_acquire);
        std::memcpy(to, &value, sizeof value);
    }
}

/// Copies between this rank's memory and a mapped peer's: words as words, all else as bytes. What
/// was got has been read before anything that follows is seen; where processors let a later store
/// overtake a load, the peer could else write there too soon.
inline void copy_near(std::byte* to, const std::byte* from, std::size_t bytes,
                      bool storing) noexcept {
    const auto shared = reinterpret_cast<std::uintptr_t>(storing ? to : from);
    if (!is_word(shared, bytes)) {
        if (bytes != 0) base::move_bytes(to, from, bytes);
        // Acquire: as that of a word. Puts need none: fences and signals order them.
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

}  // namespace onesided

}  // namespace weft::run
