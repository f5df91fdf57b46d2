// SPDX-License-Identifier: BSD-3-Clause
// choice.hpp - the algorithm that calls of a team use if none is forced.
//
// Idea     What the collectives offer (collectives/candidates.hpp) is ranked by what the plan room
//          predicts for the machine (plan/select). A choice holds for a class of sizes: counts up
//          to the next power of two.
// Holds    The same on all ranks, without communication: decided from what they all know. Decided
//          once for each class and kept.
// Next     docs/selection.md.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "collectives/candidates.hpp"
#include "plan/select/select.hpp"
#include "plan/select/tuning.hpp"
#include "run/runtime/plan.hpp"

namespace weft::run {

/// A call as far as the choice depends on it.
struct CallClass {
    std::string_view collective;  ///< a name that lives as long as the program
    std::uint64_t elements = 0;
    std::uint32_t element_bytes = 1;
    bool ordered = false;        ///< the operation does not commute
    bool bit_identical = false;  ///< results may depend on the order, and ranks must not differ
    bool counted = false;        ///< blocks have counts: they may lie apart

    friend auto operator<=>(const CallClass&, const CallClass&) = default;
};

/// What the choice of an algorithm for a call depends on.
[[nodiscard]] CallClass class_of(const Call& call);

/// Counts up to the next power of two are one class.
[[nodiscard]] CallClass rounded(CallClass call);

/// The providers whose costs are known.
[[nodiscard]] std::vector<std::string_view> providers_with_costs();
/// What puts cost over a provider's network ("": the usual one; one that is not known: what is
/// assumed of any), and near ones anywhere.
[[nodiscard]] plan::Machine machine_over(std::string_view provider);

/// What may be chosen for a call, as plan::select() takes it; Scope::chosen: without what has the
/// programs of an earlier one. The call's collective outlives them.
[[nodiscard]] base::Result<std::vector<plan::Candidate>> candidates_for(
    const plan::Machine& machine, Rank size, const CallClass& call, plan::Scope scope);
/// How many calls by the program of a team's first rank have put targets at a time, with banks of
/// so many bytes; as usual if it is a failure.
[[nodiscard]] std::uint32_t banks_of(const base::Result<plan::Program>& program,
                                     const plan::VectorSize& vector, std::uint64_t bank_bytes);
/// The vector that programs of a call cut into units.
[[nodiscard]] plan::VectorSize vector_of(Rank size, const CallClass& call);

/// All candidates of a call, with what they take; what is chosen is the best of its class, or what
/// was measured.
/// provider: of the network, as far as measured choices depend on it; "": whatever it was.
[[nodiscard]] base::Result<plan::Choice> rank_algorithms(const plan::Machine& machine, Rank size,
                                                         const CallClass& call,
                                                         const plan::Tuning& tuning = {},
                                                         std::string_view provider = "");

/// Adds an algorithm that is not among the candidates. What is chosen stays the same.
[[nodiscard]] base::Result<void> also_rank(plan::Choice& choice,
                                           const collectives::AlgorithmSpec& spec,
                                           const plan::Machine& machine, Rank size,
                                           const CallClass& call);

/// The algorithm that a user names, and where.
[[nodiscard]] base::Result<ChosenAlgorithm> parse_algorithm(std::string_view text,
                                                            std::string reason);

/// Whether the collective has an algorithm of that name; how many ranks it serves only a call says.
[[nodiscard]] base::Result<void> check_algorithm(Collective collective,
                                                 const ChosenAlgorithm& algorithm);

class Chooser {
  public:
    /// The tuning, which may be null, outlives the chooser.
    Chooser(plan::Machine machine, Rank size, const plan::Tuning* tuning, std::string provider)
        : machine_(std::move(machine)),
          size_(size),
          tuning_(tuning),
          provider_(std::move(provider)) {}

    /// The result is valid until the next call.
    [[nodiscard]] base::Result<const ChosenAlgorithm*> choose(const Call& call) const;
    /// All that could be chosen, whatever is known by measuring.
    [[nodiscard]] base::Result<plan::Choice> rank_all(const CallClass& call) const {
        return rank_algorithms(machine_, size_, call);
    }

  private:
    plan::Machine machine_;
    Rank size_;
    const plan::Tuning* tuning_;
    std::string provider_;
    mutable std::map<CallClass, ChosenAlgorithm> known_;
};

}  // namespace weft::run
