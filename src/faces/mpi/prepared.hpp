// SPDX-License-Identifier: BSD-3-Clause
// prepared.hpp - a collective call of MPI as a call of weft: bytes or elements, buffers, counts.
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

/// Communicator, rank and size of a call.
struct Place {
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

/// Memory of the caller with a block for each rank; the arrays are of int, or of the long forms.
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
    bool own_types;             ///< then displacements are in bytes

  private:
    const void* counts_;
    const void* displacements_;  ///< nullptr: contiguous blocks
    bool long_;
};

class PreparedCall {
  public:
    PreparedCall(Kind kind, const Place& place) : kind_(kind), place_(place) {}
    PreparedCall(PreparedCall&&) = default;

    // --- making it: each returns why it cannot be served, or Why::served ---
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

    // --- using it ---
    /// Makes the call, or starts it if `request` is given. The program may free its types and its
    /// communicator while a started call is in flight.
    [[nodiscard]] weft_status run(weft_team* team, weft_request** request = nullptr);
    /// Ends the call: moves results that are packed, or not yet at their place. Returns
    /// MPI_SUCCESS, or the first error of the host's pack and unpack functions.
    [[nodiscard]] int finish();
    /// Returns the bytes that this rank contributes.
    [[nodiscard]] std::size_t bytes() const;
    /// Returns the size of the call, equal on all ranks: bytes of a block or of all blocks. 0 if
    /// only two ranks know a count.
    [[nodiscard]] std::size_t common_bytes() const;
    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] MPI_Comm comm() const { return place_.comm; }
    [[nodiscard]] const void* in() const { return in_; }
    [[nodiscard]] const void* out() const { return out_; }

  private:
    using Room = std::unique_ptr<std::byte[]>;
    /// Bytes of each rank's block, and their displacements.
    struct ByteBlocks {
        std::vector<std::size_t> counts;
        std::vector<std::size_t> displacements;
    };

    [[nodiscard]] bool root_is(int root) const { return root == place_.rank; }
    [[nodiscard]] bool take_root(int root);
    Why read(const Elements& given, MPI_Count times, bool copies = false);
    Why write(const Elements& given, MPI_Count times, bool keeps_own = false);
    Why read_all(const Elements& given, bool copies = false);
    Why read_all(const RankBlocks& given, bool copies = false);
    Why write_all(const Elements& given, bool keeps_own);
    Why write_all(const RankBlocks& given, bool keeps_own);
    template <class Blocks>
    Why collect(const Elements& in, const Blocks& out, bool receives);
    void take_result_apart(std::size_t bytes);
    Why blocks_of(const RankBlocks& given, std::vector<Packing>& blocks) const;
    static std::byte* lay_out(const std::vector<Packing>& blocks, bool packs, ByteBlocks& table,
                              Room& room);

    Kind kind_;
    Place place_;
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
    std::vector<Packing> packings_;    ///< before the call
    std::vector<Packing> unpackings_;  ///< after the call
    void* move_to_ = nullptr;  ///< destination to which finish() copies the first bytes of out_
    std::size_t move_bytes_ = 0;
    std::shared_ptr<const void> kept_operation_;  ///< the program may free it during the call
    int error_ = MPI_SUCCESS;
};

}  // namespace weft::mpi
