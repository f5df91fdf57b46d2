// SPDX-License-Identifier: BSD-3-Clause
// process_facts.hpp - what in a process speaks against adopting its memory.
//
// Holds    Nothing here allocates: it is asked with the lock of process_events.hpp held.
#pragma once

#include <cstdint>
#include <optional>

#include "link/direct/kept_file.hpp"

namespace weft::link {

/// Do malloc and mmap come from the C library, which is known not to rely on madvise() giving
/// zeros?
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

/// Has memory between two addresses a property that madvise() or pkey_mprotect() gave it and that
/// replacing its pages would undo: MADV_DONTFORK, MADV_WIPEONFORK, MADV_MERGEABLE, MADV_DONTDUMP, a
/// protection key? Reads /proc/self/smaps, which takes milliseconds in a large process; true if
/// that is not possible.
[[nodiscard]] bool has_lasting_advice(std::uint64_t begin, std::uint64_t end) noexcept;

/// Has the mapping at the address a memory policy of its own (mbind())?
[[nodiscard]] bool has_own_policy(std::uint64_t address) noexcept;
/// Does a page between two addresses lie on another memory node than what the calling thread
/// allocates now? True if the kernel does not say, unless there is but one node.
[[nodiscard]] bool lies_elsewhere(std::uint64_t begin, std::uint64_t end) noexcept;

/// May the process write files of any size? A memfd is one, and going beyond the limit ends it.
[[nodiscard]] bool may_write_large_files() noexcept;

/// Has the process a device open that may access its memory by itself (InfiniBand, GPUs)?
[[nodiscard]] bool has_device_open() noexcept;

}  // namespace weft::link
