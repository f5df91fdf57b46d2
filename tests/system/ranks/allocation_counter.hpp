// SPDX-License-Identifier: BSD-3-Clause
// allocation_counter.hpp - counts the allocations of this process in all threads.
//
// Idea     The executable defines malloc and similar functions. The C library and operator new
//          call them; they count the call and call the C library's function.
// Holds    Does not work with a sanitizer that has its own allocator.
#pragma once

#include <cstdint>

namespace weft::test {

/// Returns false with a sanitizer or another C library.
[[nodiscard]] bool can_count_allocations();
/// Returns the number of allocations since the start of the process, by all threads.
[[nodiscard]] std::uint64_t allocations();

}  // namespace weft::test
