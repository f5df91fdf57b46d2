// SPDX-License-Identifier: BSD-3-Clause
// program.hpp - the program of one rank in one collective call, as a value.
//
// Idea     A generator makes one program for each rank. The verifier, engine, simulator and
//          cost model read it. Its size is proportional to the rank's own steps; it has no
//          table over all ranks.
// Holds    Header fields marked "same" are equal in the programs of all ranks of a call. The engine
//          and the bank rule rely on that.
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
    /// Its loops run segments start, start + stride, ... (interleave.hpp).
    std::uint32_t start = 0;
    std::uint32_t stride = 1;

    friend bool operator==(const Lane&, const Lane&) = default;
};

struct Program {
    std::string collective;  ///< label; same
    std::string algorithm;   ///< algorithm spec; same
    Rank rank = 0;
    Rank size = 1;            ///< ranks of the team; same
    Rank root = kNoRank;      ///< kNoRank if the collective has no root; same
    std::uint32_t units = 1;  ///< pieces that each buffer is cut into (0: no data); same
    /// Default iterations of a loop (1: no loop), and number of distinct signals under
    /// one number; same.
    std::uint32_t segments = 1;
    std::uint32_t depth = 1;       ///< copies of each slot; segment s uses copy s mod depth; same
    std::uint32_t slots = 0;       ///< limit of slot, signal and published-cell numbers; same
    std::uint32_t slot_units = 0;  ///< most units that any put carries; same
    /// By slot: most units that a put to it carries (empty: slot_units); same.
    std::vector<std::uint32_t> slot_capacity;
    std::uint32_t scratch = 0;   ///< number of scratch buffers
    bool synchronizing = false;  ///< a rank completes only after all ranks have entered; same
    /// Only a message's sender and receiver know its size. Units and counts are this rank's own.
    /// The slots with a capacity share a bank evenly, regardless of the size of a unit. Same.
    bool pairwise = false;
    /// Each step has its own copy of its lists of blocks in `blocks` (canonical.hpp), which makes
    /// generation faster. For programs that are read only once.
    bool repeats_blocks = false;
    /// Elements of each block of an uneven buffer, else empty. Each block has the same
    /// number of units.
    std::vector<std::uint64_t> unit_counts;
    /// Most elements of a unit of an uneven buffer; 0: one unit for each block.
    std::uint64_t unit_elements = 0;

    std::vector<Step> steps;
    std::vector<Lane> lanes;
    std::vector<Block> blocks;

    /// Returns the partition of a buffer of `elements` elements (ignored if the program is uneven).
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
    /// Returns the number of segments in flight: the lanes that share the steps of the first one
    /// (interleave.hpp). Same.
    [[nodiscard]] std::uint32_t window() const { return lanes.empty() ? 1 : lanes.front().stride; }
    /// Returns the lanes whose steps differ.
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

}  // namespace weft::plan
