// SPDX-License-Identifier: BSD-3-Clause
// data_segment.hpp - makes the program's own variables symmetric memory.
//
// Idea     In OpenSHMEM, all global and static variables of the program are symmetric, like the
//          heap. shmem_init copies them to the heap and maps the heap's pages in their place. Each
//          variable keeps its address, and has a second address in the heap.
// Why      Peers can then access variables as they access the heap: by a mapping or the network.
// Holds    All PEs run the same program, so a variable has the same offset in all copies, even if
//          load addresses differ. Variables of shared libraries are not symmetric.
// Next     job.hpp converts a variable's address to its heap address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::shmem {

/// Whole pages of the program that hold writable variables.
struct DataPages {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;  ///< size of the pages
    std::size_t used = 0;   ///< bytes from `begin` to the end of the last variable
};
[[nodiscard]] std::vector<DataPages> find_data_pages();

/// Copies the pages to `heap`, which has pages.bytes bytes and is aligned to pages. Then maps this
/// memory at pages.begin. Returns 0; on failure, returns errno and leaves the pages unchanged.
[[nodiscard]] int share_pages(const DataPages& pages, std::byte* heap);

}  // namespace weft::shmem
