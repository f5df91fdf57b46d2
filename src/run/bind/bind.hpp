// SPDX-License-Identifier: BSD-3-Clause
// bind.hpp - binds a program to the sizes of a call and to the put targets of a team.
#pragma once

#include <cstdint>
#include <vector>

#include "base/region.hpp"
#include "base/result.hpp"
#include "run/bind/bound_program.hpp"

namespace weft::run {

struct BindOptions {
    std::uint64_t elements = 0;  ///< number of elements in the whole buffer
    std::uint32_t element_bytes = 1;
    base::CallHash call_hash = 0;             ///< see BoundProgram
    std::string description;                  ///< see BoundProgram
    base::RegionShape shape;                  ///< put targets of the team
    const std::vector<bool>* near = nullptr;  ///< by team rank: on this node; nullptr: all are
    bool fuse = true;                         ///< also makes the fused form
    /// The program publishes data (may_publish()); equal on all ranks.
    bool publishes = false;
    /// Starts of blocks in the caller's memory, in elements. Empty: consecutive blocks.
    std::vector<std::uint64_t> input_starts = {};
    std::vector<std::uint64_t> output_starts = {};
};

/// Returns true if plan::localize() may make a program publish data for local peers: all payloads
/// fit into cells or, in a team within a node, a bulk bank has room for published slots, too.
[[nodiscard]] bool may_publish(const plan::Program& program, const BindOptions& options,
                               bool one_node);

/// Returns the bytes of each slot if `slots` slots with `depth` copies divide a bank evenly.
[[nodiscard]] constexpr std::uint64_t even_slot_bytes(const base::RegionShape& shape,
                                                      std::uint32_t slots, std::uint32_t depth) {
    return shape.copied_bytes_max() / (std::uint64_t{slots} * depth) / 64 * 64;
}

/// Returns the number of segments with which a call's payloads fit into a bulk bank; 1 if they fit
/// into cells or, as a whole, into the bank. `program` is the call's program for `segments`
/// segments. Its slots do not depend on that number. The result is equal on all ranks.
[[nodiscard]] std::uint32_t segments_needed(const plan::Program& program, std::uint32_t segments,
                                            const BindOptions& options);
/// Returns true if a bulk bank holds the slots of the program. Equal on all ranks.
[[nodiscard]] bool has_room(const plan::Program& program, const BindOptions& options);
/// Returns true if the slots of a bulk bank hold all payloads of a program with one segment.
[[nodiscard]] bool fits_as_a_whole(const plan::Program& program, BindOptions options);

/// Returns the number of banks of the class that the program's calls use.
[[nodiscard]] std::uint32_t banks_for(const plan::Program& program, const BindOptions& options);

/// Binds a program. Fails if it needs more put targets than the team has.
[[nodiscard]] base::Result<BoundProgram> bind(plan::Program program, const BindOptions& options);

/// Returns the fused form of a bound program; empty if the steps do not allow one.
[[nodiscard]] FusedProgram fuse(const BoundProgram& bound, const base::RegionShape& shape);

}  // namespace weft::run
