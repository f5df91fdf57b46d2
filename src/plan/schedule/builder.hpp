// SPDX-License-Identifier: BSD-3-Clause
// builder.hpp - how a generator writes a program.
//
// Idea     One call per step, in order; lists of blocks are interned, counters of the header
//          (slots, slot_units, scratch) grow by themselves as steps name them.
// Holds    finish() gives a well-formed program: lanes closed, loops closed, lists in range. Header
//          fields that must be the same on all ranks (slots, slot_units) can be raised with
//          reserve_*.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "plan/schedule/canonical.hpp"
#include "plan/schedule/program.hpp"
#include "plan/schedule/step_flags.hpp"

namespace weft::plan {

// Short names for blocks, used by generators.
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
/// The whole payload of a slot that carries the units first .. first+count-1.
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
/// The same block, moving by `advance` units with each segment of the loop.
[[nodiscard]] constexpr Block per_segment(Block block, std::uint32_t advance = 1) {
    block.advance = advance;
    return block;
}

class Builder {
  public:
    /// Starts from a header: collective, algorithm, rank, size, root, units, segments, depth,
    /// synchronizing, unit_counts. Steps, lanes and blocks of it are ignored.
    explicit Builder(Program header);

    void put(Rank peer, std::uint32_t signal, Block source, std::uint8_t flags = 0);
    void put(Rank peer, std::uint32_t signal, std::span<const Block> source,
             std::uint8_t flags = 0);
    /// Into the block that `peer` exposed to this rank (target.buffer is mapped).
    void put_mapped(Rank peer, std::uint32_t signal, Block target, Block source);
    void signal(Rank peer, std::uint32_t signal, std::uint8_t flags = 0, std::uint16_t lag = 0);
    /// flags: kWritten if the peer may write the block, too.
    void expose(Rank peer, std::uint32_t signal, Block block, std::uint8_t flags = 0);
    void publish(std::uint32_t signal, Block source);
    void publish(std::uint32_t signal);  ///< no payload
    void wait(Rank peer, std::uint32_t signal, std::uint8_t flags = 0, std::uint16_t lag = 0);
    void flush();
    void reduce(Block target, std::initializer_list<Block> operands);
    void reduce(Block target, std::span<const Block> operands);
    /// To several places in one pass: all targets get the result.
    void reduce(std::span<const Block> targets, std::span<const Block> operands);
    /// Of lists of blocks, cut the same way: the operands one after the other, as many blocks each
    /// as the target.
    void reduce_lists(std::span<const Block> target, std::span<const Block> operands);
    void copy(Block target, Block source);
    void copy(std::span<const Block> target, std::span<const Block> source);

    /// Steps up to end_loop() run once for each segment, or so many times. Loops do not nest.
    void begin_loop(std::uint32_t times = 0);
    void end_loop();
    /// Steps from here on form a new lane.
    void begin_lane();

    void reserve_slots(std::uint32_t slots);
    /// Makes room: a hint, not a limit.
    void reserve_steps(std::size_t steps);
    void reserve_slot_units(std::uint32_t units);
    /// Gives each slot a room of its own: what was reserved for it, or what this rank's puts to it
    /// carry; none for bare signals. The same on all ranks, so to be called for what others put,
    /// too.
    void reserve_capacity(std::uint32_t slot, std::uint32_t units);
    /// The same for some slots in a row.
    void reserve_capacities(std::uint32_t first, std::uint32_t count, std::uint32_t units);

    [[nodiscard]] Program finish() &&;

  private:
    BlockList intern(std::span<const Block> list);
    Step& add(StepKind kind, Rank peer, std::uint32_t signal, std::uint8_t flags);

    Program program_;
    std::uint32_t lane_first_ = 0;
    std::int64_t open_loop_ = -1;
    BlockIndex index_;  ///< of the program's blocks
};

}  // namespace weft::plan
