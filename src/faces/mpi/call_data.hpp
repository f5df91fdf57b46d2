// SPDX-License-Identifier: BSD-3-Clause
// call_data.hpp - the data that a rank sends or receives in a call, as weft needs it.
//
// Idea     Data is bytes at an address: equal blocks, or blocks with counts and displacements. Data
//          of types that are not contiguous is packed into memory of the call when the call begins,
//          or unpacked at the end.
// Next     packing.cpp for packing; prepared.hpp for the calls.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "faces/mpi/host.hpp"
#include "faces/mpi/statistics.hpp"
#include "faces/mpi/types.hpp"

namespace weft::mpi {

/// Returns the address `offset` bytes after `memory`, which may be MPI_BOTTOM.
[[nodiscard]] inline std::byte* at(const void* memory, std::ptrdiff_t offset) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory) +
                                        static_cast<std::uintptr_t>(offset));
}

/// Returns the bytes of data of `count` elements.
[[nodiscard]] inline std::size_t bytes_of(MPI_Count count, const TypeFacts& facts) {
    return static_cast<std::size_t>(count) * facts.size;
}

/// Returns true if data of a type cannot be at an address; data with gaps can be at MPI_BOTTOM.
/// Open MPI crashes at a null address, so weft reports that error.
[[nodiscard]] inline bool is_no_memory(const void* memory, const TypeFacts& facts) {
    return memory == MPI_IN_PLACE || (!kIsOpenMpi && memory == nullptr && facts.contiguous);
}

/// Elements of the program, and memory for their packed bytes. pack() and unpack() return
/// MPI_SUCCESS or the host's error.
struct Packing {
    std::byte* packed = nullptr;
    std::byte* memory = nullptr;  ///< address of the elements
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TypeFacts facts;
    bool strided = false;              ///< `packed` has the gaps of the type
    std::shared_ptr<const void> kept;  ///< frees `type`, which is then a duplicate

    [[nodiscard]] std::size_t bytes() const { return bytes_of(count, facts); }
    [[nodiscard]] int pack() const;
    /// Keeps the type usable, even if the program frees it.
    void keep();
    [[nodiscard]] int unpack() const;
};

