// SPDX-License-Identifier: BSD-3-Clause
// select.hpp - choice of one of several algorithms for a call, with the reason.
//
// Idea     Candidates are ranked by predicted time, or by energy or descriptors if the user prefers
//          these (Hoefler and Moor, section 4.2). The first candidate that meets the needs of the
//          call is chosen.
// Holds    All ranks choose the same algorithm without communication, because the arithmetic is on
//          whole numbers. Ties go to the candidate with fewer messages, then to the earlier one.
// Next     prediction.hpp; docs/selection.md and decision 9.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/environment.hpp"
#include "plan/select/machine.hpp"
#include "plan/select/programs.hpp"

namespace weft::plan {

/// An algorithm with its parameters, as a generator of programs for one team.
struct Candidate {
    std::string algorithm;
    bool ordered = false;        ///< combines in rank order
    bool bit_identical = false;  ///< all ranks get the same bits
    ProgramGenerator program;
    /// Returns the number of banks for calls of this size, which limits the calls in flight. Empty
    /// for teams on one node.
    std::function<std::uint32_t()> banks = {};
};

/// Predicted cost of one call. Calls of a stream may overlap.
struct PredictedCost : CallTimes {
    std::uint64_t messages = 0;      ///< number of messages that the sampled ranks send
    bool in_place = false;           ///< a sampled rank exposes a buffer to a local peer
    bool delivers_directly = false;  ///< a sampled rank exposes a buffer to a remote rank
};

/// Property by which algorithms are chosen, and limit of descriptors (0: none).
struct Preference {
    base::Objective objective = base::Objective::time;
    std::uint32_t descriptors_max = 0;

    /// Returns true if the choice is the fastest algorithm, without a limit of descriptors.
    [[nodiscard]] bool is_usual() const { return *this == Preference{}; }
    friend auto operator<=>(const Preference&, const Preference&) = default;
};

/// Requirements of a call beyond the right result.
struct Needs {
    bool ordered = false;        ///< the operation does not commute
    bool bit_identical = false;  ///< all ranks must get the same bits
    Preference preference = {};
};

struct RankedCandidate : PredictedCost {
    std::string algorithm;
    bool ordered = false;
    bool bit_identical = false;
    bool fulfils = true;  ///< meets the needs of the call
    // Set only if the preference is not the usual one.
    std::uint64_t descriptors = 0;  ///< number of descriptors of the busiest rank
    std::uint64_t energy_pj = 0;    ///< energy of all ranks, in picojoules

    /// Returns the values by which candidates are ordered, the most important one first.
    [[nodiscard]] std::tuple<std::uint64_t, Time, Time, std::uint64_t> order(
        base::Objective objective) const {
        const std::uint64_t first = objective == base::Objective::energy        ? energy_pj
                                    : objective == base::Objective::descriptors ? descriptors
                                                                                : 0;
        return {first, in_stream, alone, messages};
    }
};

struct Choice {
    std::vector<RankedCandidate> candidates;  ///< sorted by RankedCandidate::order()
    std::size_t chosen = 0;
    std::string reason;
    /// Measured time of the chosen algorithm, if a measurement chose it.
    std::optional<double> measured_us;

    [[nodiscard]] const std::string& algorithm() const { return candidates[chosen].algorithm; }
};

/// Extent of the ranking: all candidates, or only those that the choice had to predict. Both choose
/// the same algorithm.
enum class Scope : std::uint8_t { all, chosen };

/// Returns the choice. Fails if no candidate supports the team size and meets the needs.
[[nodiscard]] base::Result<Choice> select(const Machine& machine, Rank size,
                                          std::span<const Candidate> candidates,
                                          const BufferSize& buffer, const Needs& needs,
                                          Scope scope = Scope::all);

/// Returns the reason of a choice that no measurement has made.
[[nodiscard]] std::string reason_of(const Choice& choice, const Machine& machine,
                                    const Needs& needs);

}  // namespace weft::plan
