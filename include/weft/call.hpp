// SPDX-License-Identifier: BSD-3-Clause
// call.hpp - a collective call as a value.
//
// Team::run(), start() and prepare() take one, of any collective. In the calls that move blocks, a
// block per member, the vector of all blocks is one picture on all members: in place means that a
// rank's own block lies where it belongs in that vector (as in out = in + rank * count for a
// reduce_scatter).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/export.h"
#include "weft/types.hpp"

namespace weft {

/// A reduction of the user's. Copies refer to the same operation; it lives as long as any of them
/// and longer than the runtime's calls that use it.
class WEFT_API UserOp {
  public:
    /// function: see UserFunction; it runs on the thread that drives the runtime, one that is in a
    /// call of it or, under WEFT_PROGRESS=thread, the runtime's own, and must not use the runtime.
    /// An exception that leaves it makes the call fail with Status::argument on this rank and on
    /// those that wait for it. element_bytes: size of one element. commutative: whether operands
    /// may be swapped; if not, contributions are combined in rank order.
    UserOp(UserFunction function, void* argument, std::size_t element_bytes, bool commutative);

  private:
    friend class Team;
    friend struct Call;
    std::shared_ptr<const void> held_;
};

/// Blocks of different sizes, one for each member in rank order: how many elements each has, and
/// where it starts in elements. No displacements: each starts where the one before ends. The arrays
/// are the caller's; run(), start() and prepare() read them before they return, and nothing does
/// later.
struct Blocks {
    std::span<const std::size_t> counts = {};
    std::span<const std::size_t> displacements = {};
};

/// What to call, and on what memory. Elements are of `type`, or of the user operation's size; in
/// may be out where both have the same size.
struct Call {
    Collective collective = Collective::barrier;
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;
    Type type = Type::float64;
    Op op = Op::sum;
    Rank root = -1;
    std::shared_ptr<const void> user = nullptr;  ///< of Op::user
    Blocks in_blocks = {};                       ///< of calls with counts, where in has several
    Blocks out_blocks = {};                      ///< likewise of out

    [[nodiscard]] static Call barrier() { return {}; }
    [[nodiscard]] static Call broadcast(void* buffer, std::size_t count, Type type, Rank root) {
        return {Collective::broadcast, buffer, buffer, count, type, {}, root};
    }
    /// out = in of rank 0 (op) in of rank 1 (op) ..., on every member.
    [[nodiscard]] static Call allreduce(const void* in, void* out, std::size_t count, Type type,
                                        Op op) {
        return {Collective::allreduce, in, out, count, type, op};
    }
    [[nodiscard]] static Call allreduce(const void* in, void* out, std::size_t count,
                                        const UserOp& op) {
        return {Collective::allreduce, in, out, count, Type::user, Op::user, -1, op.held_};
    }
    /// The same for the root alone; out counts only there.
    [[nodiscard]] static Call reduce(const void* in, void* out, std::size_t count, Type type, Op op,
                                     Rank root) {
        return {Collective::reduce, in, out, count, type, op, root};
    }
    [[nodiscard]] static Call reduce(const void* in, void* out, std::size_t count, const UserOp& op,
                                     Rank root) {
        return {Collective::reduce, in, out, count, Type::user, Op::user, root, op.held_};
    }
    /// in: count elements; the root's out: size() blocks of count elements, in rank order.
    [[nodiscard]] static Call gather(const void* in, void* out, std::size_t count, Type type,
                                     Rank root) {
        return {Collective::gather, in, out, count, type, {}, root};
    }
    /// The root's in: size() blocks of count elements; out: this rank's block.
    [[nodiscard]] static Call scatter(const void* in, void* out, std::size_t count, Type type,
                                      Rank root) {
        return {Collective::scatter, in, out, count, type, {}, root};
    }
    /// in: count elements; out: the blocks of all members, in rank order.
    [[nodiscard]] static Call allgather(const void* in, void* out, std::size_t count, Type type) {
        return {Collective::allgather, in, out, count, type};
    }
    /// in: a block of count elements for each member; out: one from each, in rank order.
    [[nodiscard]] static Call alltoall(const void* in, void* out, std::size_t count, Type type) {
        return {Collective::alltoall, in, out, count, type};
    }
    /// in: size() blocks of count elements; out: this rank's block of the reduction of all.
    [[nodiscard]] static Call reduce_scatter(const void* in, void* out, std::size_t count,
                                             Type type, Op op) {
        return {Collective::reduce_scatter, in, out, count, type, op};
    }
    [[nodiscard]] static Call reduce_scatter(const void* in, void* out, std::size_t count,
                                             const UserOp& op) {
        return {Collective::reduce_scatter, in, out, count, Type::user, Op::user, -1, op.held_};
    }
    /// out = in of rank 0 (op) ... (op) in of this rank.
    [[nodiscard]] static Call scan(const void* in, void* out, std::size_t count, Type type, Op op) {
        return {Collective::scan, in, out, count, type, op};
    }
    [[nodiscard]] static Call scan(const void* in, void* out, std::size_t count, const UserOp& op) {
        return {Collective::scan, in, out, count, Type::user, Op::user, -1, op.held_};
    }
    /// The same without this rank's own; rank 0's out is left alone.
    [[nodiscard]] static Call exscan(const void* in, void* out, std::size_t count, Type type,
                                     Op op) {
        return {Collective::exscan, in, out, count, type, op};
    }
    [[nodiscard]] static Call exscan(const void* in, void* out, std::size_t count,
                                     const UserOp& op) {
        return {Collective::exscan, in, out, count, Type::user, Op::user, -1, op.held_};
    }
    /// in: count elements; out of the root gets out_blocks.counts[r] elements of rank r. out and
    /// out_blocks count at the root only.
    [[nodiscard]] static Call gatherv(const void* in, std::size_t count, void* out,
                                      Blocks out_blocks, Type type, Rank root) {
        return {Collective::gatherv, in, out, count, type, {}, root, {}, {}, out_blocks};
    }
    /// in_blocks.counts[r] elements of the root's in go to out of rank r, which expects count. in
    /// and in_blocks count at the root only.
    [[nodiscard]] static Call scatterv(const void* in, Blocks in_blocks, void* out,
                                       std::size_t count, Type type, Rank root) {
        return {Collective::scatterv, in, out, count, type, {}, root, {}, in_blocks};
    }
    /// in: this rank's block; out: the blocks of all members. All give the same counts;
    /// displacements may differ.
    [[nodiscard]] static Call allgatherv(const void* in, void* out, Blocks out_blocks, Type type) {
        return {Collective::allgatherv, in, out, 0, type, {}, -1, {}, {}, out_blocks};
    }
    /// in_blocks: what goes to each member; out_blocks: what comes from each. No block of in
    /// overlaps one of out.
    [[nodiscard]] static Call alltoallv(const void* in, Blocks in_blocks, void* out,
                                        Blocks out_blocks, Type type) {
        return {Collective::alltoallv, in, out, 0, type, {}, -1, {}, in_blocks, out_blocks};
    }
    /// in: blocks of so many elements that follow each other; out: this rank's block of the
    /// reduction of all. All members give the same counts.
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
