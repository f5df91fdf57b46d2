// SPDX-License-Identifier: BSD-3-Clause
// touched.hpp - which memory a step reads and writes besides what messages carry.
//
// Idea     Vectors of node-mates in place, copies between vectors of the rank itself, and copies
//          out of put targets. A copy between a scratch vector and the same units of the input or
//          the output is none: where it can, such a scratch vector lies there
//          (run/bind/scratch.hpp). Nor is that of a root's whole vector: there both are one.
// Next     image.hpp, which turns that into times.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/schedule/program.hpp"
#include "plan/schedule/step.hpp"

namespace weft::plan {

/// In elements.
struct Touched {
    std::uint32_t mapped_vectors = 0;  ///< of node-mates, read or written in place
    std::uint64_t mapped = 0;          ///< copied from or to these
    std::uint64_t own = 0;             ///< copied between vectors of the rank itself
    std::uint64_t slots = 0;           ///< copied out of put targets, and not to a node-mate
};
/// Whether it names memory of node-mates; if not, only what is of the rank itself is touched.
[[nodiscard]] bool names_mapped(const Program& program);
/// of_own: whether what is not of node-mates is wanted, too.
[[nodiscard]] Touched touched_by(const Program& program, const Partition& partition,
                                 const Step& step, std::uint32_t segment, bool of_own);

/// Elements of memory that a step of a call on a node reads or writes, but for an operand that the
/// step before it has just written. Put targets count where vectors go as a whole: those of pieces
/// stay in a cache.
[[nodiscard]] std::uint64_t memory_elements(const Program& program, const Partition& partition,
                                            const Step& step, std::uint32_t segment);

/// Elements of the caller's vectors from the first to the last that the program names, and of put
/// targets for vectors that go as a whole: as many as the rank puts.
[[nodiscard]] std::uint64_t vector_elements(const Program& program, const Partition& partition);

/// By number: whether a rank for which that holds fills the put target, as waits for it say.
[[nodiscard]] std::vector<bool> slots_filled_by(const Program& program,
                                                const std::function<bool(Rank)>& holds);
/// Elements that a step reads out of these put targets, copied or reduced.
[[nodiscard]] std::uint64_t slot_elements(const Program& program, const Partition& partition,
                                          const Step& step, std::uint32_t segment,
                                          const std::vector<bool>& slots);

/// Elements of a block that starts at this unit.
[[nodiscard]] std::uint64_t elements_in(const Partition& partition, const Block& block,
                                        std::uint32_t first);

/// Elements of a list of blocks, or of one share of it.
[[nodiscard]] std::uint64_t elements_of(const Program& program, const Partition& partition,
                                        BlockList list, std::uint32_t segment, std::uint32_t share);

}  // namespace weft::plan
