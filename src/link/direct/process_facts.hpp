// SPDX-License-Identifier: BSD-3-Clause
// process_facts.hpp - facts of a process that rule out remapping its memory.
//
// Holds    No function allocates: they are called under the lock of remapped_ranges.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace weft::link {

/// Returns true if malloc and mmap are the C library's, which does not rely on madvise() giving
/// zeros.
[[nodiscard]] bool has_library_allocator() noexcept;

/// Returns the number of bytes that are pinned for devices and io_uring; nothing if unknown.
[[nodiscard]] std::optional<std::uint64_t> pinned_bytes() noexcept;

/// Returns true if no mapping between two addresses has an unusual property according to
/// /proc/self/smaps, such as lasting advice, a lock, a userfaultfd or a protection key. False if
/// unknown. Takes milliseconds in a process with many mappings or much memory.
[[nodiscard]] bool has_only_usual_properties(std::uint64_t begin, std::uint64_t end) noexcept;
/// Calls `body(begin, end)` for each mapping of the process that has such a property. Returns false
/// if the kernel did not list the mappings.
[[nodiscard]] bool for_each_unusual_mapping(
    const std::function<void(std::uint64_t, std::uint64_t)>& body) noexcept;

/// Returns true if the mapping at the address has a memory policy of its own (mbind()).
[[nodiscard]] bool has_own_policy(std::uint64_t address) noexcept;
/// Returns true if a page between two addresses is on another memory node than the calling thread,
/// or if that is unknown on a machine with several nodes.
[[nodiscard]] bool lies_elsewhere(std::uint64_t begin, std::uint64_t end) noexcept;

/// Returns true if the process may write files of any size. A memfd is a file, and a process that
/// exceeds the limit ends.
[[nodiscard]] bool may_write_large_files() noexcept;

/// Returns true if the process has a device, a file with O_DIRECT or an io_uring open, which may be
/// writing its memory, or if that is unknown.
[[nodiscard]] bool has_device_open() noexcept;

}  // namespace weft::link
