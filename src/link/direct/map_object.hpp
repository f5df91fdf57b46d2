// SPDX-License-Identifier: BSD-3-Clause
// map_object.hpp - the layout of an object with remapped pages, and its window.
//
// Why      The kernel uses a large page only where address and offset in the file are equal within
//          2 MiB.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "link/direct/address_query.hpp"
#include "link/shared/os_handles.hpp"

namespace weft::link {

inline constexpr std::uint64_t kLargePageBytes = std::uint64_t{2} << 20;

/// The size of an object: most of it is a hole. Its last page is the edge behind the pages.
inline constexpr std::uint64_t kObjectBytes = std::uint64_t{1} << 46;

/// Maps a window of `bytes` bytes: the start of the object and, as the window's last page, the
/// object's
/// last page. The window begins at a multiple of kLargePageBytes if it is that large, and is left
/// out of
/// core dumps. Empty if the system has no room.
[[nodiscard]] inline AddressRange map_object(int file, std::uint64_t bytes) noexcept {
    constexpr int kProtection = PROT_READ | PROT_WRITE;
    const std::uint64_t spare = bytes < kLargePageBytes ? 0 : kLargePageBytes;
    void* const room = ::mmap(nullptr, bytes + spare, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return {};
    auto* const reserved = static_cast<std::byte*>(room);
    const std::uint64_t before =
        spare == 0 ? 0 : (spare - reinterpret_cast<std::uintptr_t>(room) % spare) % spare;
    std::byte* const start = reserved + before;
    if (before > 0) ::munmap(reserved, before);
    if (spare > before) ::munmap(start + bytes, spare - before);
    AddressRange window(start, bytes);
    std::byte* const last = start + bytes - kPageBytes;
    if (::mmap(start, bytes - kPageBytes, kProtection, MAP_SHARED | MAP_FIXED, file, 0) ==
            MAP_FAILED ||
        ::mmap(last, kPageBytes, kProtection, MAP_SHARED | MAP_FIXED, file,
               static_cast<off_t>(kObjectBytes - kPageBytes)) == MAP_FAILED)
        return {};
    // The owner's core dump has these pages. The system call: the library replaces the function.
    ::syscall(SYS_madvise, start, bytes, MADV_DONTDUMP);
    return window;
}

}  // namespace weft::link
