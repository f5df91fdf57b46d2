// SPDX-License-Identifier: BSD-3-Clause
// process_facts.hpp - facts of a process that rule out remapping its memory.
//
// Holds    No function here allocates: they are called under the lock of remapped_ranges.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "link/direct/kept_file.hpp"

namespace weft::link {

/// Returns true if malloc and mmap are the C library's, which does not rely on madvise() giving
/// zeros.
[[nodiscard]] bool has_library_allocator() noexcept;

/// Memory that the kernel was asked to keep where it is.
struct HeldMemory {
    std::uint64_t locked_bytes = 0;  ///< mlock()
    std::uint64_t pinned_bytes = 0;  ///< for devices and for io_uring
};

/// /proc/self/status, kept open: the answer does not depend on a free descriptor.
class StatusFile {
  public:
    /// Nothing if the file cannot be read.
    [[nodiscard]] std::optional<HeldMemory> held_memory() noexcept;

  private:
    KeptFile file_;
};

/// Returns true if no mapping between two addresses has a property beyond its protection, according
/// to
/// /proc/self/smaps: advice that lasts, a userfaultfd, growth downwards, a protection key, and so
/// on. False if the
/// kernel does not tell. Takes milliseconds in a process with many mappings or much memory.
[[nodiscard]] bool has_only_usual_properties(std::uint64_t begin, std::uint64_t end) noexcept;
/// Calls `body(begin, end)` for each mapping of the process that has such a property. False if the
/// kernel does not
/// tell.
[[nodiscard]] bool for_each_unusual_mapping(
    const std::function<void(std::uint64_t, std::uint64_t)>& body) noexcept;

/// Returns true if the mapping at the address has a memory policy of its own (mbind()).
[[nodiscard]] bool has_own_policy(std::uint64_t address) noexcept;
/// Returns true if a page between two addresses is on another memory node than pages that the
/// calling thread
/// allocates now, or if a machine with several nodes does not tell.
[[nodiscard]] bool lies_elsewhere(std::uint64_t begin, std::uint64_t end) noexcept;

/// Returns true if the process may write files of any size. A memfd is one, and going beyond the
/// limit ends it.
[[nodiscard]] bool may_write_large_files() noexcept;

enum class Devices : std::uint8_t {
    with_access,         ///< to memory by themselves (InfiniBand, GPUs)
    any_that_may_write,  ///< and disks: reads by O_DIRECT or io_uring may be in flight
};
/// Returns true if the process has such a device open, or if it cannot find out.
[[nodiscard]] bool has_device_open(Devices which) noexcept;

}  // namespace weft::link
