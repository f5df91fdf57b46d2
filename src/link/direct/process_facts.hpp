// SPDX-License-Identifier: BSD-3-Clause
// process_facts.hpp - what in a process speaks against adopting its memory.
#pragma once

#include <cstdint>

namespace weft::link {

/// Do malloc and mmap come from the C library, which is known not to rely on madvise() giving
/// zeros?
[[nodiscard]] bool has_library_allocator() noexcept;

/// Memory that the kernel was asked to keep where it is.
struct HeldMemory {
    std::uint64_t locked_bytes = 0;  ///< mlock()
    std::uint64_t pinned_bytes = 0;  ///< for devices and for io_uring
};
/// Reads /proc/self/status; all ones if that is not possible.
[[nodiscard]] HeldMemory held_memory() noexcept;

/// Has memory between two addresses a property that madvise() gave it and that replacing its pages
/// would undo: MADV_DONTFORK, MADV_WIPEONFORK, MADV_MERGEABLE, MADV_DONTDUMP? Reads
/// /proc/self/smaps, which takes milliseconds in a large process; true if that is not possible.
[[nodiscard]] bool has_lasting_advice(std::uint64_t begin, std::uint64_t end) noexcept;

/// Has the process a device open that may access its memory by itself (InfiniBand, GPUs)?
[[nodiscard]] bool has_device_open() noexcept;

}  // namespace weft::link
