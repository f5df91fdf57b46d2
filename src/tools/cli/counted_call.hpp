// SPDX-License-Identifier: BSD-3-Clause
// counted_call.hpp - a call with a count for each block, as given on the command line.
//
// Idea     If all ranks know the counts, the algorithms of equal blocks serve the call. If only
//          sender and receiver know a count, each message goes directly to its rank.
// Next     collectives/v_collective.hpp for the programs of such messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "collectives/v_collective.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::tools {

struct CountedCall {
    const collectives::CollectiveTraits* traits = nullptr;
    Rank size = 1;
    Rank root = 0;
    std::vector<std::uint64_t> counts;  ///< elements of the block of each rank

    [[nodiscard]] std::uint64_t elements() const;  ///< of all blocks
    [[nodiscard]] bool all_alike() const;

    // For calls whose counts only sender and receiver know: each message is sent in one piece. In
    // an alltoallv, rank i sends the count of rank j to rank j.
    [[nodiscard]] std::vector<collectives::Message> sent(Rank rank) const;
    [[nodiscard]] std::vector<collectives::Message> received(Rank rank) const;
    [[nodiscard]] base::Result<plan::Program> program(Rank rank) const;
    /// Refers to this call, which must outlive the contract.
    [[nodiscard]] plan::Contract contract() const;

  private:
    [[nodiscard]] std::uint64_t between(Rank from, Rank to) const;
};

/// Reads --counts: a count for each rank, or `each` for all.
[[nodiscard]] base::Result<std::vector<std::uint64_t>> read_counts(const std::string& text,
                                                                   Rank ranks, std::uint64_t each);

}  // namespace weft::tools
