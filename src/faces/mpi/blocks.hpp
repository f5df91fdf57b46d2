// SPDX-License-Identifier: BSD-3-Clause
// blocks.hpp - the memory blocks of a derived type, and copies between them and packed bytes.
//
// Why      The host's pack interprets a type for each call. A list of blocks is read once for each
//          type, and copies the bytes by simple loops.
// Holds    Blocks are in the order of the type's signature. Types with too many blocks, and types
//          of constructors that read_blocks() does not know, have no list: the host packs them.
// Next     packing.cpp, which uses the list.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace weft::mpi {

/// `times` blocks of `bytes` bytes; the first is `offset` bytes after the element, and each
/// begins `stride` bytes after the previous one.
struct BlockRun {
    std::ptrdiff_t offset = 0;
    std::size_t bytes = 0;
    std::size_t times = 1;
    std::ptrdiff_t stride = 0;
};

class BlockList {
  public:
    static constexpr std::size_t kRunsMax = std::size_t{1} << 14;

    /// Adds a run after the others, joined with the last run where possible.
    void add(BlockRun run);
    /// Adds the runs of another list, shifted, `times` times at a distance of `stride` bytes.
    /// Returns false if the list would have more than kRunsMax runs.
    [[nodiscard]] bool add(const BlockList& other, std::ptrdiff_t offset, std::size_t times,
                           std::ptrdiff_t stride);
    /// Copies the blocks of `count` elements from `memory` to `packed` if `packs`, else back.
    /// extent: bytes from an element to the next. strided: `packed` has the gaps of the type.
    void move(std::byte* memory, std::byte* packed, std::size_t count, std::ptrdiff_t extent,
              bool packs, bool strided) const;
    /// Returns true for a single block of `bytes` bytes at the start of the element.
    [[nodiscard]] bool is_one_block(std::size_t bytes) const {
        return runs_.size() == 1 && runs_[0].times == 1 && runs_[0].offset == 0 &&
               runs_[0].bytes == bytes;
    }
    /// Returns the bytes of all blocks.
    [[nodiscard]] std::size_t bytes() const {
        std::size_t sum = 0;
        for (const BlockRun& run : runs_) sum += run.bytes * run.times;
        return sum;
    }

  private:
    std::vector<BlockRun> runs_;
};

/// Returns true for types that the program has not made, including Fortran's types with a precision
/// and range, and cannot free.
[[nodiscard]] bool is_predefined(MPI_Datatype type);

/// Reads the blocks of a type; nothing if the list cannot describe the type.
[[nodiscard]] std::optional<BlockList> read_blocks(MPI_Datatype type);

}  // namespace weft::mpi
