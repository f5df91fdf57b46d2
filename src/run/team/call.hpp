// SPDX-License-Identifier: BSD-3-Clause
// call.hpp - a call of the public interface, as the runtime reads it.
//
// Idea     The interfaces and the runtime pass a call as weft::Call. This file derives its
//          properties: element size, validity of its arguments, key of its plan, and the text and
//          hash by which ranks detect that they made different calls. Arrays of a call belong to
//          the caller and are compared in place, so a repeated call finds its plan without a copy.
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

[[nodiscard]] inline bool equal(const Blocks& a, const Blocks& b) {
    return std::ranges::equal(a.counts, b.counts) &&
           std::ranges::equal(a.displacements, b.displacements);
}

/// Fails unless each rank has a count, all or no ranks have displacements, and no byte offset
/// overflows 63 bits. `what`, "in" or "out", begins the message.
[[nodiscard]] base::Result<void> check_blocks(const Blocks& blocks, std::string_view what,
                                              Rank size, std::uint64_t element_bytes);

/// Returns up to 8 counts as "3,0,5"; for longer lists, the first 8 and a digest of all.
[[nodiscard]] std::string to_text(std::span<const std::size_t> counts);

[[nodiscard]] std::vector<std::uint64_t> starts_of(const Blocks& blocks);

/// Parts of a buffer in bytes, in order of offset. No extent is empty; adjacent blocks are merged.
using Extents = std::vector<Extent>;
/// Returns the extents of blocks. Unless `may_overlap`, fails if two blocks overlap; the message
/// names `what` ("in" or "out") and the ranks of both blocks.
[[nodiscard]] base::Result<Extents> extents_of(const Blocks& blocks, std::string_view what,
                                               std::uint64_t element_bytes, bool may_overlap);
/// Returns true if an extent of the buffer at `a` and an extent of the buffer at `b` share a byte.
[[nodiscard]] bool overlap(const std::byte* a, const Extents& a_extents, const std::byte* b,
                           const Extents& b_extents);

/// Returns the user's operation, or nullptr for a built-in operation.
[[nodiscard]] inline const UserOperation* user_of(const Call& call) {
    return static_cast<const UserOperation*>(call.user.get());
}
[[nodiscard]] inline std::uint32_t element_bytes(const Call& call) {
    const UserOperation* const user = user_of(call);
    return static_cast<std::uint32_t>(user != nullptr ? user->element_bytes
                                                      : base::size_of(call.type));
}
/// Returns the counts of a collective whose counts are equal on all ranks, such as allgatherv.
[[nodiscard]] inline std::span<const std::size_t> counts_of(const Call& call) {
    return traits_of(call.collective).has_input_counts() ? call.in_blocks.counts
                                                         : call.out_blocks.counts;
}

/// Returns true if the call has no user operation and no counts. The call may be invalid.
[[nodiscard]] inline bool is_plain(const Call& call) {
    return call.user == nullptr && call.collective < collectives::kFirstWithCounts &&
           call.in_blocks.counts.empty() && call.out_blocks.counts.empty();
}

/// Returns true if the scalar arguments of two calls are equal. Separate statements keep the
/// arguments in registers; GCC compiles a single expression to stores and wide compares.
[[nodiscard]] [[gnu::always_inline]] inline bool equal_scalars(const Call& a, const Call& b) {
    if (a.count != b.count) return false;
    if (a.type != b.type) return false;
    if (a.op != b.op) return false;
    return a.root == b.root;
}
/// Returns true if all arguments except the buffers are equal. Arrays are compared by content.
[[nodiscard]] inline bool have_equal_plans(const Call& a, const Call& b) {
    return a.collective == b.collective && equal_scalars(a, b) && a.user == b.user &&
           equal(a.in_blocks, b.in_blocks) && equal(a.out_blocks, b.out_blocks);
}
/// Returns a hash of everything that have_equal_plans() compares.
[[nodiscard]] std::uint64_t plan_key(const Call& call);

/// Returns the call with its own arrays, which copies of the returned call share.
[[nodiscard]] Call with_own_arrays(const Call& call);

/// Returns the call without counts and displacements if only another rank, the root, reads them.
[[nodiscard]] Call normalized_for(Call call, Rank rank);

/// Checks all arguments except the buffers. `call` must come from normalized_for().
[[nodiscard]] base::Result<void> check_arguments(const Call& call, Rank rank, Rank size);

/// Origin of a call: the user, or another function of the library that makes collective calls.
enum class Purpose : std::uint8_t {
    user_call,  ///< the user's call
    inserted,   ///< barrier that the bank rule inserts before a call
    finalize,
    alloc,
    free,
    split,
    team_free,
    register_memory,
    unregister_memory,
    observing,    ///< collects reports on rank 0
    exact_setup,  ///< agrees on the range of the values of an exact sum, and on its memory
};
/// Returns the name of the function that makes the call; empty for Purpose::user_call.
[[nodiscard]] std::string_view name_of(Purpose purpose);

/// Returns a text about the call, without arguments that differ between ranks.
[[nodiscard]] std::string describe(const Call& call, std::string_view spec);
/// Returns a hash of everything that must be equal on all ranks.
[[nodiscard]] base::CallHash call_hash(std::string_view description, std::uint32_t element_bytes);

}  // namespace weft::run
