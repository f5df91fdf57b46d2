// SPDX-License-Identifier: BSD-3-Clause
// blocks.hpp - common parts of generators: programs of one rank, and allreduces in stages.
//
// Idea     A generator writes the steps of one segment of the pipeline. A buffer has one or more
//          blocks, and steps refer to blocks as units of the segment. The loop advances from
//          segment to segment: to the next range of the buffer, or the next piece of every block.
#pragma once

#include "collectives/algorithm.hpp"
#include "collectives/collective_traits.hpp"
#include "collectives/transfer.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

enum class Cut : std::uint8_t {
    buffer,  ///< a range of the buffer, cut into blocks
    blocks,  ///< a piece of each block; for collectives with a block for each rank
};

/// Returns the blocks with `stride` times their stride; a single block is unchanged.
[[nodiscard]] constexpr plan::Block strided(plan::Block blocks, std::uint32_t stride) {
    if (blocks.count > 1) blocks.stride *= stride;
    return blocks;
}

/// Writes the steps of one segment of a buffer in `blocks` blocks.
class BlockWriter {
  public:
    static constexpr std::uint16_t kDepth = 2;  ///< copies of each slot in a pipeline

    BlockWriter(plan::Program header, std::uint32_t blocks, std::uint32_t segments, Cut cut)
        : blocks_(blocks), segments_(segments), cut_(cut), builder_([&] {
              header.units = blocks * segments;
              header.segments = segments;
              if (segments == 1) header.depth = 1;
              return std::move(header);
          }()) {
        begin_loop();
    }

    [[nodiscard]] plan::Block input(std::uint32_t first, std::uint32_t count = 1) const {
        return in_segment(plan::input(first, count));
    }
    [[nodiscard]] plan::Block output(std::uint32_t first, std::uint32_t count = 1) const {
        return in_segment(plan::output(first, count));
    }
    [[nodiscard]] plan::Block scratch(std::uint32_t index, std::uint32_t first,
                                      std::uint32_t count = 1) const {
        return in_segment(plan::scratch(index, first, count));
    }
    [[nodiscard]] plan::Block slot(std::uint32_t index, std::uint32_t first,
                                   std::uint32_t count = 1) const {
        return in_segment(plan::slot(index, first, count));
    }
    [[nodiscard]] plan::Block mapped(Rank peer, std::uint32_t index, std::uint32_t first,
                                     std::uint32_t count = 1) const {
        return in_segment(plan::mapped(peer, index, first, count));
    }
    /// Splits blocks that may wrap around the end of the buffer into at most two runs.
    [[nodiscard]] std::vector<plan::Block> wrapped(plan::Block block) const {
        const std::uint32_t pieces = cut_ == Cut::blocks ? segments_ : 1;
        const std::uint32_t left = blocks_ - block.first / pieces;
        if (block.count <= left) return {block};
        plan::Block rest = block;
        rest.first = rest.origin = 0;
        rest.count -= left;
        block.count = left;
        return {block, rest};
    }

    // Credits: in a pipeline, the reader of a slot signals its writer. The writer puts to the slot
    // again two segments later.
    void await_credit(Rank peer, std::uint32_t number) {
        if (pipelined()) builder_.wait(peer, number, 0, kDepth);
    }
    void give_credit(Rank peer, std::uint32_t number) {
        if (pipelined()) builder_.signal(peer, number, 0, kDepth);
    }
    void reserve_credits(std::uint32_t first, std::uint32_t count) {
        if (pipelined()) builder_.reserve_slots(first + count);
    }
    /// Begins a lane for the later steps, which run for each segment or once.
    void begin_lane(bool for_each_segment = true) {
        end_loop();
        builder_.begin_lane();
        if (for_each_segment) begin_loop();
    }
    /// Reduces the operands into the target, or copies a single operand.
    void combine(plan::Block target, const std::vector<plan::Block>& operands) {
        if (operands.size() == 1)
            builder_.copy(target, operands.front());
        else
            builder_.reduce(target, operands);
    }
    [[nodiscard]] bool pipelined() const { return segments_ > 1; }
    [[nodiscard]] plan::Builder& builder() { return builder_; }
    plan::Builder* operator->() { return &builder_; }

    [[nodiscard]] plan::Program finish() && {
        end_loop();
        return std::move(builder_).finish();
    }
    /// Lets several segments be in flight. For bodies with several stages.
    void interleave() {
        if (pipelined()) builder_.interleave();
    }

  private:
    void begin_loop() {
        if (pipelined()) builder_.begin_loop();
        in_loop_ = pipelined();
    }
    void end_loop() {
        if (in_loop_) builder_.end_loop();
        in_loop_ = false;
    }
    [[nodiscard]] plan::Block in_segment(plan::Block block) const {
        if (!pipelined()) return block;
        if (cut_ == Cut::buffer) return plan::per_segment(block, blocks_);
        block.first *= segments_;
        block.origin *= segments_;
        block.stride = block.count > 1 ? segments_ : 1;
        return plan::per_segment(block, 1);
    }

    std::uint32_t blocks_;
    std::uint32_t segments_;
    Cut cut_;
    bool in_loop_ = false;
    plan::Builder builder_;
};

