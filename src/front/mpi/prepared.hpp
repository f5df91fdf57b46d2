// SPDX-License-Identifier: BSD-3-Clause
// prepared.hpp - a collective call of MPI as one of ours: bytes or elements, buffers, counts.
//
// Idea     One function a collective turns MPI's arguments into a PreparedCall; the blocking, the
//          started and the long-count form of all languages use it. The host packs data of types
//          that are not contiguous into memory of the call when the call begins, and unpacks it at
//          the end.
// Holds    Data movement is served whatever the types, the addresses and the counts of a rank are.
//          Whether a reduction is served depends on its count, type and operation, which MPI
//          guarantees to be equal on all members. The type of data without elements is never read.
//          Calls with erroneous arguments go to the host, which reports them.
// Next     calls.cpp for the entries of MPI; layer.hpp for how a prepared call is run.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "front/mpi/packing.hpp"
#include "front/mpi/statistics.hpp"
#include "front/mpi/types.hpp"
#include "weft/weft.h"

namespace weft::mpi {

/// Where a call is made.
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

/// Memory of the caller with a block for each rank; arrays of int, or of the long forms.
template <class Count, class Displacement>
struct BlocksOf {
    const void* memory;
    const Count* counts;
    const Displacement* displacements;  ///< nullptr: blocks follow each other
    const MPI_Datatype* types;          ///< one, or with `own_types` one for each rank
    bool own_types = false;             ///< then displacements are in bytes
};

class PreparedCall {
  public:
    PreparedCall(Kind kind, const Place& place) : kind_(kind), place_(place) {}
    PreparedCall(const PreparedCall&) = delete;
    PreparedCall& operator=(const PreparedCall&) = delete;

    // --- making it: each returns why it cannot be served, or Why::served ---
    Why broadcast(const Elements& buffer, int root);
    /// allreduce, scan and exscan.
    Why all_reduce(const void* in, const Elements& out, MPI_Op op);
    Why reduce(const void* in, const Elements& out, MPI_Op op, int root);
    /// Of blocks of `out.count` elements, one a rank (reduce_scatter_block).
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
    /// The program may free its types and its communicator while the call is in flight.
    [[nodiscard]] weft_status start(weft_team* team, weft_request** request);
    /// After the call: results that were packed, or that MPI wants elsewhere, go to their place.
    /// Returns MPI_SUCCESS, or the first error of the host's functions that pack and unpack.
    [[nodiscard]] int finish();
    /// Bytes that this rank gives.
    [[nodiscard]] std::size_t bytes() const;
    /// How large the call is, the same on all ranks: bytes of a block or of all blocks; 0 where a
    /// count is known to two ranks alone.
    [[nodiscard]] std::size_t common_bytes() const;
    [[nodiscard]] Kind kind() const { return kind_; }

  private:
    struct Block {
        std::size_t count = 0;
        std::ptrdiff_t at = 0;  ///< bytes from the caller's memory on
        MPI_Datatype type = MPI_DATATYPE_NULL;
        const TypeFacts* facts = nullptr;
    };
    /// Counts and displacements in bytes, and the memory that they count from.
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
    std::size_t count_ = 0;  ///< of elements of type_, as the call of weft takes it
    weft_type type_ = WEFT_UINT8;
    std::size_t element_bytes_ = 1;
    weft_op op_ = WEFT_SUM;
    int root_ = 0;
    Vector in_blocks_;
    Vector out_blocks_;
    std::unique_ptr<std::byte[]> sent_;      ///< what was packed
    std::unique_ptr<std::byte[]> received_;  ///< what is to be unpacked
    std::vector<Packing> packings_;
    std::vector<Unpacking> unpackings_;
    void* move_to_ = nullptr;  ///< where finish() copies the first bytes of out_
    std::size_t move_bytes_ = 0;
    std::shared_ptr<const void> kept_operation_;  ///< the program may free its operation meanwhile
    int error_ = MPI_SUCCESS;
};

}  // namespace weft::mpi
