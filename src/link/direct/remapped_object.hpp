// SPDX-License-Identifier: BSD-3-Clause
// remapped_object.hpp - names and windows of the objects (memfds) that hold remapped pages.
//
// Why      A process reuses numbers of file descriptors. So the name of an object contains its
//          generation, and a peer that opens the descriptor through /proc can check the name. The
//          kernel uses a large page only if the address and the offset in the file are equal modulo
//          2 MiB. So windows are aligned.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "link/direct/address_query.hpp"
#include "link/shared/os_handles.hpp"

namespace weft::link {

inline constexpr std::uint64_t kLargePageBytes = std::uint64_t{2} << 20;

/// Name of an object, as passed to memfd_create().
struct ObjectName {
    explicit ObjectName(std::uint32_t generation) noexcept {
        std::snprintf(text, sizeof text, "weft-adopted-%u", static_cast<unsigned>(generation));
    }
    char text[32];
};

/// Returns true if `mapping`, a name in /proc/self/maps, is that of an object. The object may have
/// any generation and be another process's.
[[nodiscard]] inline bool names_object(const char* mapping) noexcept {
    constexpr char kStart[] = "/memfd:weft-adopted-";
    return std::strncmp(mapping, kStart, sizeof kStart - 1) == 0;
}

/// Returns true if `link`, a descriptor in /proc, refers to an object of that generation.
[[nodiscard]] inline bool links_to_object(const char* link, std::uint32_t generation) noexcept {
    char expected[64];
    char found[64];
    const int length = std::snprintf(expected, sizeof expected, "/memfd:%s (deleted)",
                                     ObjectName(generation).text);
    return ::readlink(link, found, sizeof found) == length &&
           std::memcmp(found, expected, static_cast<std::size_t>(length)) == 0;
}

/// Maps an object of `bytes` bytes as a window. A window of at least kLargePageBytes is aligned to
/// kLargePageBytes. Core dumps omit windows. Returns an empty range if the system has no room.
[[nodiscard]] inline AddressRange map_object(int file, std::uint64_t bytes) noexcept {
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
    constexpr int kProtection = PROT_READ | PROT_WRITE;
    if (::mmap(start, bytes, kProtection, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) return {};
    // The owner's core dump has these pages at the program's addresses. A system call, because this
    // library replaces the function madvise().
    ::syscall(SYS_madvise, start, bytes, MADV_DONTDUMP);
    return window;
}

}  // namespace weft::link