/// Memory for packed bytes, which later calls use again.
class Room {
  public:
    Room() = default;
    explicit Room(std::size_t bytes);
    ~Room();
    Room(Room&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
    Room& operator=(Room&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    [[nodiscard]] std::byte* get() const { return memory_; }
    [[nodiscard]] std::size_t bytes() const { return memory_ == nullptr ? 0 : bytes_; }

  private:
    static constexpr std::size_t kPooledMin = 4096;  ///< smaller pieces come from the C library

    std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Memory of the caller: `count` elements of a type.
struct Elements {
    const void* memory;
    MPI_Count count;
    MPI_Datatype type;
};

/// Memory of the caller with a block for each rank or neighbor: contiguous blocks of equal size, or
/// blocks with counts and displacements.
class RankBlocks {
  public:
    RankBlocks(const Elements& block) : memory_(block.memory), block_(block), are_equal_(true) {}
    /// own_types: `types` has a type for each rank, and displacements are in bytes. Count: int or
    /// MPI_Count; Displacement: int or MPI_Aint.
    template <class Count, class Displacement>
    RankBlocks(const void* memory, const Count* counts, const Displacement* displacements,
               const MPI_Datatype* types, bool own_types = false)
        : memory_(memory),
          counts_(counts),
          displacements_(displacements),
          types_(types),
          has_own_types_(own_types),
          has_int_counts_(sizeof(Count) == sizeof(int)),
          has_int_displacements_(sizeof(Displacement) == sizeof(int)) {}

    [[nodiscard]] const void* memory() const { return memory_; }
    [[nodiscard]] bool are_equal() const { return are_equal_; }
    [[nodiscard]] bool have_own_types() const { return has_own_types_; }
    /// Returns false if an array is missing.
    [[nodiscard]] bool have_arrays() const {
        return are_equal_ || (counts_ != nullptr && types_ != nullptr);
    }
    [[nodiscard]] bool have_displacements() const { return displacements_ != nullptr; }
    [[nodiscard]] MPI_Count count(std::size_t block) const {
        return are_equal_ ? block_.count : number(counts_, has_int_counts_, block);
    }
    [[nodiscard]] MPI_Datatype type(std::size_t block) const {
        return are_equal_ ? block_.type : types_[has_own_types_ ? block : 0];
    }
    /// Returns the displacement of a block in bytes.
    [[nodiscard]] std::ptrdiff_t offset(std::size_t block, MPI_Aint extent) const {
        if (are_equal_) return static_cast<std::ptrdiff_t>(block) * block_.count * extent;
        return number(displacements_, has_int_displacements_, block) *
               (has_own_types_ ? 1 : extent);
    }
    /// Returns true if the caller passes the same arrays of counts and types, or equal blocks.
    [[nodiscard]] bool has_layout_of(const RankBlocks& other) const {
        if (are_equal_)
            return block_.type == other.block_.type && block_.count == other.block_.count &&
                   block_.count != 0;
        return counts_ == other.counts_ &&
               (has_own_types_ ? types_ == other.types_ : *types_ == *other.types_);
    }

    bool append_to(std::vector<std::int64_t>& list, std::size_t blocks) const;

  private:
    [[nodiscard]] static std::int64_t number(const void* numbers, bool ints, std::size_t at) {
        return ints ? static_cast<const int*>(numbers)[at]
                    : static_cast<const std::int64_t*>(numbers)[at];
    }
    static_assert(sizeof(MPI_Count) == sizeof(std::int64_t) &&
                  sizeof(MPI_Aint) == sizeof(std::int64_t));

    const void* memory_;
    Elements block_{};  ///< if `are_equal_`
    const void* counts_ = nullptr;
    const void* displacements_ = nullptr;
    const MPI_Datatype* types_ = nullptr;
    bool are_equal_ = false;
    bool has_own_types_ = false;
    bool has_int_counts_ = false;
    bool has_int_displacements_ = false;
};

/// Order in which a member's blocks for one neighbor arrive there, if it has several.
enum class BlockOrder : std::uint8_t {
    forward,   ///< the first block for the neighbor is the neighbor's first block from the member
    backward,  ///< the first block is the last one
    crossed,   ///< blocks 0 and 1, 2 and 3 and so on change places: both directions of a grid
};

/// Numbers of the entries, one for each rank or distinct neighbor, to which a list of blocks
/// belongs.
struct Entries {
    std::vector<int> of_block;  ///< -1: a block without neighbor, which is left out
    std::size_t count = 0;

    /// Returns an entry with one block for each rank.
    [[nodiscard]] static Entries of_ranks(int ranks);
};

/// Use of a list of blocks in a call.
struct BlockUse {
    bool receives = false;  ///< the blocks receive data
    bool copies = false;    ///< the call overwrites the blocks, so the input must be a copy
    bool shares = false;    ///< all blocks of an entry receive the same data
    BlockOrder order = BlockOrder::forward;
    int round = kAllRounds;  ///< number of the only block of each entry that is used

    static constexpr int kAllRounds = -1;
};

/// Data that this rank sends, or memory for the data that it receives. Functions that set it return
/// Why::served, or Why::arguments for erroneous arguments.
struct CallData {
    void* memory = nullptr;                  ///< passed to weft
    std::vector<std::size_t> counts;         ///< bytes of each entry's block; empty: all equal
    std::vector<std::size_t> displacements;  ///< starts of the entries' blocks, in bytes
    std::vector<Packing> packings;           ///< to pack before the call, or to unpack after it
    Room packed;

    /// Makes `memory` point to `bytes` bytes that the call owns.
    std::byte* make_room(std::size_t bytes);
    /// Sets the data to `times` equal blocks. `bytes` receives the bytes of a block. copies: true
    /// if the call overwrites the data, so that the input must be a copy.
    Why set(const Elements& given, MPI_Count times, bool copies, std::size_t& bytes);
    /// Sets the data to the blocks of entries.
    Why set_blocks(const RankBlocks& given, const Entries& entries, const BlockUse& use);
    /// Returns the address of the first entry's block.
    [[nodiscard]] std::byte* first_block() const {
        return at(memory,
                  displacements.empty() ? 0 : static_cast<std::ptrdiff_t>(displacements[0]));
    }

  private:
    bool use_in_place(const std::vector<Packing>& blocks, const std::vector<int>& entry_of,
                      const Entries& entries, const BlockUse& use);
    void pack_entries(std::vector<Packing>& blocks, const std::vector<int>& entry_of,
                      const Entries& entries, bool shares);
};

}  // namespace weft::mpi
