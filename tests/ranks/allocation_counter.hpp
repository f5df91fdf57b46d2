// SPDX-License-Identifier: BSD-3-Clause
// allocation_counter.hpp - how often this process asked for memory, in any thread.
//
// Idea     The executable defines malloc and its relatives; the C library and operator new then
//          call these, which count and pass on.
// Holds    Not with a sanitizer that brings an allocator of its own.
#pragma once

#include <cstdint>

namespace weft::test {

[[nodiscard]] bool can_count_allocations();
/// Since the start of the process, on all threads.
[[nodiscard]] std::uint64_t allocations();

}  // namespace weft::test
