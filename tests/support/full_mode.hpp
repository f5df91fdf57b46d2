// SPDX-License-Identifier: BSD-3-Clause
// full_mode.hpp - scale of the tests: in full (WEFT_TESTS_FULL), one seed (WEFT_TESTS_SEED), or
// fewer operations under a sanitizer or in an emulator.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace weft::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// True if operations take at least ten times longer than usual. Tests then do fewer operations.
#if defined(WEFT_TESTS_EMULATED)
inline constexpr bool kSlow = true;
#else
inline constexpr bool kSlow = kSanitized;
#endif

/// Returns true if WEFT_TESTS_FULL is set to anything but "" and "0".
inline bool full_mode() {
    const char* value = std::getenv("WEFT_TESTS_FULL");
    return value != nullptr && !std::string_view(value).empty() && std::string_view(value) != "0";
}

/// Returns the only seed to run, if WEFT_TESTS_SEED is set, else nullopt.
inline std::optional<std::uint64_t> seed_to_repeat() {
    const char* value = std::getenv("WEFT_TESTS_SEED");
    if (value == nullptr || *value == 0) return std::nullopt;
    return std::strtoull(value, nullptr, 10);
}

}  // namespace weft::test
