// SPDX-License-Identifier: BSD-3-Clause
// remapped_calls.hpp - madvise() and mremap() of memory that is partly remapped.
//
// Idea     The memory may have several mappings, and each is handled separately. Remapped pages are
//          freed in their object, replaced by zeros, or moved. The kernel handles other pages.
// Next     interposers.cpp for the functions that the program calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "link/direct/remapped_ranges.hpp"

namespace weft::link {

inline constexpr int kGuardInstall = 102;  ///< MADV_GUARD_INSTALL, since Linux 6.13

class RemappedCalls {
  public:
    explicit RemappedCalls(RemappedRanges& ranges) noexcept : ranges_(ranges) {}

    /// Performs madvise() for advice that clears pages or installs guards in pages, some of which
    /// may be remapped. `next` is the madvise() that would have been called without this library.
    using Madvise = int (*)(void*, std::size_t, int);
    [[nodiscard]] int clear(RemappedRange::Pages pages, int advice, Madvise next) noexcept;
    /// Returns true if a page is remapped, or was remapped before a fork made it private.
    [[nodiscard]] bool has_remapped(RemappedRange::Pages pages) noexcept;
    /// Performs mremap() for memory that is partly remapped: moves its mappings one by one, and
    /// adds private pages if the size grows. Sets errno as for a single private mapping.
    [[nodiscard]] void* move(RemappedRange::Pages from, std::uint64_t bytes, int flags,
                             void* fixed) noexcept;

  private:
    [[nodiscard]] bool find_mapping(std::uint64_t address, Mapping& mapping) noexcept;
    [[nodiscard]] int clear_part(const Mapping& mapping, RemappedRange::Pages part, int advice,
                                 Madvise next) noexcept;

    RemappedRanges& ranges_;
};

}  // namespace weft::link
