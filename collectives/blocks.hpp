// SPDX-License-Identifier: BSD-3-Clause
// blocks.hpp - for algorithms that cut the vector into one block for each rank, or for some of them.
//
// Idea     The steps are those of one segment, and blocks are units of it; the loop moves from one segment to
//          the next, which is a range of the vector or a piece of every block.
// Next     algorithm.hpp for requests; the files that include this one.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

/// What a segment of a pipeline is.
enum class Cut : std::uint8_t {
    vector,  ///< a range of the vector, cut into blocks
    blocks,  ///< a piece of each block, where blocks belong to ranks
};

/// Writes the steps of one segment of a vector in `blocks` blocks.
class BlockWriter {
  public:
    BlockWriter(plan::Program header, std::uint32_t blocks, std::uint32_t segments,
                Cut cut = Cut::vector)
        : blocks_(blocks), segments_(segments), cut_(cut), builder_([&] {
              header.units = blocks * segments;
              header.segments = segments;
              header.depth = segments > 1 ? kDepth : 1;
              return std::move(header);
          }()) {
        if (pipelined()) builder_.begin_loop();
    }

    [[nodiscard]] plan::Block input(std::uint32_t first, std::uint32_t count = 1) const {
        return placed(plan::input(first, count));
    }
    [[nodiscard]] plan::Block output(std::uint32_t first, std::uint32_t count = 1) const {
        return placed(plan::output(first, count));
    }
    [[nodiscard]] plan::Block scratch(std::uint32_t index, std::uint32_t first,
                                      std::uint32_t count = 1) const {
        return placed(plan::scratch(index, first, count));
    }
    [[nodiscard]] plan::Block slot(std::uint32_t index, std::uint32_t first,
                                   std::uint32_t count = 1) const {
        return placed(plan::slot(index, first, count));
    }
    /// The same blocks, if they go on at the first behind the last.
    [[nodiscard]] std::vector<plan::Block> around(plan::Block block) const {
        const std::uint32_t pieces = cut_ == Cut::blocks ? segments_ : 1;
        const std::uint32_t left = blocks_ - block.first / pieces;
        if (block.count <= left) return {block};
        plan::Block rest = block;
        rest.first = rest.origin = 0;
        rest.count -= left;
        block.count = left;
        return {block, rest};
    }

    // Credits: in a pipeline whoever has read a slot says so, for whoever puts to it again two segments
    // later.
    void await_credit(Rank peer, std::uint32_t number) {
        if (pipelined()) builder_.wait(peer, number, 0, kDepth);
    }
    void give_credit(Rank peer, std::uint32_t number) {
        if (pipelined()) builder_.signal(peer, number, 0, kDepth);
    }
    void reserve_credits(std::uint32_t first, std::uint32_t count) {
        if (pipelined()) builder_.reserve_slots(first + count);
    }
    /// Steps from here on form another lane, for the same segments.
    void begin_lane() {
        if (pipelined()) builder_.end_loop();
        builder_.begin_lane();
        if (pipelined()) builder_.begin_loop();
    }
    [[nodiscard]] plan::Builder& builder() { return builder_; }
    plan::Builder* operator->() { return &builder_; }

    [[nodiscard]] plan::Program finish() && {
        if (pipelined()) builder_.end_loop();
        return std::move(builder_).finish();
    }

  private:
    static constexpr std::uint16_t kDepth = 2;

    [[nodiscard]] bool pipelined() const { return segments_ > 1; }
    [[nodiscard]] plan::Block placed(plan::Block block) const {
        if (!pipelined()) return block;
        if (cut_ == Cut::vector) return plan::per_segment(block, blocks_);
        block.first *= segments_;
        block.origin *= segments_;
        block.stride = block.count > 1 ? segments_ : 1;
        return plan::per_segment(block, 1);
    }

    std::uint32_t blocks_;
    std::uint32_t segments_;
    Cut cut_;
    plan::Builder builder_;
};

/// What an algorithm that cuts the vector into blocks says of its programs.
struct BlockCall {
    std::string_view collective;
    std::uint32_t blocks = 1;
    Cut cut = Cut::vector;
    bool rooted = false;
    bool synchronizing = false;  ///< if there are elements
};
/// The program of which `write` writes a segment with a BlockWriter.
template <class Write>
[[nodiscard]] base::Result<plan::Program> program_by_blocks(const BlockCall& call,
                                                            const AlgorithmSpec& spec,
                                                            const GenerateRequest& request,
                                                            Write write) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header(call.collective, spec, request);
    if (!call.rooted) header.root = plan::kNoRank;
    if (request.elements == 0) {  // nothing to send: such a call never is synchronizing
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    header.synchronizing = call.synchronizing;
    BlockWriter writer(std::move(header), call.blocks, *segments, call.cut);
    write(writer);
    return std::move(writer).finish();
}

/// Blocks of a vector, first .. first + count - 1.
struct BlockRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// What is left of `all` blocks (a power of two) after `steps` halvings by the bits of a number, lowest
/// first: its lower half where the bit is 0.
[[nodiscard]] inline BlockRange halved(std::uint32_t all, std::uint32_t number,
                                       std::uint32_t steps) {
    BlockRange range{0, all};
    for (std::uint32_t step = 0; step < steps; ++step) {
        range.count /= 2;
        if ((number >> step & 1) != 0) range.first += range.count;
    }
    return range;
}

}  // namespace weft::collectives
