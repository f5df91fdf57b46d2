// SPDX-License-Identifier: BSD-3-Clause
// prepared.hpp - converts a collective call of MPI to a call of weft.
//
// Idea     One function for each collective converts MPI's arguments to a PreparedCall. The
//          blocking, started and long-count forms of all languages use it. The host packs data of
//          types that are not contiguous into memory of the call when the call begins, and unpacks
//          it at the end.
// Holds    Data movement is served for all types, addresses and counts of a rank. Whether a
//          reduction is served depends on its count, type and operation, which MPI guarantees to be
//          equal on all members. The type of data without elements is never read. Calls with
//          erroneous arguments go to the host, which reports them.
// Next     calls.cpp for the entries of MPI; layer.hpp for how a prepared call is run.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "faces/mpi/statistics.hpp"
#include "faces/mpi/types.hpp"
#include "weft/weft.h"

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

/// Elements of the program, and memory for their packed bytes. pack() and unpack() return
/// MPI_SUCCESS or the host's error.
struct Packing {
    std::byte* packed = nullptr;
    std::byte* memory = nullptr;  ///< address of the elements
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    TypeFacts facts;
    bool kept = false;  ///< `type` is a duplicate, which unpack() frees

    [[nodiscard]] std::size_t bytes() const { return bytes_of(count, facts); }
    [[nodiscard]] int pack() const;
    /// Keeps the type usable until unpack(), even if the program frees it.
    void keep();
    [[nodiscard]] int unpack();
};

/// A communicator, this rank's number in it, and its size.
struct Member {
    MPI_Comm comm;
    int rank;
    int size;
};

/// Memory of the caller: `count` elements of a type.
struct Elements {
    const void* memory;
    MPI_Count count;
    MPI_Datatype type;
};

/// Memory of the caller with a block for each rank. Counts and displacements are of int, or of
/// MPI_Count and MPI_Aint.
template <class Count, class Displacement>
struct RankBlocks {
    const void* memory;
    const Count* counts;
    const Displacement* displacements;  ///< nullptr: contiguous blocks
    const MPI_Datatype* types;          ///< one type, or one for each rank if `own_types`
    bool own_types;                     ///< true: a type for each rank, and displacements in bytes
};
template <class Count, class Displacement>
RankBlocks(const void*, const Count*, const Displacement*, const MPI_Datatype*, bool = false)
    -> RankBlocks<Count, Displacement>;

/// A call of weft for one collective call of MPI.
class PreparedCall {
  public:
    PreparedCall(CallKind kind, const Member& member) : kind_(kind), member_(member) {}
    PreparedCall(PreparedCall&&) = default;

    // --- preparing: functions return Why::served, or why weft cannot serve the call ---
    Why barrier() { return Why::served; }
    Why broadcast(const Elements& buffer, int root);
    /// Prepares allreduce, scan or exscan.
    Why all_reduce(const void* in, const Elements& out, MPI_Op op);
    Why reduce(const void* in, const Elements& out, MPI_Op op, int root);
    /// Reduces blocks of `out.count` elements, one for each rank (reduce_scatter_block).
    Why reduce_blocks(const void* in, const Elements& out, MPI_Op op);
    template <class Count>
    Why reduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type,
                       MPI_Op op);
    // Blocks are Elements, equal on all ranks, or RankBlocks.
    template <class Blocks>
    Why gather(const Elements& in, const Blocks& out, int root);
    template <class Blocks>
    Why scatter(const Blocks& in, const Elements& out, int root);
    template <class Blocks>
    Why allgather(const Elements& in, const Blocks& out) {
        return gather(in, out, member_.rank);
    }
    template <class Blocks>
    Why alltoall(const Blocks& in, const Blocks& out);

    // --- executing ---
    /// Makes the call, or starts it if `request` is not nullptr. The program may free its types and
    /// communicator while a started call is in flight.
    [[nodiscard]] weft_status run(weft_team* team, weft_request** request = nullptr);
    /// Unpacks or copies results after the call. Returns MPI_SUCCESS, or the first error of the
    /// host's functions to pack and unpack.
    [[nodiscard]] int finish();
    /// Returns the bytes that this rank contributes.
    [[nodiscard]] std::size_t bytes() const;
    /// Returns a size in bytes that is equal on all ranks: of one block if blocks are equal, of all
    /// blocks if each rank passes all counts, 0 if ranks only pass their own counts.
    [[nodiscard]] std::size_t common_bytes() const;
    [[nodiscard]] CallKind kind() const { return kind_; }
    [[nodiscard]] MPI_Comm comm() const { return member_.comm; }
    [[nodiscard]] const void* in() const { return in_.memory; }
    [[nodiscard]] const void* out() const { return out_.memory; }

  private:
    /// Data that this rank sends, or memory for the data that it receives.
    struct CallData {
        void* memory = nullptr;                  ///< passed to weft
        std::vector<std::size_t> counts;         ///< bytes of each rank's block; empty: all equal
        std::vector<std::size_t> displacements;  ///< starts of the ranks' blocks, in bytes
        std::vector<Packing> packings;           ///< to pack before the call, or to unpack after it
        std::unique_ptr<std::byte[]> packed;

        /// Makes `memory` point to `bytes` bytes that the call owns.
        std::byte* make_room(std::size_t bytes);
    };

    [[nodiscard]] bool root_is(int root) const { return root == member_.rank; }
    [[nodiscard]] bool set_root(int root);
    Why set(CallData& data, const Elements& given, MPI_Count times, bool copies = false);
    Why set_all(CallData& data, const Elements& given, bool copies = false);
    template <class Count, class Displacement>
    Why set_all(CallData& data, const RankBlocks<Count, Displacement>& given, bool copies = false);
    static void lay_out(CallData& data, std::vector<Packing>& blocks, bool packs);
    void keep_own_block();
    void separate_result(std::size_t bytes);

    CallKind kind_;
    Member member_;
    CallData in_;
    CallData out_;
    std::size_t count_ = 0;  ///< elements of type_ in the call of weft
    weft_type type_ = WEFT_UINT8;
    std::size_t element_bytes_ = 1;
    weft_op op_ = WEFT_SUM;
    int root_ = 0;
    std::shared_ptr<const void> operation_;  ///< memory of a user operation, until the call ends
    int error_ = MPI_SUCCESS;
};

}  // namespace weft::mpi
