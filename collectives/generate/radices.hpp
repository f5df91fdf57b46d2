// SPDX-License-Identifier: BSD-3-Clause
// radices.hpp - radices of Bruck's algorithms and of dissemination that are worth a prediction.
//
// Idea     A round of radix k multiplies the number of reached ranks by k. Of the radices that
//          reach all ranks in a given number of rounds, the smallest has the fewest messages.
// Source   Bruck et al., Efficient algorithms for all-to-all communications.
#pragma once

#include <string>
#include <vector>

#include "collectives/algorithm.hpp"

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

/// Returns the spec of `bruck` with the fastest radix of at least two rounds, unless that is 2, the
/// default. An alltoall sends a block once for each digit of its distance that is not 0.
[[nodiscard]] inline std::vector<std::string> bruck_variants(std::string_view collective,
                                                             const CandidateRequest& request) {
    const auto time = [&](Rank radix) {
        const std::int64_t rounds = rounds_of_radix(request.size, radix);
        std::int64_t reach = 1;
        for (std::int64_t round = 1; round < rounds; ++round) reach *= radix;
        const std::int64_t last = (request.size - 1) / reach;
        const std::int64_t messages = (rounds - 1) * (radix - 1) + last;
        std::int64_t blocks = request.size;
        if (collective == "alltoall")
            blocks = (rounds - 1) * (request.size - request.size / radix) + request.size -
                     request.size / (last + 1);
        return rounds * (request.latency_ps + request.receive_ps) + messages * request.issue_ps +
               blocks * request.buffer_ps;
    };
    Rank best = 2;
    for (const Rank radix : smallest_radices(request.size))
        if (radix < request.size && time(radix) < time(best)) best = radix;
    if (best == 2) return {};
    return {fmt::format("bruck:k={}", best)};
}

}  // namespace weft::collectives
