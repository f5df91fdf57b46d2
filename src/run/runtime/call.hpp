// SPDX-License-Identifier: BSD-3-Clause
// call.hpp - a call of the public interface as the runtime reads it.
//
// Idea     weft::Call goes unchanged from the interfaces to its plan. Here stands what is asked of
//          it: the size of an element, whether its arguments can be used, and the words and the
//          hash by which ranks that disagree are detected.
// Next     blocks.hpp for calls with counts; plan.hpp for what a call is bound to.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/element_types.hpp"
#include "base/region.hpp"
#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "run/reduce/reduce.hpp"
#include "weft/call.hpp"

namespace weft::run {

using collectives::traits_of;

[[nodiscard]] inline const UserOperation* user_of(const Call& call) {
    return static_cast<const UserOperation*>(call.user.get());
}
[[nodiscard]] inline std::uint32_t element_bytes(const Call& call) {
    const UserOperation* const user = user_of(call);
    return static_cast<std::uint32_t>(user != nullptr ? user->element_bytes
                                                      : base::size_of(call.type));
}
/// Of calls whose counts all ranks know.
[[nodiscard]] inline std::span<const std::size_t> counts_of(const Call& call) {
    return traits_of(call.collective).has_input_counts() ? call.in_blocks.counts
                                                         : call.out_blocks.counts;
}

/// A call of a built-in type and operation, without arrays of counts.
struct PlainCall {
    Collective collective = Collective::barrier;
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;
    Type type = Type::float64;
    Op op = Op::sum;
    Rank root = -1;

    /// What is plain of a call.
    [[nodiscard]] static PlainCall of(const Call& call) {
        return {call.collective, call.in, call.out, call.count, call.type, call.op, call.root};
    }
    [[nodiscard]] Call whole() const { return {collective, in, out, count, type, op, root}; }
};

/// Whether a call, if it can be made at all, is one of a built-in operation, without counts.
[[nodiscard]] inline bool is_plain(const Call& call) {
    return call.user == nullptr && call.collective < collectives::kFirstWithCounts &&
           call.in_blocks.counts.empty() && call.out_blocks.counts.empty();
}

/// The call as a rank of the team sees it: without arrays that are read on the root alone.
[[nodiscard]] Call as_seen(Call call, Rank rank);

/// Whether a call as_seen() can be made; memory is not looked at. A failure names the argument.
[[nodiscard]] base::Result<void> check_arguments(const Call& call, Rank rank, Rank size);

/// Whether the result is the same for any order of the operands.
[[nodiscard]] bool is_exact(const Call& call);

/// Why a call is made: by the user as it stands, or inside another call of the interface, which it
/// then stands for.
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
/// The call of the interface that a hidden call stands for; empty for one that stands for itself.
[[nodiscard]] std::string_view name_of(Purpose purpose);

/// The call in words, without what only some ranks know.
[[nodiscard]] std::string describe(const Call& call, std::string_view spec);
/// Of everything that ranks must agree about; never that of a verdict.
[[nodiscard]] base::CallHash call_hash(std::string_view description, std::uint32_t element_bytes);

}  // namespace weft::run
