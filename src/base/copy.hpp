// SPDX-License-Identifier: BSD-3-Clause
// copy.hpp - copies of bytes whose speed does not depend on the distance of source and target.
//
// Why      From 2113 bytes to the size of the second-level cache, glibc copies with one
//          instruction, rep movsb, on processors that report it as fast. On AMD Zen 3 and 4, the
//          instruction is slow (glibc's bug 30994) if the target's offset within its page is 1 to
//          63 bytes above the source's, and slowest up to 31 bytes. Such distances are frequent:
//          memory of malloc often begins 16 bytes after the start of a page, and put targets at the
//          start. The kernel's copies between processes are slow there, too.
// Idea     At slow distances, a copy is made page by page through a buffer at another distance from
//          source and target. Copies through vector registers would be slower for lines that
//          another processor holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::base {

/// Largest copy, in bytes, for which memcpy always uses registers instead of rep movsb.
inline constexpr std::size_t kRegisterCopyMax = 2048;

/// Returns the difference of two addresses' offsets within their pages, modulo the page size.
[[nodiscard]] inline std::size_t page_distance(std::uintptr_t to, std::uintptr_t from) noexcept {
    constexpr std::uintptr_t kPageMask = 4095;
    return (to - from) & kPageMask;
}

/// Returns true if rep movsb is slow between these addresses: the page distance is 1 to 63.
[[nodiscard]] inline bool is_slow_distance(std::uintptr_t to, std::uintptr_t from) noexcept {
    constexpr std::size_t kLine = 64;
    return page_distance(to, from) - 1 < kLine - 1;
}

/// Returns true on AMD processors, of which Zen 3 and 4 have slow distances.
[[nodiscard]] bool has_slow_distances() noexcept;

/// Copies through a buffer if has_slow_distances(), else directly.
void copy_by_detour(void* to, const void* from, std::size_t bytes) noexcept;

/// Like memcpy: the areas must not overlap, and neither pointer may be null.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
    if (bytes > kRegisterCopyMax && is_slow_distance(reinterpret_cast<std::uintptr_t>(to),
                                                     reinterpret_cast<std::uintptr_t>(from)))
        return copy_by_detour(to, from, bytes);
    std::memcpy(to, from, bytes);
}

/// Like memmove: the areas may overlap; neither pointer may be null.
inline void move_bytes(void* to, const void* from, std::size_t bytes) noexcept {
    const auto target = reinterpret_cast<std::uintptr_t>(to);
    const auto source = reinterpret_cast<std::uintptr_t>(from);
    if (bytes > kRegisterCopyMax && is_slow_distance(target, source) && target - source >= bytes &&
        source - target >= bytes)
        return copy_by_detour(to, from, bytes);
    std::memmove(to, from, bytes);
}

}  // namespace weft::base
