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
#include <memory>
#include <vector>

#include "faces/mpi/packing.hpp"
#include "faces/mpi/statistics.hpp"
#include "faces/mpi/types.hpp"
#include "weft/weft.h"

namespace weft::mpi {

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

/// Memory of the caller with a block for each rank; arrays are of int, or MPI_Count and MPI_Aint.
struct RankBlocks {
    template <class Count, class Displacement>
    RankBlocks(const void* start, const Count* counts, const Displacement* displacements,
               const MPI_Datatype* one_or_all, bool has_own_types = false)
        : memory(start),
          types(one_or_all),
          own_types(has_own_types),
          counts_(counts),
          displacements_(displacements),
          long_(sizeof(Count) > sizeof(int)) {}

    /// Returns false if an array is missing.
    [[nodiscard]] bool is_complete() const {
        return counts_ != nullptr && types != nullptr && (!own_types || has_displacements());
    }
    [[nodiscard]] bool has_displacements() const { return displacements_ != nullptr; }
    [[nodiscard]] MPI_Count count(int rank) const {
        return long_ ? static_cast<const MPI_Count*>(counts_)[rank]
                     : static_cast<const int*>(counts_)[rank];
    }
    [[nodiscard]] std::ptrdiff_t displacement(int rank) const {
        return long_ ? static_cast<const MPI_Aint*>(displacements_)[rank]
                     : static_cast<const int*>(displacements_)[rank];
    }

    const void* memory;
    const MPI_Datatype* types;  ///< one type, or one for each rank if `own_types`
    bool own_types;             ///< a type for each rank, and displacements in bytes

  private:
    const void* counts_;
    const void* displacements_;  ///< nullptr: contiguous blocks
    bool long_;                  ///< arrays of MPI_Count and MPI_Aint
};

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
    Why reduce_scatter(const void* in, const RankBlocks& out, MPI_Op op);
    // Blocks are Elements, equal on all ranks, or RankBlocks.
    template <class Blocks>
    Why gather(const Elements& in, const Blocks& out, int root);
    template <class Blocks>
    Why scatter(const Blocks& in, const Elements& out, int root);
    template <class Blocks>
    Why allgather(const Elements& in, const Blocks& out);
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
    /// Returns a size that is equal on all ranks: bytes of a block, or of all blocks if every rank
    /// knows all counts; 0 if ranks only know their own counts.
    [[nodiscard]] std::size_t common_bytes() const;
    [[nodiscard]] CallKind kind() const { return kind_; }
    [[nodiscard]] MPI_Comm comm() const { return member_.comm; }
    [[nodiscard]] const void* in() const { return in_; }
    [[nodiscard]] const void* out() const { return out_; }

  private:
    using Room = std::unique_ptr<std::byte[]>;
    /// Size and displacement of each rank's block, in bytes.
    struct ByteBlocks {
        std::vector<std::size_t> counts;
        std::vector<std::size_t> displacements;
    };

    [[nodiscard]] bool root_is(int root) const { return root == member_.rank; }
    [[nodiscard]] bool set_root(int root);
    Why read(const Elements& given, MPI_Count times, bool copies = false);
    Why write(const Elements& given, MPI_Count times, bool keeps_own = false);
    Why read_all(const Elements& given, bool copies = false);
    Why read_all(const RankBlocks& given, bool copies = false);
    Why write_all(const Elements& given, bool keeps_own);
    Why write_all(const RankBlocks& given, bool keeps_own);
    template <class Blocks>
    Why collect(const Elements& in, const Blocks& out, bool receives);
    void separate_result(std::size_t bytes);
    Why blocks_of(const RankBlocks& given, std::vector<Packing>& blocks) const;
    static std::byte* lay_out(const std::vector<Packing>& blocks, bool packs, ByteBlocks& table,
                              Room& room);

    CallKind kind_;
    Member member_;
    const void* in_ = nullptr;
    void* out_ = nullptr;
    std::size_t count_ = 0;  ///< elements of type_ in the call of weft
    weft_type type_ = WEFT_UINT8;
    std::size_t element_bytes_ = 1;
    weft_op op_ = WEFT_SUM;
    int root_ = 0;
    ByteBlocks in_blocks_;
    ByteBlocks out_blocks_;
    Room sent_;                        ///< packed data to send
    Room received_;                    ///< received data to unpack
    std::vector<Packing> packings_;    ///< to pack before the call
    std::vector<Packing> unpackings_;  ///< to unpack after the call
    void* move_to_ = nullptr;  ///< destination to which finish() copies the first bytes of out_
    std::size_t move_bytes_ = 0;
    std::shared_ptr<const void>
        kept_operation_;  ///< the program may free its operation during the call
    int error_ = MPI_SUCCESS;
};

}  // namespace weft::mpi
