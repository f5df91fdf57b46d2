// SPDX-License-Identifier: BSD-3-Clause
// process_facts.hpp - facts of the calling process that forbid the remapping of its memory.
//
// Holds    Only has_library_allocator() allocates memory, because some of the other functions are
//          called under the lock of remapped_ranges.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace weft::link {

/// Returns true if malloc and mmap are the C library's. Other allocators may clear memory by the
/// system call madvise, which does not clear remapped memory.
[[nodiscard]] bool has_library_allocator() noexcept;

/// Returns the number of bytes that are pinned for devices and io_uring, or nullopt if unknown.
[[nodiscard]] std::optional<std::uint64_t> pinned_bytes() noexcept;

/// Returns true if no mapping between two addresses has an unusual property according to
/// /proc/self/smaps, such as advice that the kernel stores, a memory lock, a userfaultfd or a
/// protection key. Returns false if unknown. Takes milliseconds in a large process.
[[nodiscard]] bool has_only_usual_properties(std::uint64_t begin, std::uint64_t end) noexcept;
/// Calls `body(begin, end)` for each mapping with an unusual property. Returns false if unknown.
[[nodiscard]] bool for_each_unusual_mapping(
    const std::function<void(std::uint64_t, std::uint64_t)>& body) noexcept;

/// Returns true if the mapping at the address has its own NUMA policy, set with mbind().
[[nodiscard]] bool has_own_policy(std::uint64_t address) noexcept;
/// Returns true if a page between two addresses is on another NUMA node than the calling thread, or
/// if that is unknown on a machine with several nodes.
[[nodiscard]] bool is_on_other_memory_node(std::uint64_t begin, std::uint64_t end) noexcept;

/// Returns true if RLIMIT_FSIZE does not limit the size of files. The limit also applies to memfds,
/// and a process that exceeds it is killed by SIGXFSZ.
[[nodiscard]] bool may_write_large_files() noexcept;

/// Returns true if a device may write to the process's memory: an RDMA or GPU device, a file with
/// O_DIRECT or an io_uring is open. Also returns true if that is unknown.
[[nodiscard]] bool has_device_open() noexcept;

}  // namespace weft::link
