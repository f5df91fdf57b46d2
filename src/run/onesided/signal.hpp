// SPDX-License-Identifier: BSD-3-Clause
// signal.hpp - what a put does to a word of its target once its data is there.
//
// Idea     Most signals fit the 63 bits that a write can tell its target, so they travel with their data:
//          one transfer instead of two, no cell and no reply.
// Next     onesided.hpp for when they may, service.hpp for the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::run {

/// What a signal does to its word, of 8 bytes and aligned to them.
struct Signal {
    std::uint64_t offset = 0;
    std::uint64_t value = 0;
    bool adds = false;
};

namespace onesided {

/// Up to here a signal goes with its data. Above, the second transfer costs nothing that counts, and 1 MiB
/// over loopback TCP takes half as long with it (156 to 197 us, 392 without; 0.5 MiB: 71 and 70).
constexpr std::size_t kTellingBytesMax = std::size_t{512} << 10;

constexpr unsigned kToldOffsetBits = 32;  ///< of the word's number in the segment
constexpr unsigned kToldValueBits = 29;
constexpr std::uint64_t kToldMark = std::uint64_t{1} << 62;  ///< never 0, which tells nothing

/// A signal as a word to be told; nothing if it does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> payload_of(const Signal& signal) noexcept {
    const std::uint64_t word = signal.offset / sizeof(std::uint64_t);
    if (word >> kToldOffsetBits != 0 || signal.value >> kToldValueBits != 0) return std::nullopt;
    const std::uint64_t adds = signal.adds ? 1 : 0;
    return kToldMark | adds << (kToldOffsetBits + kToldValueBits) |
           signal.value << kToldOffsetBits | word;
}

[[nodiscard]] constexpr Signal signal_of(std::uint64_t told) noexcept {
    constexpr std::uint64_t kOne = 1;
    return {.offset = (told & ((kOne << kToldOffsetBits) - 1)) * sizeof(std::uint64_t),
            .value = told >> kToldOffsetBits & ((kOne << kToldValueBits) - 1),
            .adds = (told >> (kToldOffsetBits + kToldValueBits) & 1) != 0};
}

}  // namespace onesided

}  // namespace weft::run
