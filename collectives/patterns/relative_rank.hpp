// SPDX-License-Identifier: BSD-3-Clause
// relative_rank.hpp - ranks counted from the root.
//
// Idea     Algorithms with a root number the ranks from it, modulo the number of ranks: the root
//          has number 0, the next rank number 1.
#pragma once

#include <cstdint>

#include "weft/types.hpp"

namespace weft::collectives::patterns {

struct RelativeRank {
    Rank rank = 0;
    Rank size = 1;
    Rank root = 0;

    /// Returns this rank's number, counted from the root.
    [[nodiscard]] Rank number() const { return number_of(rank); }
    [[nodiscard]] Rank number_of(Rank other) const {
        return other < root ? other - root + size : other - root;
    }
    [[nodiscard]] Rank rank_of(Rank number) const {
        return static_cast<Rank>((std::int64_t{number} + root) % size);
    }
};

}  // namespace weft::collectives::patterns
