// SPDX-License-Identifier: BSD-3-Clause
// builder.hpp - interface with which generators write a program.
//
// Idea     Each call adds a step, in order. Lists of blocks are interned (canonical.hpp). Limits in
//          the header (slots, slot_units, scratch) grow as needed.
// Holds    finish() returns a well-formed program. slots and slot_units must be equal on all ranks,
//          so generators raise them by reserve_*() for steps that only other ranks have.
#pragma once

#include <initializer_list>
#include <span>

#include "plan/schedule/canonical.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

// Return blocks of `count` consecutive units, from unit `first` on.
[[nodiscard]] constexpr Block input(std::uint32_t first = 0, std::uint32_t count = 1) {
    return {.buffer = Buffer::input, .first = first, .count = count};
}
[[nodiscard]] constexpr Block output(std::uint32_t first = 0, std::uint32_t count = 1) {
    return {.buffer = Buffer::output, .first = first, .count = count};
}
[[nodiscard]] constexpr Block scratch(std::uint32_t index, std::uint32_t first = 0,
                                      std::uint32_t count = 1) {
    return {.buffer = Buffer::scratch, .index = index, .first = first, .count = count};
}
/// Returns the whole payload of a slot, which has the units first .. first + count - 1.
[[nodiscard]] constexpr Block slot(std::uint32_t index, std::uint32_t first = 0,
                                   std::uint32_t count = 1) {
    return {
        .buffer = Buffer::slot, .index = index, .origin = first, .first = first, .count = count};
}
[[nodiscard]] constexpr Block mapped(Rank peer, std::uint32_t index, std::uint32_t first = 0,
                                     std::uint32_t count = 1) {
    return {.buffer = Buffer::mapped,
            .peer = peer,
            .index = index,
            .origin = first,
            .first = first,
            .count = count};
}
/// Returns the block, moved by `advance` units in each further segment of a loop.
[[nodiscard]] constexpr Block per_segment(Block block, std::uint32_t advance = 1) {
    block.advance = advance;
    return block;
}

class Builder {
  public:
    /// Starts from a header: collective, algorithm, rank, size, root, units, segments, depth,
    /// synchronizing, unit_counts. Ignores the header's steps, lanes and blocks.
    explicit Builder(Program header);

    void put(Rank peer, std::uint32_t signal, Block source, std::uint8_t flags = 0);
    void put(Rank peer, std::uint32_t signal, std::span<const Block> source,
             std::uint8_t flags = 0);
    /// Adds a put into a block that `peer` has exposed to this rank; target.buffer is mapped.
    void put_mapped(Rank peer, std::uint32_t signal, Block target, Block source);
    void signal(Rank peer, std::uint32_t signal, std::uint8_t flags = 0, std::uint16_t lag = 0);
    /// `flags`: kWritten if the peer may also write the block.
    void expose(Rank peer, std::uint32_t signal, Block block, std::uint8_t flags = 0);
    void publish(std::uint32_t signal, Block source);
    void publish(std::uint32_t signal);  ///< publishes a signal without a payload
    void wait(Rank peer, std::uint32_t signal, std::uint8_t flags = 0, std::uint16_t lag = 0);
    void flush();
    void reduce(Block target, std::initializer_list<Block> operands);
    void reduce(Block target, std::span<const Block> operands);
    /// Adds a reduction that writes the result to all targets in one pass.
    void reduce(std::span<const Block> targets, std::span<const Block> operands);
    /// Adds a reduction whose target and operands are lists of blocks of equal shapes. `operands`
    /// has the lists of all operands, one after the other.
    void reduce_lists(std::span<const Block> target, std::span<const Block> operands);
    void copy(Block target, Block source);
    void copy(std::span<const Block> target, std::span<const Block> source);

    /// Starts a loop. Steps until end_loop() run `times` times; 0: once for each segment. Loops do
    /// not nest. A loop without steps is omitted.
    void begin_loop(std::uint32_t times = 0);
    void end_loop();
    /// Starts a new lane for the following steps.
    void begin_lane();

    /// Raises the limit of slot and signal numbers.
    void reserve_slots(std::uint32_t slots);
    /// Reserves memory for about `steps` steps.
    void reserve_steps(std::size_t steps);
    void reserve_slot_units(std::uint32_t units);
    /// Reserves `units` in a slot, and makes the program list a capacity for each slot: the larger
    /// of the reserved units and this rank's puts, or 0 for signals without data. Capacities must
    /// be equal on all ranks, so generators also reserve units that only other ranks put.
    void reserve_capacity(std::uint32_t slot, std::uint32_t units) {
        reserve_capacities(slot, 1, units);
    }
    /// Same for the slots first .. first + count - 1.
    void reserve_capacities(std::uint32_t first, std::uint32_t count, std::uint32_t units);

    /// Makes finish() keep several segments in flight (interleave()). All steps must be in loops
    /// over all segments. Either all ranks of a call or none must call this.
    void interleave() { interleaves_ = true; }

    [[nodiscard]] Program finish() &&;

  private:
    BlockList add_list(std::span<const Block> list);
    Step& add(StepKind kind, Rank peer, std::uint32_t signal, std::uint8_t flags);

    Program program_;
    std::uint32_t lane_first_ = 0;  ///< first step of the current lane
    std::int64_t open_loop_ = -1;   ///< index of the open loop's step; -1: no loop is open
    bool interleaves_ = false;
    BlockIndex index_;  ///< index of the program's blocks
};

}  // namespace weft::plan
