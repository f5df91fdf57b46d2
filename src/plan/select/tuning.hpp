// SPDX-License-Identifier: BSD-3-Clause
// tuning.hpp - measured choices of algorithms, by collective, layout and size.
//
// Idea     A point is a measurement: the fastest of the tried algorithms for one size. Choices are
//          ranges of sizes derived from points. Neighbors with the same winner merge; the border
//          between different winners is the geometric mean of their sizes. A point is valid up to a
//          factor of kReach from its size.
// Why      A model cannot know everything about a machine; a measurement does, for its own sizes.
// Holds    Lookups are pure, so ranks with the same table find the same choice.
// Next     run/job/measured_files.hpp for the file; run/team/choice.hpp for the caller.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/types.hpp"

namespace weft::plan {

/// Key of a measured choice.
struct TunedCase {
    std::string collective;
    std::string layout;    ///< layout_text() of the team
    std::string provider;  ///< network provider; "none" on one node
    /// Only algorithms with the same bits on all ranks were tried.
    bool same_bits = false;

    friend auto operator<=>(const TunedCase&, const TunedCase&) = default;
};

struct TunedPoint {
    TunedCase of;
    std::uint64_t bytes = 0;  ///< of the buffer, or of a block of it
    std::string algorithm;
    double median_us = 0;
};

struct TunedChoice {
    TunedCase of;
    std::uint64_t from_bytes = 0;
    std::uint64_t to_bytes = 0;  ///< inclusive
    std::string algorithm;
    double median_us = 0;  ///< at the largest measured size of the range
};

/// Largest factor between the size of a point and a size that uses it.
inline constexpr std::uint64_t kReach = 4;

/// Returns the choices in order of case and size. The last of several points with the same case
/// and size counts.
[[nodiscard]] std::vector<TunedChoice> choices_of(std::span<const TunedPoint> points);

/// Returns the ranks on each node, such as "3,1,4"; empty if the ranks of a node are not
/// consecutive. `node_of`: by rank; empty if all are on one node.
[[nodiscard]] std::string layout_text(std::span<const Rank> node_of, Rank size);

class Tuning {
  public:
    Tuning() = default;
    /// `source`: origin of the choices, for messages.
    Tuning(std::vector<TunedChoice> choices, std::string source)
        : choices_(std::move(choices)), source_(std::move(source)) {}

    [[nodiscard]] const std::string& source() const { return source_; }
    [[nodiscard]] std::span<const TunedChoice> choices() const { return choices_; }
    /// Returns the choice for such a call, or nullptr. Prefers choices with the same
    /// `same_bits`; a choice with same bits also serves calls that do not need them. An empty
    /// provider matches any.
    [[nodiscard]] const TunedChoice* find(const TunedCase& call, std::uint64_t bytes) const;

  private:
    std::vector<TunedChoice> choices_;
    std::string source_;
};

}  // namespace weft::plan
