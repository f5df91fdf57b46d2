// SPDX-License-Identifier: BSD-3-Clause
// mutate.hpp - makes mutants: sets of programs with one mistake, as a faulty generator makes them.
//
// Idea     A seed selects the kind of mistake and the changed step. The description has both, so
//          that a mutant that the verifier accepts can be examined.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/schedule/program.hpp"
#include "tools/verify/verify.hpp"

namespace weft::test {

enum class MutationKind : std::uint8_t {
    drop_put,
    duplicate_put,
    retarget_put,
    swap_operands,
    reuse_slot,
    drop_wait,
    one_copy,  ///< depth becomes 1: all segments use the same copy of each slot
    drop_flush,
    drop_signal,
};
inline constexpr int kMutationKinds = 9;

[[nodiscard]] const char* to_string(MutationKind kind);

struct Mutation {
    MutationKind kind = MutationKind::drop_put;
    std::string description;              ///< rank, step and its change
    std::vector<plan::Program> programs;  ///< the mutant, by rank
};

/// Returns programs with a mistake of this kind, or nullopt if no step allows this mistake.
[[nodiscard]] std::optional<Mutation> mutate(const std::vector<plan::Program>& programs,
                                             MutationKind kind, std::uint64_t seed);
/// Returns programs with a mistake of a random kind.
[[nodiscard]] Mutation mutate(const std::vector<plan::Program>& programs, std::uint64_t seed);

/// Returns true if two verdicts have the same counts and properties.
[[nodiscard]] inline bool same_facts(const plan::Verdict& a, const plan::Verdict& b) {
    return a.valid == b.valid && a.rounds == b.rounds && a.messages == b.messages &&
           a.signals == b.signals && a.bytes_total == b.bytes_total &&
           a.bytes_sent_max == b.bytes_sent_max && a.reduced_bytes_max == b.reduced_bytes_max &&
           a.ordered == b.ordered && a.bit_identical == b.bit_identical &&
           a.synchronizing == b.synchronizing && a.slots_max == b.slots_max &&
           a.descriptors_max == b.descriptors_max;
}

}  // namespace weft::test
