// SPDX-License-Identifier: BSD-3-Clause
// copy.hpp - copies of bytes that take as long wherever the two places lie.
//
// Why      From 2113 bytes to the size of the second-level cache glibc leaves a copy to one
//          instruction, rep movsb, on processors that call it fast. On Zen 3 and 4 it takes 15
//          times as long where the target begins 1 to 31 bytes further into its page than the
//          source (0.34 in place of 0.02 ns a byte, EPYC of 2021), and half as long again up to 63:
//          glibc's bug 30994. So lie a put target, which begins a page, and memory of malloc, whose
//          large pieces begin 16 bytes into one. The kernel's copies for processes meet the same.
// Idea     There such copies go page by page through memory half a page away from both places.
//          Vector registers would do as well within a cache, but not from or into lines that
//          another processor holds, which the instruction moves in half the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::base {

/// Up to here memcpy moves bytes through registers.
inline constexpr std::size_t kRegisterCopyMax = 2048;

/// Bytes by which `to` lies further into its page than `from`, round the page.
[[nodiscard]] inline std::size_t page_distance(std::uintptr_t to, std::uintptr_t from) noexcept {
    constexpr std::uintptr_t kPageMask = 4095;
    return (to - from) & kPageMask;
}

/// Whether one instruction would take long for a copy between these places.
[[nodiscard]] inline bool is_slow_distance(std::uintptr_t to, std::uintptr_t from) noexcept {
    constexpr std::size_t kLine = 64;
    return page_distance(to, from) - 1 < kLine - 1;
}

/// Whether it would take 15 times as long, or the kernel six times as long.
[[nodiscard]] inline bool is_slowest_distance(std::uintptr_t to, std::uintptr_t from) noexcept {
    constexpr std::size_t kSlowest = 31;
    return page_distance(to, from) - 1 < kSlowest;
}

/// Only some processors take long, and only there a detour is worth its second copy.
[[nodiscard]] bool has_slow_distances() noexcept;

/// Through memory at another distance, on such a processor; for copy_bytes and move_bytes.
void copy_by_detour(void* to, const void* from, std::size_t bytes) noexcept;

/// memcpy; the two do not overlap, and neither is null.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
    if (bytes > kRegisterCopyMax && is_slow_distance(reinterpret_cast<std::uintptr_t>(to),
                                                     reinterpret_cast<std::uintptr_t>(from)))
        return copy_by_detour(to, from, bytes);
    std::memcpy(to, from, bytes);
}

/// memmove: the two may overlap; neither is null.
inline void move_bytes(void* to, const void* from, std::size_t bytes) noexcept {
    const auto target = reinterpret_cast<std::uintptr_t>(to);
    const auto source = reinterpret_cast<std::uintptr_t>(from);
    if (bytes > kRegisterCopyMax && is_slow_distance(target, source) && target - source >= bytes &&
        source - target >= bytes)
        return copy_by_detour(to, from, bytes);
    std::memmove(to, from, bytes);
}

}  // namespace weft::base
