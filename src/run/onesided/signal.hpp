// SPDX-License-Identifier: BSD-3-Clause
// signal.hpp - change of a word at the target of a put, after the data is delivered.
//
// Idea     Most signals fit the 43 bits of payload in an immediate that its seal leaves free
//          (link/fabric/keys.hpp). Such a signal is sent with its data: one transfer instead of
//          two, without a cell or a reply.
// Next     onesided.hpp for the conditions, service.hpp for the target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "run/onesided/area.hpp"
#include "run/onesided/remote_address.hpp"

namespace weft::run {

/// Change of a word, which has 8 bytes and is aligned to 8 bytes.
struct Signal {
    RemoteAddress place = 0;
    std::uint64_t value = 0;
    bool adds = false;
};

namespace onesided {

/// Largest put that carries its signal in an immediate. For larger puts, a second transfer costs
/// little and is faster over TCP.
constexpr std::size_t kImmediateBytesMax = std::size_t{512} << 10;

/// Widths of the word's number in a payload; the value has the remaining bits. Low numbers leave
/// room for large values.
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
