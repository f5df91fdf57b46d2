// SPDX-License-Identifier: BSD-3-Clause
// prepared.hpp - converts a collective call of MPI to a call of weft.
//
// Idea     One function for each collective converts MPI's arguments to a PreparedCall. The
//          blocking, started, persistent and long-count forms of all languages use it. Data of
//          types that are not contiguous is packed into memory of the call when the call begins,
//          and unpacked at the end. A reduction that weft cannot make on elements moves all
//          contributions, and each rank combines them at the end. On a communicator of one rank, a
//          call copies its data.
// Holds    Data movement is served for all types, addresses and counts of a rank. Whether a
//          reduction is served depends on its count, type and operation, which MPI guarantees to be
//          equal on all members. The type of data without elements is never read. Calls with
//          erroneous arguments go to the host, which reports them.
// Next     calls.cpp for the entries of MPI; layer.hpp for how a prepared call is run.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "faces/mpi/call_data.hpp"
#include "faces/mpi/combination.hpp"
#include "faces/mpi/neighborhood.hpp"
#include "weft/weft.h"

namespace weft::mpi {

/// A communicator, this rank's number in it, and its size.
struct Member {
    MPI_Comm comm;
    int rank;
    int size;
};

struct FreesRequest {
    void operator()(weft_request* request) const { weft_request_free(&request); }
};

/// A call of weft for one collective call of MPI.
class PreparedCall {
  public:
    /// neighbors: only for calls of neighbors; nullptr: the communicator has no topology.
    PreparedCall(CallKind kind, const Member& member, Form form,
                 std::shared_ptr<Neighborhood> neighbors)
        : kind_(kind),
          moves_as_(kind),
          form_(form),
          member_(member),
          neighbors_(std::move(neighbors)) {}
    PreparedCall(PreparedCall&&) = default;

    // --- preparing: functions return Why::served, or why weft cannot serve the call ---
    Why barrier() { return Why::served; }
    Why broadcast(const Elements& buffer, int root);
    /// Prepares allreduce, scan or exscan.
    Why all_reduce(const void* in, const Elements& out, MPI_Op op);
    Why reduce(const void* in, const Elements& out, MPI_Op op, int root);
    /// Reduces blocks of `out.count` elements, one for each rank (reduce_scatter_block).
    Why reduce_blocks(const void* in, const Elements& out, MPI_Op op);
    /// The blocks of `out` describe the result, without displacements.
    Why reduce_scatter(const void* in, const RankBlocks& out, MPI_Op op);
    Why gather(const Elements& in, const RankBlocks& out, int root);
    Why scatter(const RankBlocks& in, const Elements& out, int root);
    Why allgather(const Elements& in, const RankBlocks& out) {
        return gather(in, out, member_.rank);
    }
    Why alltoall(const RankBlocks& in, const RankBlocks& out);
    // Blocks for neighbors, in the order of the communicator's topology. A call with the arguments
    // of the last one needs no further preparation, unless it is persistent.
    Why neighbor_allgather(const Elements& in, const RankBlocks& out);
    Why neighbor_alltoall(const RankBlocks& in, const RankBlocks& out);

