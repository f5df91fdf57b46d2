// SPDX-License-Identifier: BSD-3-Clause
// select.hpp - which of several algorithms a call should use, and why.
//
// Idea     Candidates are ranked by predicted time; the first that fulfils what the call needs is
//          chosen.
// Holds    Equal questions have equal answers on all ranks: the arithmetic is on whole numbers. Of
//          equal times the one with fewer messages wins, then the earlier one. Nothing is
//          communicated.
// Next     predict.hpp; docs/selection.md and decision 9.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/select/predict.hpp"

namespace weft::plan {

/// What a call demands of an algorithm beyond the right result.
struct Needs {
    bool ordered = false;        ///< the operation does not commute
    bool bit_identical = false;  ///< all ranks are to get the same bits
};

struct RankedCandidate {
    std::string algorithm;
    Time predicted = 0;  ///< of one call
    Time in_stream = 0;  ///< of each of many in a row: what is chosen by
    std::uint64_t messages = 0;
    bool in_place = false;  ///< ranks read or write memory of node-mates where it lies,
    bool lands = false;     ///< or put into vectors of ranks on other nodes
    bool ordered = false;
    bool bit_identical = false;
    bool fulfils = true;  ///< what the call needs
};

struct Choice {
    std::vector<RankedCandidate> candidates;  ///< quickest first
    std::size_t chosen = 0;
    std::string reason;
    std::optional<double> measured_us;  ///< of the chosen one, if that is why it is chosen

    [[nodiscard]] const std::string& algorithm() const { return candidates[chosen].algorithm; }
};

/// Whether all candidates are predicted, or only those that may be chosen: by what they need and by
/// what they take at the least. The choice is the same.
enum class Scope : std::uint8_t { all, chosen };

/// Fails if no candidate fits the size and fulfils the needs.
[[nodiscard]] base::Result<Choice> select(const Machine& machine, Rank size,
                                          std::span<const Candidate> candidates,
                                          const VectorSize& vector, const Needs& needs,
                                          Scope scope = Scope::all);

}  // namespace weft::plan
