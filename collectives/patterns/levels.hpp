// SPDX-License-Identifier: BSD-3-Clause
// levels.hpp - who is who when recursive multiplying changes the set of active ranks.
//
// Idea     A level numbers its active ranks 0..n-1 (wids). A *split* keeps one leader of every
//          group of `base`; a *merge* sets `remainders` ranks aside. Both are arithmetic in both
//          directions, so one rank of a million finds its peers in O(levels) time and memory.
// Why      Results must be in rank order for operations that do not commute. A split's leader is
//          the last of its consecutive members; an ordered merge places the remainders of a group
//          directly before its members. Placement::paper puts all remainders first, as the paper's
//          peer tables have it; that is in rank order only for one remainder or one group.
// Holds    outer_of(inner) and place_of(outer) are inverse; wids of both levels grow together.
// Next     exchange.hpp for the groups inside a level; allreduce/multiplying.cpp walks the stages.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "weft/types.hpp"

namespace weft::collectives::patterns {

/// Where the remainders of a merge stand.
enum class Placement : std::uint8_t { ordered, paper };

inline constexpr Rank kInactive = -1;

/// The first `grouped` ranks of a level in groups of `base`; the last of a group is its leader.
struct Split {
    Rank grouped = 0;
    Rank base = 2;

    struct Place {
        Rank inner = kInactive;     ///< wid on the new level; leaders and ungrouped ranks have one
        Rank group = kInactive;     ///< of a grouped rank
        Rank position = kInactive;  ///< in the group; base - 1 is the leader
    };
    [[nodiscard]] Place place_of(Rank outer) const;
    [[nodiscard]] Rank outer_of(Rank inner) const;
    [[nodiscard]] Rank member(Rank group, Rank position) const { return group * base + position; }
};

/// `groups` groups of `base` consecutive inner ranks; remainder i belongs to group i mod
/// `groups`.
struct Merge {
    Rank remainders = 0;
    Rank groups = 1;
    Rank base = 2;
    Placement placement = Placement::ordered;

    struct Place {
        Rank inner = kInactive;      ///< wid on the new level, or
        Rank remainder = kInactive;  ///< number of the remainder
    };
    [[nodiscard]] Place place_of(Rank outer) const;
    [[nodiscard]] Rank outer_of(Rank inner) const;
    [[nodiscard]] Rank outer_of_remainder(Rank remainder) const;
    /// How many remainders i < remainders have i mod groups == group.
    [[nodiscard]] Rank attached(Rank group) const {
        return remainders / groups + (group < remainders % groups ? 1 : 0);
    }

  private:
    [[nodiscard]] Rank group_start(Rank group) const;
};

/// The levels that are open, outermost first.
class Levels {
  public:
    void push(const Split& split) { open_.push_back(split); }
    void push(const Merge& merge) { open_.push_back(merge); }
    void pop() { open_.pop_back(); }
    /// The rank that has `wid` on the innermost level.
    [[nodiscard]] Rank rank_of(Rank wid) const;

  private:
    std::vector<std::variant<Split, Merge>> open_;
};

}  // namespace weft::collectives::patterns
