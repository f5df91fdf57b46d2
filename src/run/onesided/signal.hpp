// SPDX-License-Identifier: BSD-3-Clause
// signal.hpp - what a put does to a word of its target once its data is there.
//
// Idea     Most signals fit the 43 bits of payload that the immediate of a write can carry beside
//          its seal (link/fabric/seal.hpp), so they travel with their data: one transfer instead of
//          two, no cell and no reply.
// Next     onesided.hpp for when they may, service.hpp for the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "run/onesided/place.hpp"

namespace weft::run {

/// What a signal does to its word, of 8 bytes and aligned to them.
struct Signal {
    Place place = 0;
    std::uint64_t value = 0;
    bool adds = false;
};

namespace onesided {

/// Up to here a signal goes with its data. Above, the second transfer costs little, and 1 MiB
/// over loopback TCP takes half as long with it (156 to 197 us, 392 without; 0.5 MiB: 71 and 70).
constexpr std::size_t kImmediateBytesMax = std::size_t{512} << 10;

constexpr unsigned kPayloadOffsetBits = 26;  ///< of the word's number in the segment
constexpr unsigned kPayloadValueBits = 16;
constexpr unsigned kPayloadBits = kPayloadOffsetBits + kPayloadValueBits + 1;

/// A signal as the payload of an immediate, which is never 0; nothing if it does not fit.
[[nodiscard]] constexpr std::optional<std::uint64_t> payload_of(const Signal& signal) noexcept {
    const std::uint64_t word = signal.place.packed() / sizeof(std::uint64_t);
    if (word >> kPayloadOffsetBits != 0 || signal.value >> kPayloadValueBits != 0)
        return std::nullopt;
    const std::uint64_t adds = signal.adds ? 1 : 0;
    const std::uint64_t payload = adds << (kPayloadOffsetBits + kPayloadValueBits) |
                                  signal.value << kPayloadOffsetBits | word;
    if (payload == 0) return std::nullopt;
    return payload;
}

[[nodiscard]] constexpr Signal signal_of(std::uint64_t payload) noexcept {
    constexpr std::uint64_t kOne = 1;
    return {.place = (payload & ((kOne << kPayloadOffsetBits) - 1)) * sizeof(std::uint64_t),
            .value = payload >> kPayloadOffsetBits & ((kOne << kPayloadValueBits) - 1),
            .adds = (payload >> (kPayloadOffsetBits + kPayloadValueBits) & 1) != 0};
}

}  // namespace onesided

}  // namespace weft::run
