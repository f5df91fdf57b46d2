// SPDX-License-Identifier: BSD-3-Clause
// tuning.hpp - measured choices of algorithms, by collective, layout and size.
//
// Idea     Points are what was measured: which algorithm took the least time of those tried, for
//          one size. Choices are ranges of sizes made of them: neighbours with the same winner
//          become one, and between two others the border lies in the geometric middle. A point is
//          worth something up to a factor of kReach from its size.
// Why      A model cannot know everything about a machine; who has measured knows better, for what
//          was measured.
// Holds    Looking up is pure: ranks with the same table find the same.
// Next     run/runtime/measured_files.hpp for the file; run/runtime/choice.hpp for who asks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/types.hpp"

namespace weft::plan {

/// What choices are kept apart by.
struct TunedCase {
    std::string collective;
    std::string layout;      ///< layout_text() of the team
    std::string provider;    ///< of the network; "none" on one node
    bool same_bits = false;  ///< only algorithms that give all ranks the same bits were tried

    friend auto operator<=>(const TunedCase&, const TunedCase&) = default;
};

struct TunedPoint {
    TunedCase of;
    std::uint64_t bytes = 0;  ///< of the vector, or of a block of it
    std::string algorithm;
    double median_us = 0;
};

struct TunedChoice {
    TunedCase of;
    std::uint64_t from_bytes = 0;
    std::uint64_t to_bytes = 0;  ///< the last one
    std::string algorithm;
    double median_us = 0;  ///< at the largest size that was measured in the range
};

/// A point says nothing of sizes that are larger or smaller than its own by more than this factor.
inline constexpr std::uint64_t kReach = 4;

/// In order of case and size. Of points with the same case and size the last one counts.
[[nodiscard]] std::vector<TunedChoice> choices_of(std::span<const TunedPoint> points);

/// Ranks on each node, such as "3,1,4"; empty if the ranks of some node do not follow each other.
/// node_of: by rank; empty: all on one node.
[[nodiscard]] std::string layout_text(std::span<const Rank> node_of, Rank size);

class Tuning {
  public:
    Tuning() = default;
    /// source: where the choices are from, for people.
    Tuning(std::vector<TunedChoice> choices, std::string source)
        : choices_(std::move(choices)), source_(std::move(source)) {}

    [[nodiscard]] const std::string& source() const { return source_; }
    [[nodiscard]] std::span<const TunedChoice> choices() const { return choices_; }
    /// What was measured for such calls, with the same need first; a choice among fewer algorithms
    /// serves those that need less, too. No provider: over any. nullptr: nothing.
    [[nodiscard]] const TunedChoice* find(const TunedCase& call, std::uint64_t bytes) const;

  private:
    std::vector<TunedChoice> choices_;
    std::string source_;
};

}  // namespace weft::plan
