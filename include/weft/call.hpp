// SPDX-License-Identifier: BSD-3-Clause
// call.hpp - a collective call as a value.
//
// Team::run(), start() and prepare() accept a Call of any collective, check its arguments and throw
// an Error for invalid ones. The caller owns all buffers and arrays. Counts are in elements. `in`
// and `out` must not overlap, unless the call is in place: they are equal, or one is the address of
// this rank's block in the other. For example, an in-place reduce_scatter has out = in + rank *
// count elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/export.h"
#include "weft/types.hpp"

namespace weft {

/// A user-defined reduction. Copies refer to the same operation, which is freed after the last copy
/// and all calls that use it have ended.
class WEFT_API UserOp {
  public:
    /// `function` runs on the thread that drives the runtime; with WEFT_PROGRESS=thread this may be
    /// the progress thread. It must not use the runtime. If it throws, the call fails with
    /// Status::argument on this rank and on the ranks that wait for this rank. argument: passed to
    /// the function. element_bytes: size of an element, 1 byte to 1 GiB. commutative: true if
    /// operands may be swapped; if false, contributions are combined in rank order.
    UserOp(UserFunction function, void* argument, std::size_t element_bytes, bool commutative);

  private:
    friend class Team;
    friend struct Call;
    std::shared_ptr<const void> held_;  ///< a run::UserOperation
};

/// Blocks of different sizes, one for each member in rank order. run(), start() and prepare() read
/// the arrays only before they return.
struct Blocks {
    std::span<const std::size_t> counts = {};         ///< size of each block in elements
    std::span<const std::size_t> displacements = {};  ///< starts in elements; empty: contiguous
};

/// Collective, buffers and arguments of a call.
struct Call {
    Collective collective = Collective::barrier;
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;  ///< elements of the buffer, or of each block if blocks have equal sizes
    Type type = Type::float64;
    Op op = Op::sum;
    Rank root = -1;                              ///< -1 in calls without a root
    std::shared_ptr<const void> user = nullptr;  ///< the operation, if op is Op::user
    Blocks in_blocks = {};   ///< blocks of `in`, in v-collectives that send several blocks
    Blocks out_blocks = {};  ///< blocks of `out`, in v-collectives that receive several blocks

