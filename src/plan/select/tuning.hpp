// SPDX-License-Identifier: BSD-3-Clause
// tuning.hpp - measured choices of algorithms, by collective, layout and size.
//
// Idea     A choice is a range of sizes of a collective on a layout, with the algorithm that was
//          the fastest there (tools/lab/cost/tuned_points.hpp).
// Why      A model omits properties of the machine that a measurement includes, for its sizes.
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

struct TunedChoice {
    TunedCase of;
    std::uint64_t from_bytes = 0;
    std::uint64_t to_bytes = 0;  ///< inclusive
    std::string algorithm;
    double median_us = 0;  ///< median time at the largest measured size of the range
};

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
    /// Returns the choice for a call, or nullptr. Prefers choices with an equal `same_bits`;
    /// choices with `same_bits` also serve calls without. An empty provider matches every provider.
    [[nodiscard]] const TunedChoice* find(const TunedCase& call, std::uint64_t bytes) const;

  private:
    std::vector<TunedChoice> choices_;
    std::string source_;
};

}  // namespace weft::plan
