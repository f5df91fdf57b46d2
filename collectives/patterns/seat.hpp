// SPDX-License-Identifier: BSD-3-Clause
// seat.hpp - where a rank stands among how many, and who is the root.
//
// Idea     Algorithms with a root count ranks from it: number 0 is the root, number 1 the rank behind it, around.
#pragma once

#include <cstdint>

#include "weft/types.hpp"

namespace weft::collectives::patterns {

struct Seat {
    Rank rank = 0;
    Rank size = 1;
    Rank root = 0;

    /// This rank's, counted from the root.
    [[nodiscard]] Rank number() const { return rank < root ? rank - root + size : rank - root; }
    [[nodiscard]] Rank rank_of(Rank number) const {
        return static_cast<Rank>((std::int64_t{number} + root) % size);
    }
};

}  // namespace weft::collectives::patterns
