// SPDX-License-Identifier: BSD-3-Clause
// mutate.hpp - makes one mistake in a set of programs, as a generator's bug would.
//
// Idea     A seed picks a kind of mistake and a place for it. The description tells what was done,
//          so that a verifier that does not see it can be looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/schedule/program.hpp"
#include "plan/verify/verify.hpp"

namespace weft::test {

enum class MutationKind : std::uint8_t {
    drop_put,
    duplicate_put,
    retarget_put,
    swap_operands,
    reuse_slot,
    drop_wait,
    one_copy,  ///< depth becomes 1: segments lose their banks
    drop_local,
    drop_signal,
};
inline constexpr int kMutationKinds = 9;

[[nodiscard]] const char* to_string(MutationKind kind);

struct Mutation {
    MutationKind kind = MutationKind::drop_put;
    std::string description;
    std::vector<plan::Program> programs;
};

/// nullopt if there is no place for a mistake of this kind.
[[nodiscard]] std::optional<Mutation> mutate(const std::vector<plan::Program>& programs,
                                             MutationKind kind, std::uint64_t seed);
/// Of any kind that has a place.
[[nodiscard]] Mutation mutate(const std::vector<plan::Program>& programs, std::uint64_t seed);

/// Whether a mistake that led from one verdict to the other shows in none of the facts.
[[nodiscard]] inline bool same_facts(const plan::Verdict& a, const plan::Verdict& b) {
    return a.valid == b.valid && a.rounds == b.rounds && a.messages == b.messages &&
           a.signals == b.signals && a.bytes_total == b.bytes_total &&
           a.bytes_sent_max == b.bytes_sent_max && a.reduced_bytes_max == b.reduced_bytes_max &&
           a.ordered == b.ordered && a.bit_identical == b.bit_identical &&
           a.synchronizing == b.synchronizing && a.slots_max == b.slots_max &&
           a.descriptors_max == b.descriptors_max;
}

}  // namespace weft::test
