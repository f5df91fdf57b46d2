// SPDX-License-Identifier: BSD-3-Clause
// data_segment.hpp - the program's own variables become symmetric memory.
//
// Idea     OpenSHMEM's symmetric objects are, besides the heap, all global and static variables of
//          the program. They are copied to the heap once, and then the heap's pages are mapped in
//          their place: each variable keeps its address, and has another one in the heap.
// Why      Peers then reach variables in the way that they reach the heap: by mapping, by network.
// Holds    The program is the same on all PEs, so a variable has the same place in all copies,
//          wherever the loader put it. Variables of shared libraries are not symmetric.
// Next     job.hpp for the look-up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::shmem {

/// Whole pages of the program that hold writable variables.
struct DataPages {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;  ///< of the pages
    std::size_t used = 0;   ///< from `begin` to the end of the last variable
};
[[nodiscard]] std::vector<DataPages> find_data_pages();

/// Moves the pages' contents to `heap`, of the same size and on a page's boundary, and maps that in
/// their place. Returns 0 or an error number; then nothing has changed.
[[nodiscard]] int share_pages(const DataPages& pages, std::byte* heap);

}  // namespace weft::shmem