/// Fixed arguments of program_by_blocks().
struct BlockCall {
    std::uint32_t blocks = 0;                   ///< blocks of the buffer; 0: one for each rank
    Cut cut = Cut::buffer;                      ///< how a pipeline is cut
    std::uint32_t depth = BlockWriter::kDepth;  ///< copies of each slot in a pipeline
    /// Limit of `depth` if several segments are in flight. 1 suffices if the waits of a segment
    /// show that the receivers of its puts have read the slots of the lane's previous segment.
    std::uint32_t lane_depth = BlockWriter::kDepth;
    bool synchronizing = false;  ///< true although Properties::synchronizing is false
    bool in_pieces = false;      ///< cut the buffer by in_pieces()
    bool one_stage = false;      ///< each rank has one stage, so a loop is a pipeline by itself
};

/// Returns a program. `write(writer, request)` writes the steps of a segment.
template <class Write>
[[nodiscard]] base::Result<plan::Program> program_by_blocks(const BlockCall& call,
                                                            GenerateRequest request, Write write) {
    if (call.in_pieces) request = in_pieces(request);
    const std::uint32_t segments = WEFT_TRY(pipeline_segments(request));
    plan::Program header = program_header(request);
    if (header.units == 0) return plan::Builder(std::move(header)).finish();
    header.synchronizing |= call.synchronizing;
    const bool in_flight = !call.one_stage && !call.in_pieces && !request.one_at_a_time;
    header.depth = in_flight ? std::min(call.depth, call.lane_depth) : call.depth;
    const bool has_blocks = find_collective(request.algorithm->collective)->blocks();
    BlockWriter writer(std::move(header), call.blocks == 0 ? as_u32(request.size) : call.blocks,
                       segments, has_blocks ? Cut::blocks : call.cut);
    write(writer, request);
    if (in_flight) writer.interleave();
    return std::move(writer).finish();
}

/// Like program_by_blocks(), for an algorithm with the parameter `into`; calls write(writer,
/// request, delivery). With direct delivery there is one segment.
template <class Write>
[[nodiscard]] base::Result<plan::Program> program_by_delivery(BlockCall call,
                                                              GenerateRequest request,
                                                              Write write) {
    const Delivery into = WEFT_TRY(delivery(*request.spec));
    if (into == Delivery::direct) {
        request.segments = 1;
        call.in_pieces = false;
    }
    return program_by_blocks(call, request, [&](BlockWriter& writer, const GenerateRequest& cut) {
        write(writer, cut, into);
    });
}

using WriteSteps = void (*)(BlockWriter&, const GenerateRequest&);
using WriteStepsTo = void (*)(BlockWriter&, const GenerateRequest&, Delivery);

/// Returns the generator of an algorithm whose only parameters are `segments` and, if `write` takes
/// a delivery, `into`.
[[nodiscard]] inline Generate by_blocks(const BlockCall& call, WriteSteps write) {
    return [=](const GenerateRequest& request) { return program_by_blocks(call, request, write); };
}
[[nodiscard]] inline Generate by_blocks(const BlockCall& call, WriteStepsTo write) {
    return
        [=](const GenerateRequest& request) { return program_by_delivery(call, request, write); };
}
/// Returns the generator of an algorithm with further parameters, which read(request) returns as a
/// Result. `write(writer, request, parameters)` writes the steps of a segment.
template <class Read, class WriteParameters>
[[nodiscard]] Generate by_blocks(const BlockCall& call, Read read, WriteParameters write) {
    return [=](const GenerateRequest& request) -> base::Result<plan::Program> {
        const auto parameters = WEFT_TRY(read(request));
        return program_by_blocks(call, request,
                                 [&](BlockWriter& writer, const GenerateRequest& cut) {
                                     write(writer, cut, parameters);
                                 });
    };
}
/// Returns a function for by_blocks() that reads the parameter `k`.
[[nodiscard]] inline auto read_radix(std::int64_t fallback, std::int64_t least) {
    return [=](const GenerateRequest& request) {
        return radix_parameter(*request.spec, fallback, least);
    };
}

/// Puts a block directly into the memory that rank `to` has exposed by signal `exposed`.
inline void put_into_place(BlockWriter& writer, Rank to, std::uint32_t number,
                           std::uint32_t exposed, plan::Block source) {
    writer->put_mapped(to, number, plan::mapped(to, exposed, source.first, source.count), source);
}

/// Returns an allreduce in stages; `add(stages)` appends the stages.
template <class Add>
[[nodiscard]] base::Result<plan::Stages> stages_of_buffer(const GenerateRequest& request, Add add) {
    const std::uint32_t segments = WEFT_TRY(pipeline_segments(request));
    plan::Program header = program_header(request);
    if (header.units == 0) return plan::begin_stages(std::move(header));
    header.units = segments;
    header.segments = segments;
    header.depth = segments > 1 ? 2 : 1;
    plan::Stages stages = plan::begin_stages(std::move(header));
    stages.carries = true;
    stages.interleaves = segments > 1 && !request.one_at_a_time;
    add(stages);
    return stages;
}

}  // namespace weft::collectives
