// SPDX-License-Identifier: BSD-3-Clause
// touched.hpp - memory that a step reads and writes besides the payloads of messages.
//
// Idea     A step touches buffers of local peers in place, copies between buffers of the rank
//          itself, and copies out of put targets. A copy between a scratch buffer and the same
//          units of the input or output costs nothing: such a scratch buffer shares their memory if
//          possible (run/bind/bound_program.hpp). A copy of a root's whole buffer costs nothing
//          either, since input and output are one buffer there.
// Next     image.hpp, which converts elements to times.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/schedule/program.hpp"
#include "plan/schedule/step.hpp"

namespace weft::plan {

/// Elements that a step touches.
struct Touched {
    std::uint32_t mapped_vectors = 0;  ///< buffers of local peers, read or written in place
    std::uint64_t mapped = 0;          ///< elements copied from or to these
    std::uint64_t own = 0;             ///< elements copied between buffers of the rank itself
    /// Elements copied out of put targets, but not to a local peer.
    std::uint64_t slots = 0;
};
/// Returns true if the program accesses memory of local peers.
[[nodiscard]] bool names_mapped(const Program& program);
/// Returns the touched elements. `of_own`: include copies within the rank's own memory.
[[nodiscard]] Touched touched_by(const Program& program, const Partition& partition,
                                 const Step& step, std::uint32_t segment, bool of_own);

/// Returns the elements of memory that a step reads or writes in a call on one node, without an
/// operand that the preceding step has just written. Put targets count only in programs without
/// segments; pieces of segments stay in a cache.
[[nodiscard]] std::uint64_t memory_elements(const Program& program, const Partition& partition,
                                            const Step& step, std::uint32_t segment);

/// Returns the elements of the caller's buffers from the first to the last one that the program
/// uses. Without segments it adds the elements that the rank puts.
[[nodiscard]] std::uint64_t vector_elements(const Program& program, const Partition& partition);

/// Returns, by number, whether a put target is filled by a rank for which holds() is true. Waits
/// name the ranks.
[[nodiscard]] std::vector<bool> slots_filled_by(const Program& program,
                                                const std::function<bool(Rank)>& holds);
/// Returns the elements that a step copies or reduces out of the selected put targets.
[[nodiscard]] std::uint64_t slot_elements(const Program& program, const Partition& partition,
                                          const Step& step, std::uint32_t segment,
                                          const std::vector<bool>& slots);

/// Returns the elements of a block that starts at unit `first`.
[[nodiscard]] std::uint64_t elements_in(const Partition& partition, const Block& block,
                                        std::uint32_t first);

/// Returns the elements of a list of blocks divided into `share` equal shares: those of
/// the first share.
[[nodiscard]] std::uint64_t elements_of(const Program& program, const Partition& partition,
                                        BlockList list, std::uint32_t segment, std::uint32_t share);

}  // namespace weft::plan
