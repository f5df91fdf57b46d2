// SPDX-License-Identifier: BSD-3-Clause
// exchange.hpp - the groups of one exchange stage: `base` wids that lie `stride` apart.
//
// Idea     With S ranks' worth already combined, wid w meets the wids that agree with it everywhere
//          but in one digit of base B: start + S*j, j = 0..B-1, inside its block of S*B.
#pragma once

#include "weft/types.hpp"

namespace weft::collectives::patterns {

struct Exchange {
    Rank stride = 1;
    Rank base = 2;

    [[nodiscard]] Rank position_of(Rank wid) const { return wid / stride % base; }
    /// Member j of the group that `wid` is in.
    [[nodiscard]] Rank member(Rank wid, Rank j) const {
        return wid + (j - position_of(wid)) * stride;
    }
};

}  // namespace weft::collectives::patterns
