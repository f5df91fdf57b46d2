// SPDX-License-Identifier: BSD-3-Clause
// call.hpp - a call of the public interface, as the runtime reads it.
//
// Idea     weft::Call is the only form of a call, from the interfaces to its plan. This file
//          derives its properties: the size of an element, the validity of its arguments, the key
//          of its plan, and the text and hash by which ranks detect disagreements.
//          The arrays of a call belong to the caller and are compared in place. So a call with the
//          counts and displacements of the previous one finds its plan without a copy.
// Next     plan.hpp for binding, and for the checks of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/element_types.hpp"
#include "base/extent.hpp"
#include "base/region.hpp"
#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "run/reduce/reduce.hpp"
#include "weft/call.hpp"

namespace weft::run {

using base::Extent;
using collectives::traits_of;

// --- blocks of calls with counts ---

/// Compares by content.
[[nodiscard]] inline bool equal(const Blocks& a, const Blocks& b) {
    return std::ranges::equal(a.counts, b.counts) &&
           std::ranges::equal(a.displacements, b.displacements);
}

/// Fails unless there is one count for each rank, displacements for none or for each rank, and no
/// overflow. `what` is "in" or "out".
[[nodiscard]] base::Result<void> check_blocks(const Blocks& blocks, std::string_view what,
                                              Rank size, std::uint64_t element_bytes);

/// Returns "3,0,5", or the first counts and a digest of all.
[[nodiscard]] std::string to_text(std::span<const std::size_t> counts);

/// Returns the start of each block, in elements.
[[nodiscard]] std::vector<std::uint64_t> starts_of(const Blocks& blocks);

/// Extents from the start of a buffer, in order of offset, not empty. Adjacent blocks are merged.
using Extents = std::vector<Extent>;
/// Returns the extents of blocks. Fails if blocks overlap although they must not; the failure names
/// `what` and the ranks.
[[nodiscard]] base::Result<Extents> extents_of(const Blocks& blocks, std::string_view what,
                                               std::uint64_t element_bytes, bool may_overlap);
/// Returns true if the extents, from starts `a` and `b`, share a byte.
[[nodiscard]] bool overlap(const std::byte* a, const Extents& of_a, const std::byte* b,
                           const Extents& of_b);

// --- calls ---

[[nodiscard]] inline const UserOperation* user_of(const Call& call) {
    return static_cast<const UserOperation*>(call.user.get());
}
[[nodiscard]] inline std::uint32_t element_bytes(const Call& call) {
    const UserOperation* const user = user_of(call);
    return static_cast<std::uint32_t>(user != nullptr ? user->element_bytes
                                                      : base::size_of(call.type));
}
/// Returns the counts of a call that has the same counts on all ranks.
[[nodiscard]] inline std::span<const std::size_t> counts_of(const Call& call) {
    return traits_of(call.collective).has_input_counts() ? call.in_blocks.counts
                                                         : call.out_blocks.counts;
}

/// Returns true if a call, if valid, has a built-in operation and no counts.
[[nodiscard]] inline bool is_plain(const Call& call) {
    return call.user == nullptr && call.collective < collectives::kFirstWithCounts &&
           call.in_blocks.counts.empty() && call.out_blocks.counts.empty();
}

/// Returns true if the scalar arguments of two calls of one collective are equal, without their
/// memory. Not one expression: the compiler would then compare several arguments as one word, which
/// it first had to write to memory.
[[nodiscard]] [[gnu::always_inline]] inline bool equal_scalars(const Call& a, const Call& b) {
    if (a.count != b.count) return false;
    if (a.type != b.type) return false;
    if (a.op != b.op) return false;
    return a.root == b.root;
}
/// Returns true if all arguments but the memory are equal; arrays are compared by content.
[[nodiscard]] inline bool have_equal_plans(const Call& a, const Call& b) {
    return a.collective == b.collective && equal_scalars(a, b) && a.user == b.user &&
           equal(a.in_blocks, b.in_blocks) && equal(a.out_blocks, b.out_blocks);
}
/// Returns a hash of everything that have_equal_plans() compares.
[[nodiscard]] std::uint64_t plan_key(const Call& call);

/// Returns a call that owns copies of its arrays. Copies of the call share them.
[[nodiscard]] Call with_own_arrays(const Call& call);

/// Returns the call without the arrays that only the root reads, unless this rank is the root.
[[nodiscard]] Call as_seen(Call call, Rank rank);

/// Checks a call that as_seen() returned, without its memory. A failure names the argument.
[[nodiscard]] base::Result<void> check_arguments(const Call& call, Rank rank, Rank size);

/// Returns true if the result does not depend on the order of the operands.
[[nodiscard]] bool is_exact(const Call& call);

/// Reason of a call: the user made it, or another call of the interface consists of it.
enum class Purpose : std::uint8_t {
    itself,
    inserted,
    finalize,
    alloc,
    free,
    split,
    team_free,
    register_memory,
    unregister_memory,
    observing,
};
/// Returns the name of the interface call that consists of this call; empty for Purpose::itself.
[[nodiscard]] std::string_view name_of(Purpose purpose);

/// Returns a text about the call, without arguments that only some ranks know.
[[nodiscard]] std::string describe(const Call& call, std::string_view spec);
/// Returns a hash of everything that ranks must agree about. Never the hash of a verdict.
[[nodiscard]] base::CallHash call_hash(std::string_view description, std::uint32_t element_bytes);

}  // namespace weft::run
