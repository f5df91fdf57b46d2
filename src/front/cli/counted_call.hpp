// SPDX-License-Identifier: BSD-3-Clause
// counted_call.hpp - a call whose blocks have counts of their own, as the command line names it.
//
// Idea     Where all ranks know the counts, the algorithms of equal blocks serve the call. Where
//          only the two ends of a message do, there is one way: each message straight to its rank.
// Next     collectives/v_collective.hpp for the programs of such messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "collectives/v_collective.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::front {

struct CountedCall {
    const collectives::CollectiveTraits* traits = nullptr;
    Rank size = 1;
    Rank root = 0;
    std::vector<std::uint64_t> counts;  ///< elements of each rank's block

    [[nodiscard]] std::uint64_t elements() const;  ///< of all blocks
    [[nodiscard]] bool all_alike() const;

    // Of a call whose counts the two ends know: every message goes in one piece. Rank i of an
    // alltoallv sends to rank j what is rank j's count.
    [[nodiscard]] std::vector<collectives::Message> sent(Rank rank) const;
    [[nodiscard]] std::vector<collectives::Message> received(Rank rank) const;
    [[nodiscard]] base::Result<plan::Program> program(Rank rank) const;
    /// Refers to the call, which has to live as long.
    [[nodiscard]] plan::Contract contract() const;

  private:
    [[nodiscard]] std::uint64_t between(Rank from, Rank to) const;
};

/// --counts, one for each rank, or `each` for all.
[[nodiscard]] base::Result<std::vector<std::uint64_t>> read_counts(const std::string& text,
                                                                   Rank ranks, std::uint64_t each);

}  // namespace weft::front
