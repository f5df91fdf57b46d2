// SPDX-License-Identifier: BSD-3-Clause
// schedule.hpp - text form of recursive multiplying: "a8,a4", "c6m2,a2,a2,e6m2", "m1g2a3,n1g3a2".
//
// Idea     A schedule is a list of stages. A *level* is a set of active ranks with numbers
//          0..n-1, and S, the product of its factors so far. aB multiplies S by B; cTmB and
//          mRgGaB open a smaller level inside, eTmB and nRgGaB close it again (Ruefenacht et al.,
//          recursive multiplying, section 4). Letters are as in the paper: T grouped ranks, B base,
//          R remainders, G groups.
// Why      The syntax of a text does not depend on the number of ranks, but its validity as an
//          allreduce does. So there are two steps: parse, then validate against n.
// Holds    print(parse(text)) == text, because there is one spelling (no blanks, no leading zeros).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "weft/types.hpp"

namespace weft::collectives {

class Cursor;

enum class StageKind : char {
    factor = 'a',   ///< aB: groups of B exchange and reduce
    gather = 'c',   ///< cTmB: the first T ranks form groups of B; the last of each is its leader
    scatter = 'e',  ///< eTmB: the leaders of the matching cTmB return the result
    merge = 'm',    ///< mRgGaB: aB over G groups while R remainders only send
    release = 'n',  ///< nRgGaB: aB with stride G while the R remainders only receive
};

struct Stage {
    StageKind kind = StageKind::factor;
    Rank base = 0;        ///< B
    Rank grouped = 0;     ///< T of c and e
    Rank remainders = 0;  ///< R of m and n
    Rank groups = 0;      ///< G of m and n

    friend bool operator==(const Stage&, const Stage&) = default;
};

using Schedule = std::vector<Stage>;

/// Parses stages up to the first character that is not part of the notation.
[[nodiscard]] base::Result<Schedule> parse_schedule(Cursor& cursor);
/// Returns true if a schedule, and not a name, begins at the cursor.
[[nodiscard]] bool schedule_begins(const Cursor& cursor);

[[nodiscard]] std::string print(const Stage& stage);
[[nodiscard]] std::string print(const Schedule& schedule);

/// A stage and the state of its level before it. For e and n this is the level that they close.
struct PlacedStage {
    Stage stage;
    Rank active = 0;  ///< n: active ranks of the level
    Rank stride = 1;  ///< S: product of the factors so far on the level

    friend bool operator==(const PlacedStage&, const PlacedStage&) = default;
};

/// A schedule that is a valid allreduce of `size` ranks.
struct Shape {
    Rank size = 1;
    std::vector<PlacedStage> stages;

    friend bool operator==(const Shape&, const Shape&) = default;
};

/// Checks all rules of the notation for n = `size` ranks. A failure names the character of the
/// printed schedule that breaks a rule, counted from `first_position`. A schedule without stages is
/// valid for a single rank.
[[nodiscard]] base::Result<Shape> validate(const Schedule& schedule, Rank size,
                                           std::size_t first_position = 1);

}  // namespace weft::collectives
