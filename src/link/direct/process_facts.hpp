// SPDX-License-Identifier: BSD-3-Clause
// process_facts.hpp - facts of a process that rule out remapping its memory.
//
// Holds    No function here allocates: they are called under the lock of remapped_ranges.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace weft::link {

/// Returns true if malloc and mmap are the C library's, which does not rely on madvise() giving
/// zeros.
[[nodiscard]] bool has_library_allocator() noexcept;

/// Returns the number of bytes that are pinned for devices and for io_uring; nothing if the kernel
/// does not tell.
[[nodiscard]] std::optional<std::uint64_t> pinned_bytes() noexcept;

/// Returns true if no mapping between two addresses has a property beyond its protection, according
/// to /proc/self/smaps: advice that lasts, a userfaultfd, growth downwards, a protection key, and
/// so on. False if the kernel does not tell. Takes milliseconds in a process with many mappings or
/// much memory.
[[nodiscard]] bool has_only_usual_properties(std::uint64_t begin, std::uint64_t end) noexcept;
/// Calls `body(begin, end)` for each mapping of the process that has such a property. False if the
/// kernel does not tell.
[[nodiscard]] bool for_each_unusual_mapping(
    const std::function<void(std::uint64_t, std::uint64_t)>& body) noexcept;

/// Returns true if the mapping at the address has a memory policy of its own (mbind()).
[[nodiscard]] bool has_own_policy(std::uint64_t address) noexcept;
/// Returns true if a page between two addresses is on another memory node than pages that the
/// calling thread allocates now, or if a machine with several nodes does not tell.
[[nodiscard]] bool lies_elsewhere(std::uint64_t begin, std::uint64_t end) noexcept;

/// Returns true if the process may write files of any size. A memfd is one, and going beyond the
/// limit ends it.
[[nodiscard]] bool may_write_large_files() noexcept;

/// Returns true if a device, a disk or a ring of io_uring that the process has open may be writing
/// its memory, or if the process cannot find out.
[[nodiscard]] bool has_device_open() noexcept;

}  // namespace weft::link