    [[nodiscard]] static Call barrier() { return {}; }
    /// buffer: `count` elements, which the root sends and the other members receive.
    [[nodiscard]] static Call broadcast(void* buffer, std::size_t count, Type type, Rank root) {
        return {Collective::broadcast, buffer, buffer, count, type, {}, root};
    }
    /// Computes out[i] = in[i] of rank 0 (op) in[i] of rank 1 (op) ... for `count` elements, with
    /// the same bits on every member.
    [[nodiscard]] static Call allreduce(const void* in, void* out, std::size_t count, Type type,
                                        Op op) {
        return {Collective::allreduce, in, out, count, type, op};
    }
    [[nodiscard]] static Call allreduce(const void* in, void* out, std::size_t count,
                                        const UserOp& op) {
        return {Collective::allreduce, in, out, count, Type::user, Op::user, -1, op.held_};
    }
    /// Computes the result of allreduce() on the root only. Other ranks' out is ignored.
    [[nodiscard]] static Call reduce(const void* in, void* out, std::size_t count, Type type, Op op,
                                     Rank root) {
        return {Collective::reduce, in, out, count, type, op, root};
    }
    [[nodiscard]] static Call reduce(const void* in, void* out, std::size_t count, const UserOp& op,
                                     Rank root) {
        return {Collective::reduce, in, out, count, Type::user, Op::user, root, op.held_};
    }
    /// in: count elements. The root's out: a block of count elements from each member, in rank
    /// order.
    [[nodiscard]] static Call gather(const void* in, void* out, std::size_t count, Type type,
                                     Rank root) {
        return {Collective::gather, in, out, count, type, {}, root};
    }
    /// The root's in: a block of count elements for each member, in rank order. out: this rank's
    /// block.
    [[nodiscard]] static Call scatter(const void* in, void* out, std::size_t count, Type type,
                                      Rank root) {
        return {Collective::scatter, in, out, count, type, {}, root};
    }
    /// in: count elements; out: a block from each member, in rank order.
    [[nodiscard]] static Call allgather(const void* in, void* out, std::size_t count, Type type) {
        return {Collective::allgather, in, out, count, type};
    }
    /// in: a block of count elements for each member; out: a block from each member; both in rank
    /// order.
    [[nodiscard]] static Call alltoall(const void* in, void* out, std::size_t count, Type type) {
        return {Collective::alltoall, in, out, count, type};
    }
    /// in: a block of count elements for each member; out: this rank's block of the reduction.
    [[nodiscard]] static Call reduce_scatter(const void* in, void* out, std::size_t count,
                                             Type type, Op op) {
        return {Collective::reduce_scatter, in, out, count, type, op};
    }
    [[nodiscard]] static Call reduce_scatter(const void* in, void* out, std::size_t count,
                                             const UserOp& op) {
        return {Collective::reduce_scatter, in, out, count, Type::user, Op::user, -1, op.held_};
    }
    /// Computes out[i] = in[i] of rank 0 (op) ... (op) in[i] of this rank.
    [[nodiscard]] static Call scan(const void* in, void* out, std::size_t count, Type type, Op op) {
        return {Collective::scan, in, out, count, type, op};
    }
    [[nodiscard]] static Call scan(const void* in, void* out, std::size_t count, const UserOp& op) {
        return {Collective::scan, in, out, count, Type::user, Op::user, -1, op.held_};
    }
    /// Computes out[i] = in[i] of rank 0 (op) ... (op) in[i] of the rank before this rank. Rank 0's
    /// out is not written.
    [[nodiscard]] static Call exscan(const void* in, void* out, std::size_t count, Type type,
                                     Op op) {
        return {Collective::exscan, in, out, count, type, op};
    }
    [[nodiscard]] static Call exscan(const void* in, void* out, std::size_t count,
                                     const UserOp& op) {
        return {Collective::exscan, in, out, count, Type::user, Op::user, -1, op.held_};
    }
    /// in: count elements. The root's out gets out_blocks.counts[r] elements from rank r, whose
    /// count must equal this number. Other ranks' out and out_blocks are ignored.
    [[nodiscard]] static Call gatherv(const void* in, std::size_t count, void* out,
                                      Blocks out_blocks, Type type, Rank root) {
        return {Collective::gatherv, in, out, count, type, {}, root, {}, {}, out_blocks};
    }
    /// Sends in_blocks.counts[r] elements of the root's in to out of rank r, whose count must equal
    /// this number. Only the root's in and in_blocks are read.
    [[nodiscard]] static Call scatterv(const void* in, Blocks in_blocks, void* out,
                                       std::size_t count, Type type, Rank root) {
        return {Collective::scatterv, in, out, count, type, {}, root, {}, in_blocks};
    }
    /// in: this rank's block; out: the blocks of all members. Counts must be equal on all members;
    /// displacements may differ.
    [[nodiscard]] static Call allgatherv(const void* in, void* out, Blocks out_blocks, Type type) {
        return {Collective::allgatherv, in, out, 0, type, {}, -1, {}, {}, out_blocks};
    }
    /// Sends block r of in to rank r, and receives block r of out from rank r. Sender and receiver
    /// of a block pass equal counts. No block of in may overlap a block of out.
    [[nodiscard]] static Call alltoallv(const void* in, Blocks in_blocks, void* out,
                                        Blocks out_blocks, Type type) {
        return {Collective::alltoallv, in, out, 0, type, {}, -1, {}, in_blocks, out_blocks};
    }
    /// in: contiguous blocks of counts[r] elements; out: this rank's block of the reduction. Counts
    /// must be equal on all members.
    [[nodiscard]] static Call reduce_scatterv(const void* in, void* out,
                                              std::span<const std::size_t> counts, Type type,
                                              Op op) {
        return {Collective::reduce_scatterv, in, out, 0, type, op, -1, {}, {counts}};
    }
    [[nodiscard]] static Call reduce_scatterv(const void* in, void* out,
                                              std::span<const std::size_t> counts,
                                              const UserOp& op) {
        return {
            Collective::reduce_scatterv, in, out, 0, Type::user, Op::user, -1, op.held_, {counts}};
    }
};

}  // namespace weft
