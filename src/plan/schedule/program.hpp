// SPDX-License-Identifier: BSD-3-Clause
// program.hpp - a collective as a value: what one rank does, in steps.
//
// Idea     A generator makes one program per rank; everything else (verifier, engine, simulator,
//          cost) reads it. Size is proportional to the rank's own steps: no table over all ranks.
// Holds    The fields of the header that are marked "same" have the same value in the programs of
//          all ranks of one call; the engine and the bank rule rely on that.
// Next     step.hpp, which files that look at steps include; contract.hpp for what a set of
//          programs must achieve; text.hpp to print them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/schedule/block.hpp"
#include "plan/schedule/partition.hpp"

namespace weft::plan {

enum class StepKind : std::uint8_t;
struct Step;

/// The steps of a program: a vector that can be copied and compared without step.hpp.
class StepList : public std::vector<Step> {
  public:
    StepList();
    StepList(const StepList&);
    StepList(StepList&&) noexcept;
    StepList& operator=(const StepList&);
    StepList& operator=(StepList&&) noexcept;
    ~StepList();

    friend bool operator==(const StepList& a, const StepList& b);
};

/// A lane is an independent sequence of steps: one that waits does not stop another.
struct Lane {
    std::uint32_t first = 0;  ///< index into Program::steps
    std::uint32_t count = 0;

    friend bool operator==(const Lane&, const Lane&) = default;
};

struct Program {
    std::string collective;  ///< a label; same
    std::string algorithm;   ///< the spec it was generated from; same
    Rank rank = 0;
    Rank size = 1;            ///< ranks in the team; same
    Rank root = kNoRank;      ///< same
    std::uint32_t units = 1;  ///< pieces that each vector is cut into (0: no data); same
    std::uint32_t segments =
        1;  ///< iterations of a loop that does not say otherwise (1: no loop), and how
            ///< many signals under one number can be distinguished; same
    std::uint32_t depth = 1;       ///< copies of each slot; segment s uses copy s mod depth; same
    std::uint32_t slots = 0;       ///< slot, signal and published-cell numbers are below this; same
    std::uint32_t slot_units = 0;  ///< most units that any put carries; same
    std::vector<std::uint32_t>
        slot_capacity;           ///< by slot: most units that a put to it carries (empty:
                                 ///< slot_units for every slot); same
    std::uint32_t scratch = 0;   ///< number of scratch vectors
    bool synchronizing = false;  ///< declared: completion anywhere implies entry everywhere; same
    /// Counts are known to the two ends of a message alone: units and counts are this rank's own,
    /// and those slots that have any room share a bank evenly, whatever a unit holds. Same.
    bool pairwise = false;
    /// Equal lists of blocks stand in the table once for each step that names them. Quicker to make
    /// by a tenth to a quarter, for a program that is looked at once; else false.
    bool repeats_blocks = false;
    /// Elements of each block if the vector is uneven: units are parts of blocks, equally many of
    /// each. Else empty.
    std::vector<std::uint64_t> unit_counts;
    std::uint64_t unit_elements =
        0;  ///< most elements of a uneven vector's unit (0: those of a block)

    StepList steps;
    std::vector<Lane> lanes;
    std::vector<Block> blocks;

    /// How a vector of `elements` elements is cut (elements is ignored if the program is uneven).
    [[nodiscard]] Partition partition(std::uint64_t elements) const {
        return unit_counts.empty() ? Partition(elements, units)
                                   : Partition(unit_counts, units, unit_elements);
    }
    /// Gives each rank's block its own size; the program was written for blocks of equal sizes.
    /// Steps name units, so they stay as they are.
    void set_counts(std::span<const std::uint64_t> counts);
    /// Most units that a put to this slot carries.
    [[nodiscard]] std::uint32_t room(std::uint32_t slot) const {
        return slot_capacity.empty() ? slot_units : slot_capacity[slot];
    }
    /// How often a loop runs its body.
    [[nodiscard]] std::uint32_t repeats(const Step& loop) const;
    /// Put, signal, expose and publish steps; loop bodies counted once.
    [[nodiscard]] std::uint32_t descriptors() const;

    friend bool operator==(const Program&, const Program&) = default;
};

}  // namespace weft::plan
