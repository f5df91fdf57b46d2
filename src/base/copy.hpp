// SPDX-License-Identifier: BSD-3-Clause
// copy.hpp - copies of bytes whose speed does not depend on the distance of source and target.
//
// Why      From 2113 bytes to the size of the second-level cache, glibc copies with one
//          instruction, rep movsb, on processors that report it as fast. Zen 3 and 4 have slow
//          distances (glibc's bug 30994). The instruction takes 15 times as long (0.34 instead of
//          0.02 ns a byte, EPYC of 2021) if the target begins 1 to 31 bytes further into its page
//          than the source. It takes 1.5 times as long up to 63 bytes. A put target at a page start
//          and a large piece of malloc, 16 bytes into its page, have such a distance. The kernel's
//          copies between processes are slow for the same reason.
// Idea     At slow distances a copy goes page by page through memory half a page away from both.
//          Vector registers are as fast within a cache, but take twice the time for lines that
//          another processor holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::base {

/// Largest copy for which memcpy uses registers.
inline constexpr std::size_t kRegisterCopyMax = 2048;

/// Returns the bytes by which `to` is further into its page than `from`, modulo the page size.
[[nodiscard]] inline std::size_t page_distance(std::uintptr_t to, std::uintptr_t from) noexcept {
    constexpr std::uintptr_t kPageMask = 4095;
    return (to - from) & kPageMask;
}

/// Returns true if the instruction would be slow for a copy between these addresses.
[[nodiscard]] inline bool is_slow_distance(std::uintptr_t to, std::uintptr_t from) noexcept {
    constexpr std::size_t kLine = 64;
    return page_distance(to, from) - 1 < kLine - 1;
}

/// Returns true if it would take 15 times as long, or the kernel six times as long.
[[nodiscard]] inline bool is_slowest_distance(std::uintptr_t to, std::uintptr_t from) noexcept {
    constexpr std::size_t kSlowest = 31;
    return page_distance(to, from) - 1 < kSlowest;
}

/// Returns true on AMD processors. Zen 3 and 4 have slow distances, and a detour is worth its
/// second copy there.
[[nodiscard]] bool has_slow_distances() noexcept;

/// Copies through memory at another distance on such a processor. Helper of
/// copy_bytes and move_bytes.
void copy_by_detour(void* to, const void* from, std::size_t bytes) noexcept;

/// Copies as memcpy does: the areas must not overlap, and neither may be null.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
    if (bytes > kRegisterCopyMax && is_slow_distance(reinterpret_cast<std::uintptr_t>(to),
                                                     reinterpret_cast<std::uintptr_t>(from)))
        return copy_by_detour(to, from, bytes);
    std::memcpy(to, from, bytes);
}

/// Copies as memmove does: the areas may overlap; neither may be null.
inline void move_bytes(void* to, const void* from, std::size_t bytes) noexcept {
    const auto target = reinterpret_cast<std::uintptr_t>(to);
    const auto source = reinterpret_cast<std::uintptr_t>(from);
    if (bytes > kRegisterCopyMax && is_slow_distance(target, source) && target - source >= bytes &&
        source - target >= bytes)
        return copy_by_detour(to, from, bytes);
    std::memmove(to, from, bytes);
}

}  // namespace weft::base
