// SPDX-License-Identifier: BSD-3-Clause
// allocation_counter.hpp - counts the allocations of this process in all threads.
//
// Idea     The executable defines malloc() and similar functions, which the C library and operator
//          new use. Each counts its call and calls the C library's function.
// Limits   The counter needs the GNU C library, and no sanitizer that has its own allocator.
#pragma once

#include <cstdint>

namespace weft::test {

/// Returns false if this build cannot count.
[[nodiscard]] bool can_count_allocations();
/// Returns the number of allocations since the start of the process, by all threads.
[[nodiscard]] std::uint64_t allocations();

}  // namespace weft::test
