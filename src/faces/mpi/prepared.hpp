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
template <class Count, class Displacement>
struct BlocksOf {
    const void* memory;
    const Count* counts;
    const Displacement* displacements;  ///< nullptr: contiguous blocks
    const MPI_Datatype* types;          ///< one type, or one for each rank if `own_types`
    bool own_types = false;             ///< then displacements are in bytes
};

class PreparedCall {
  public:
    PreparedCall(Kind kind, const Place& place) : kind_(kind), place_(place) {}
    PreparedCall(const PreparedCall&) = delete;
    PreparedCall& operator=(const PreparedCall&) = delete;

    // --- making it: each returns why it cannot be served, or Why::served ---
    Why broadcast(const Elements& buffer, int root);
    /// Prepares allreduce, scan or exscan.
    Why all_reduce(const void* in, const Elements& out, MPI_Op op);
    Why reduce(const void* in, const Elements& out, MPI_Op op, int root);
    /// Reduces blocks of `out.count` elements, one for each rank (reduce_scatter_block).
    Why reduce_blocks(const void* in, const Elements& out, MPI_Op op);
    template <class Count>
    Why reduce_scatter(const void* in, const Elements& out, const Count* counts, MPI_Op op);
    Why gather(const Elements& in, const Elements& out, int root);
    Why scatter(const Elements& in, const Elements& out, int root);
    Why allgather(const Elements& in, const Elements& out);
    Why alltoall(const Elements& in, const Elements& out);
    template <class Count, class Displacement>
    Why gatherv(const Elements& in, const BlocksOf<Count, Displacement>& out, int root);
    template <class Count, class Displacement>
    Why scatterv(const BlocksOf<Count, Displacement>& in, const Elements& out, int root);
    template <class Count, class Displacement>
    Why allgatherv(const Elements& in, const BlocksOf<Count, Displacement>& out);
    template <class Count, class Displacement>
    Why alltoallv(const BlocksOf<Count, Displacement>& in,
                  const BlocksOf<Count, Displacement>& out);

    // --- using it ---
    [[nodiscard]] weft_status run(weft_team* team);
    /// Starts the call. The program may free its types and its communicator while it is in flight.
    [[nodiscard]] weft_status start(weft_team* team, weft_request** request);
    /// Ends the call: moves results that are packed, or not yet at their place. Returns
    /// MPI_SUCCESS, or the first error of the host's pack and unpack functions.
    [[nodiscard]] int finish();
    /// Returns the bytes that this rank contributes.
    [[nodiscard]] std::size_t bytes() const;
    /// Returns the size of the call, equal on all ranks: bytes of a block or of all blocks. 0 if
    /// only two ranks know a count.
    [[nodiscard]] std::size_t common_bytes() const;
    [[nodiscard]] Kind kind() const { return kind_; }

  private:
    struct Block {
        std::size_t count = 0;
        std::ptrdiff_t at = 0;  ///< offset in bytes from the caller's memory
        MPI_Datatype type = MPI_DATATYPE_NULL;
        const TypeFacts* facts = nullptr;
    };
    /// Counts and displacements in bytes.
    struct Vector {
        std::vector<std::size_t> counts;
        std::vector<std::size_t> displacements;
    };

    [[nodiscard]] bool root_is(int root) const { return root == place_.rank; }
    [[nodiscard]] bool valid_root(int root) const { return root >= 0 && root < place_.size; }
    std::byte* make_room(std::unique_ptr<std::byte[]>& memory, std::size_t bytes);
    void take_result_apart(std::size_t bytes);
    Why read(const Elements& given, MPI_Count times);
    Why write(const Elements& given, MPI_Count times, bool keeps_own = false);
    Why reduction(const void* in, const Elements& out, MPI_Op op);
    template <class Count, class Displacement>
    Why blocks_of(const BlocksOf<Count, Displacement>& given, std::vector<Block>& blocks) const;
    void read_blocks(const void* memory, const std::vector<Block>& blocks);
    void write_blocks(void* memory, const std::vector<Block>& blocks, bool keeps_own);
    void begin();

    Kind kind_;
    Place place_;
    const void* in_ = nullptr;
    void* out_ = nullptr;
    std::size_t count_ = 0;  ///< elements of type_ in the call of weft
    weft_type type_ = WEFT_UINT8;
    std::size_t element_bytes_ = 1;
    weft_op op_ = WEFT_SUM;
    int root_ = 0;
    Vector in_blocks_;
    Vector out_blocks_;
    std::unique_ptr<std::byte[]> sent_;      ///< packed data to send
    std::unique_ptr<std::byte[]> received_;  ///< received data to unpack
    std::vector<Packing> packings_;
    std::vector<Unpacking> unpackings_;
    void* move_to_ = nullptr;  ///< destination to which finish() copies the first bytes of out_
    std::size_t move_bytes_ = 0;
    std::shared_ptr<const void> kept_operation_;  ///< the program may free it during the call
    int error_ = MPI_SUCCESS;
};

}  // namespace weft::mpi