    // --- executing ---
    /// Makes the call or, if `request` is not nullptr, starts it; may be called again after the end
    /// of the call, with the same team. On one rank, the call is then complete, `team` may be
    /// nullptr, and `request` is not set.
    [[nodiscard]] weft_status run(weft_team* team, weft_request** request = nullptr);
    /// Keeps the program's types usable until the end of this object.
    void keep_types();
    /// Unpacks or copies results after the call. Returns MPI_SUCCESS, or the first error of the
    /// host's functions to pack and unpack.
    [[nodiscard]] int finish();
    /// Returns the bytes that this rank contributes.
    [[nodiscard]] std::size_t bytes() const;
    /// Returns a size in bytes that is equal on all ranks: of one block if blocks are equal, of all
    /// blocks if each rank passes all counts, 0 if ranks only pass their own counts.
    [[nodiscard]] std::size_t common_bytes() const;
    [[nodiscard]] CallKind kind() const { return kind_; }
    [[nodiscard]] bool is(CallKind kind, Form form) const { return kind_ == kind && form_ == form; }
    /// Returns true if the input is unchanged after run() has failed.
    [[nodiscard]] bool keeps_input() const { return keeps_input_; }
    [[nodiscard]] MPI_Comm comm() const { return member_.comm; }
    /// Returns the size of the call's memory for packed data.
    [[nodiscard]] std::size_t packed_bytes() const {
        std::size_t sum = in_.packed.bytes() + out_.packed.bytes();
        for (const Round& next : later_rounds_)
            sum += next.in.packed.bytes() + next.out.packed.bytes();
        return sum;
    }
    /// Returns the bytes of the longest data for a neighbor in a round (Neighborhood::rounds()).
    [[nodiscard]] std::size_t longest() const {
        return in_.counts.empty() ? 0 : std::ranges::max(in_.counts);
    }
    [[nodiscard]] const void* in() const { return in_.memory; }
    [[nodiscard]] const void* out() const { return out_.memory; }

  private:
    [[nodiscard]] bool root_is(int root) const { return root == member_.rank; }
    [[nodiscard]] bool set_root(int root);
    /// Sets the data of one rank; set_all() that of all ranks, with a block for each.
    Why set(CallData& data, const Elements& given) { return data.set(given, 1, false, count_); }
    Why set_all(CallData& data, const RankBlocks& given, bool copies = false) {
        if (!given.are_equal())
            return data.set_blocks(given, Entries::of_ranks(member_.size),
                                   {.receives = &data == &out_, .copies = copies});
        const Elements block{given.memory(), given.count(0), given.type(0)};
        return data.set(block, member_.size, copies, count_);
    }
    template <class SetIn>
    Why set_neighbors(const RankBlocks& in, std::size_t in_blocks, const RankBlocks& out,
                      BlockUse use, SetIn set_in);
    void keep_own_block();
    void separate_result(MPI_Count count, MPI_Datatype type);
    Why prepare_combination(const void* in, const Elements& out, MPI_Op op);
    [[nodiscard]] Why check_own_block(std::size_t in_bytes, std::size_t out_bytes, int rooms);
    [[nodiscard]] bool is_alias(const void* in, const void* out, std::ptrdiff_t offset) const;
    [[nodiscard]] bool is_alias_of_block(const Elements& one, const RankBlocks& all) const;
    void separate_scattered(const void* in, const Elements& out);
    /// Calls the function of weft for the form of the call.
    weft_status call_weft(weft_team* team, const CallData& from, const CallData& to,
                          weft_request** request);
    void run_alone();
    /// Calls act(input, output) for each round.
    template <class Act>
    void for_each_round(Act act) {
        act(in_, out_);
        for (Round& next : later_rounds_) act(next.in, next.out);
    }

    CallKind kind_;
    CallKind moves_as_;  ///< the collective of weft: that of kind_, or one that moves operands
    Form form_;
    Member member_;
    std::shared_ptr<Neighborhood> neighbors_;
    CallData in_;
    CallData out_;
    struct Round {
        CallData in;
        CallData out;
    };
    std::vector<Round> later_rounds_;      ///< of a neighbor call, after in_ and out_
    std::vector<std::int64_t> arguments_;  ///< of the last neighbor call; empty: do not compare
    std::vector<std::int64_t> given_arguments_;
    std::size_t count_ = 0;  ///< elements of type_ in the call of weft
    weft_type type_ = WEFT_UINT8;
    std::size_t element_bytes_ = 1;
    weft_op op_ = WEFT_SUM;
    int root_ = 0;
    std::shared_ptr<const void> operation_;  ///< memory of a user operation, until the call ends
    std::unique_ptr<Combination> combination_;
    std::unique_ptr<weft_request, FreesRequest> persistent_;  ///< made by the first start
    bool keeps_input_ = true;
    bool truncates_ = false;  ///< this rank sends itself more than it receives
    int error_ = MPI_SUCCESS;
};

}  // namespace weft::mpi
