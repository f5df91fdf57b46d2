// SPDX-License-Identifier: BSD-3-Clause
// map_aligned.hpp - a file mapped where large pages of it fit.
//
// Why      The kernel uses a large page only where address and offset in the file are the same
//          within 2 MiB.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "link/shared/os_handles.hpp"

namespace weft::link {

inline constexpr std::uint64_t kLargePageBytes = std::uint64_t{2} << 20;

/// Maps the first bytes of the file, shared, readable and writable, from an address that is a
/// multiple of kLargePageBytes if they are as many. Whole pages. Empty if the system has no room.
[[nodiscard]] inline AddressRange map_aligned(int file, std::uint64_t bytes) noexcept {
    constexpr int kProtection = PROT_READ | PROT_WRITE;
    if (bytes < kLargePageBytes) {
        void* const start = ::mmap(nullptr, bytes, kProtection, MAP_SHARED, file, 0);
        return start == MAP_FAILED ? AddressRange() : AddressRange(start, bytes);
    }
    // Reserved with room to spare, mapped over, and what is left over given up. All are whole
    // pages.
    void* const room = ::mmap(nullptr, bytes + kLargePageBytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return {};
    auto* const reserved = static_cast<std::byte*>(room);
    const std::uint64_t before =
        (kLargePageBytes - reinterpret_cast<std::uintptr_t>(room) % kLargePageBytes) %
        kLargePageBytes;
    std::byte* const start = reserved + before;
    if (before > 0) ::munmap(reserved, before);
    ::munmap(start + bytes, kLargePageBytes - before);
    AddressRange range(start, bytes);
    if (::mmap(start, bytes, kProtection, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) return {};
    return range;
}

}  // namespace weft::link
