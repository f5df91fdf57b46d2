// SPDX-License-Identifier: BSD-3-Clause
// signal.hpp - what a put does to a word of its target once its data is there.
//
// Idea     Most signals fit the 43 bits of payload that the immediate of a write can carry beside
//          its seal (link/fabric/seal.hpp), so they travel with their data: one transfer instead of
//          two, no cell and no reply.
// Next     onesided.hpp for when they may, service.hpp for the target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "run/onesided/area.hpp"
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

/// How a payload is divided: the number of the word, and the value.
/// Words of a small array take long counts, and words far away short ones.
constexpr std::array<unsigned, 4> kPayloadWordBits{26, 20, 14, 10};
constexpr unsigned kPayloadSharedBits = 40;  ///< of word and value
constexpr unsigned kPayloadFormatBits = 2;
constexpr unsigned kPayloadBits = kPayloadSharedBits + kPayloadFormatBits + 1;

/// A signal as the payload of an immediate, which is never 0; nothing if it does not fit.
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
