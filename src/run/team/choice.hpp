// SPDX-License-Identifier: BSD-3-Clause
// choice.hpp - chooses the algorithm of a team's calls, unless one is forced.
//
// Idea     The candidates of the collective (collectives/registry.hpp) are ranked by predicted
//          times for the machine (plan/select). Counts are first rounded up to a power of two, so
//          one choice serves a class of calls.
// Holds    A choice is equal on all ranks, because its inputs are. It is computed once on a node
//          for each class (node_choices.hpp) and kept.
// Next     docs/selection.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collectives/registry.hpp"
#include "plan/select/select.hpp"
#include "plan/select/tuning.hpp"
#include "run/team/plan.hpp"

namespace weft::run {

/// Properties of a call that the choice depends on.
struct CallClass {
    std::string_view collective;  ///< static text
    std::uint64_t elements = 0;
    std::uint32_t element_bytes = 1;
    bool ordered = false;        ///< the operation does not commute
    bool bit_identical = false;  ///< results may depend on the order, but ranks must not differ
    bool counted = false;        ///< blocks have counts, so gaps between them are possible
    plan::Preference preference = {};
    [[nodiscard]] std::uint64_t bytes() const { return elements * element_bytes; }
    [[nodiscard]] plan::Needs needs() const { return {ordered, bit_identical, preference}; }
    friend auto operator<=>(const CallClass&, const CallClass&) = default;
};

[[nodiscard]] CallClass class_of(const Call& call);
[[nodiscard]] CallClass rounded(CallClass call);

[[nodiscard]] std::vector<std::string_view> providers_with_costs();
/// Returns the costs of puts with a provider ("": the usual one). Unknown ones have default costs.
[[nodiscard]] plan::Machine machine_over(std::string_view provider);

/// Returns the candidates of a call for plan::select(), without algorithms that have the programs
/// of an earlier candidate. `call.collective` must outlive the candidates.
[[nodiscard]] base::Result<std::vector<plan::Candidate>> candidates_for(
    const plan::Machine& machine, Rank size, const CallClass& call);
[[nodiscard]] base::Result<plan::Candidate> candidate_for(const plan::Machine& machine, Rank size,
                                                          const CallClass& call,
                                                          std::string_view algorithm);
/// Returns the number of calls that can have put targets at the same time. `program`: program of
/// the team's rank 0; if it is a failure, returns the usual number.
[[nodiscard]] std::uint32_t banks_of(const base::Result<plan::Program>& program,
                                     const plan::BufferSize& buffer, std::uint64_t bank_bytes);
/// Returns the buffer that a call's programs cut into units.
[[nodiscard]] plan::BufferSize buffer_of(Rank size, const CallClass& call);

/// Returns all candidates of a call with their times. The chosen one is the one that was measured
/// with this provider ("": any) or, without one, the fastest for the rounded() class.
[[nodiscard]] base::Result<plan::Choice> rank_algorithms(const plan::Machine& machine, Rank size,
                                                         const CallClass& call,
                                                         const plan::Tuning& tuning = {},
                                                         std::string_view provider = "");

/// Adds an algorithm that is not among the candidates. The choice does not change.
[[nodiscard]] base::Result<void> also_rank(plan::Choice& choice,
                                           const collectives::AlgorithmSpec& spec,
                                           const plan::Machine& machine, Rank size,
                                           const CallClass& call);

/// Parses the algorithm that a user names. `reason`: where the user names it, for the log.
[[nodiscard]] base::Result<ChosenAlgorithm> parse_algorithm(std::string_view text,
                                                            std::string reason);

/// Fails if the collective has no such algorithm or parameter. Does not check the team's size.
[[nodiscard]] base::Result<void> check_algorithm(Collective collective,
                                                 const ChosenAlgorithm& algorithm);

/// Returns the measured choice for a rounded() class or, without one, the node's predicted choice.
[[nodiscard]] base::Result<ChosenAlgorithm> choose_algorithm(const PlanContext& context,
                                                             const CallClass& call);

}  // namespace weft::run
