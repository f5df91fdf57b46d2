// SPDX-License-Identifier: BSD-3-Clause
// program.hpp - the program of one rank in one collective call, as a value.
//
// Idea     A generator makes one program for each rank. The verifier, engine, simulator and cost
//          model read it. A program has no table of all ranks, so its size depends only on the
//          rank's own steps.
// Holds    Header fields marked "same" are equal in the programs of all ranks of a call. The engine
//          and the bank rule rely on this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/schedule/partition.hpp"
#include "plan/schedule/step.hpp"

namespace weft::plan {

/// An independent sequence of steps. A waiting lane does not stop other lanes.
struct Lane {
    std::uint32_t first = 0;  ///< index into Program::steps
    std::uint32_t count = 0;
    // Loops of the lane run the segments start, start + stride, ... (interleave()).
    std::uint32_t start = 0;
    std::uint32_t stride = 1;

    friend bool operator==(const Lane&, const Lane&) = default;
};

struct Program {
    std::string collective;  ///< label; same
    std::string algorithm;   ///< algorithm spec; same
    Rank rank = 0;
    Rank size = 1;            ///< number of ranks of the team; same
    Rank root = kNoRank;      ///< kNoRank if the collective has no root; same
    std::uint32_t units = 1;  ///< number of units of each buffer; 0: no data; same
    /// Default number of iterations of loops; 1: no loop. Each segment has its own signals. Same.
    std::uint32_t segments = 1;
    std::uint32_t depth = 1;  ///< copies of each slot; segment s uses copy s mod depth; same
    /// Numbers of slots, signals and published cells are below this limit. Same.
    std::uint32_t slots = 0;
    std::uint32_t slot_units = 0;  ///< largest number of units of a put; same
    /// By slot: largest number of units of a put to the slot; empty: slot_units. Same.
    std::vector<std::uint32_t> slot_capacity;
    std::uint32_t scratch = 0;   ///< number of scratch buffers
    bool synchronizing = false;  ///< a rank completes only after all ranks have entered; same
    /// Only the sender and the receiver of a message know the size; each rank has its own `units`
    /// and `unit_counts`. Slots with a capacity share a bank evenly, regardless of a unit's size.
    /// Same.
    bool pairwise = false;
    /// Lists of blocks are not interned (canonical.hpp): generation is faster, for programs that
    /// are read only once.
    bool repeats_blocks = false;
    /// Uneven buffers: number of elements of each rank's block, all with the same number of units.
    /// Else empty.
    std::vector<std::uint64_t> unit_counts;
    /// Uneven buffers: largest number of elements of a unit; 0: each block is one unit.
    std::uint64_t unit_elements = 0;

    std::vector<Step> steps;
    std::vector<Lane> lanes;
    std::vector<Block> blocks;

    /// Returns the partition of a buffer. `elements`: its size, ignored for uneven buffers.
    [[nodiscard]] Partition partition(std::uint64_t elements) const {
        return unit_counts.empty() ? Partition(elements, units)
                                   : Partition(unit_counts, units, unit_elements);
    }
    /// Sets the size of each rank's block in a program that was written for blocks of equal sizes.
    /// Steps name units, so they do not change.
    void set_counts(std::span<const std::uint64_t> counts);
    /// Returns the largest number of units of a put to this slot.
    [[nodiscard]] std::uint32_t capacity_of(std::uint32_t slot) const {
        return slot_capacity.empty() ? slot_units : slot_capacity[slot];
    }
    /// Returns the number of segments in flight (interleave()), which is the stride of all lanes.
    /// Same.
    [[nodiscard]] std::uint32_t window() const { return lanes.empty() ? 1 : lanes.front().stride; }
    /// Returns the lanes of one segment in flight. The other lanes have the same steps.
    [[nodiscard]] std::span<const Lane> distinct_lanes() const {
        return std::span(lanes).first(lanes.size() / window());
    }
    /// Returns the number of iterations of a loop step.
    [[nodiscard]] std::uint32_t repeats(const Step& loop) const {
        return loop.operands != 0 ? loop.operands : segments;
    }
    /// Returns the number of put, signal, expose and publish steps; loop bodies count once.
    [[nodiscard]] std::uint32_t descriptors() const;

    friend bool operator==(const Program&, const Program&) = default;
};

/// Largest number of segments in flight. More would hide no more latency once the network is busy,
/// and each needs its own copies of all slots.
inline constexpr std::uint32_t kWindowMax = 4;

/// Returns the number of segments in flight: the number for which a bank has cells, at most
/// kWindowMax and program.segments. Reads only header fields that are equal on all ranks.
[[nodiscard]] std::uint32_t window_for(const Program& program);

/// Repeats the lanes of a program `window` times, with the same steps.
void repeat_lanes(Program& program, std::uint32_t window);

/// Keeps window_for(program) segments in flight. All steps must be in loops over all segments. Lane
/// k runs segments k, k + window, k + 2 window, ..., so the latencies of segments overlap. Each
/// slot gets `window` times as many copies, but at most one for each segment; lags are `window`
/// times as large. All uses of one copy of a slot are in one lane, in the order of the loop.
void interleave(Program& program);

}  // namespace weft::plan
