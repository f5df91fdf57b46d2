// SPDX-License-Identifier: BSD-3-Clause
// radices.hpp - radices of Bruck's algorithms and of dissemination that are worth a prediction.
//
// Idea     A round of radix k multiplies the number of reached ranks by k. Of the radices that
//          reach all ranks in a given number of rounds, the smallest has the fewest messages.
// Source   Bruck et al., Efficient algorithms for all-to-all communications.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::collectives {

/// Returns the number of rounds in which `radix` reaches all ranks.
[[nodiscard]] inline int rounds_of_radix(Rank size, Rank radix) {
    int rounds = 0;
    for (std::int64_t reach = 1; reach < size; reach *= radix) ++rounds;
    return rounds;
}

/// Returns the smallest radix for each number of rounds that is less than the rounds of radix 2.
[[nodiscard]] inline std::vector<Rank> smallest_radices(Rank size) {
    std::vector<Rank> radices;
    const int most = rounds_of_radix(size, 2);
    for (int rounds = 1; rounds < most; ++rounds) {
        Rank radix = 2;
        while (rounds_of_radix(size, radix) > rounds) ++radix;
        if (radices.empty() || radices.back() != radix) radices.push_back(radix);
    }
    return radices;
}

}  // namespace weft::collectives
