// SPDX-License-Identifier: BSD-3-Clause
// bind.hpp - joins a program to the sizes of a call and to the put targets of a team.
#pragma once

#include <cstdint>
#include <vector>

#include "base/region.hpp"
#include "base/result.hpp"
#include "run/bind/bound_program.hpp"

namespace weft::run {

struct BindOptions {
    std::uint64_t elements = 0;
    std::uint32_t element_bytes = 1;
    base::CallHash call_hash = 0;
    std::string description;
    base::RegionShape shape;
    const std::vector<bool>* near = nullptr;  ///< by rank: true if on this node; nullptr: all are
    bool fuse = true;                         ///< also make the fused form if the steps allow it
    /// The program publishes shared data (may_publish()); equal on all ranks.
    bool publishes = false;
    /// Starts of blocks in the caller's memory, in elements. Empty: consecutive blocks.
    std::vector<std::uint64_t> input_starts = {};
    std::vector<std::uint64_t> output_starts = {};
};

/// Returns true if a program may publish its shared data (plan::localize()). Either all payloads
/// fit cells, or all ranks share memory and a bulk bank has room for the published slots, too.
[[nodiscard]] bool may_publish(const plan::Program& program, const BindOptions& options,
                               bool one_node);

/// Returns the bytes of each slot if `slots` slots, with their copies, share a bulk bank evenly.
[[nodiscard]] constexpr std::uint64_t even_slot_bytes(const base::RegionShape& shape,
                                                      std::uint32_t slots, std::uint32_t depth) {
    return shape.room_for_copies() / (std::uint64_t{slots} * depth) / 64 * 64;
}

/// Returns the number of segments that a call needs so that its payloads fit a bulk bank. Returns 1
/// if they fit cells, or fit the bank uncut. `program` is made for `segments` segments; all such
/// programs have the same slots. The result is equal on all ranks.
[[nodiscard]] std::uint32_t segments_needed(const plan::Program& program, std::uint32_t segments,
                                            const BindOptions& options);
/// Returns true if a program of one segment has room for payloads without direct delivery.
[[nodiscard]] bool fits_as_a_whole(const plan::Program& program, BindOptions options);

/// Returns the number of calls of such a program that have put targets at a time.
[[nodiscard]] std::uint32_t banks_for(const plan::Program& program, const BindOptions& options);

/// Binds a program. Fails if it needs more put targets than the team has.
[[nodiscard]] base::Result<BoundProgram> bind(plan::Program program, const BindOptions& options);

/// Returns the fused form of a bound program, for put targets of this shape. Returns an empty one
/// if the steps do not allow it.
[[nodiscard]] FusedProgram fuse(const BoundProgram& bound, const base::RegionShape& shape);

}  // namespace weft::run
