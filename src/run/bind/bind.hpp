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
    const std::vector<bool>* near = nullptr;  ///< by rank: is on this node; nullptr: all are
    bool fuse = true;                         ///< also make the fused form where the steps allow it
    /// The program publishes what is shared (may_publish()); the same on all ranks.
    bool publishes = false;
    /// Of uneven vectors: where blocks start in the caller's memory, in elements; empty: behind
    /// each other.
    std::vector<std::uint64_t> input_starts = {};
    std::vector<std::uint64_t> output_starts = {};
};

/// Bytes of the largest payload that any put of the program carries.
[[nodiscard]] std::uint64_t payload_bytes_max(const plan::Program& program, std::uint64_t elements,
                                              std::uint32_t element_bytes);

/// Whether what a program shares may be published (plan::localize()): all its payloads fit cells;
/// or all ranks share memory, and a bulk bank has room for published slots beside the others.
[[nodiscard]] bool may_publish(const plan::Program& program, const BindOptions& options,
                               bool one_node);

/// Bytes of each slot where so many, with their copies, share a bulk bank.
[[nodiscard]] constexpr std::uint64_t even_slot_bytes(const base::RegionShape& shape,
                                                      std::uint32_t slots, std::uint32_t depth) {
    return shape.room_for_copies() / (std::uint64_t{slots} * depth) / 64 * 64;
}

/// How many segments a call must be cut into so that its payloads fit a bulk bank; 1 if they fit
/// cells, or the bank as they are. `program` is the one for `segments` segments: all have the same
/// slots. The same on all ranks.
[[nodiscard]] std::uint32_t segments_needed(const plan::Program& program, std::uint32_t segments,
                                            const BindOptions& options);
/// Whether a program of one segment, whose long payloads land in vectors, has room for the others.
[[nodiscard]] bool fits_as_a_whole(const plan::Program& program, BindOptions options);

/// How many calls of such a program have put targets at a time.
[[nodiscard]] std::uint32_t banks_for(const plan::Program& program, const BindOptions& options);

/// Refuses programs that need more put targets than the team has, naming both figures.
[[nodiscard]] base::Result<BoundProgram> bind(plan::Program program, const BindOptions& options);

/// The fused form of a bound program's steps, for put targets of this shape; empty if they do not
/// have it.
[[nodiscard]] FusedProgram fuse(const BoundProgram& bound, const base::RegionShape& shape);

}  // namespace weft::run
