// SPDX-License-Identifier: BSD-3-Clause
// board.hpp - when what arrives where: one entry for each (rank, key).
//
// Idea     A table with the key as the slower index, so neighbouring ranks that send under one key to
//          neighbouring ranks write one stream. Where that would be too large (few of many numbers in
//          use at each rank) a hash table takes its place.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plan/simulate/model.hpp"
#include "weft/types.hpp"

namespace weft::plan {

class Board {
  public:
    Board(Rank ranks, std::uint32_t keys) : ranks_(static_cast<std::uint64_t>(ranks)) {
        const std::uint64_t entries = ranks_ * keys;
        if (entries <= kDenseMax) dense_.resize(entries);
    }

    void set(Rank rank, std::uint32_t key, Time time) { entry(rank, key) = time + 1; }
    /// The time, or -1 if there is none yet.
    [[nodiscard]] Time find(Rank rank, std::uint32_t key) const {
        const std::uint64_t at = key * ranks_ + static_cast<std::uint64_t>(rank);
        if (!dense_.empty()) return dense_[at] - 1;
        const auto found = sparse_.find(at);
        return found == sparse_.end() ? -1 : found->second - 1;
    }

  private:
    static constexpr std::uint64_t kDenseMax = 1U << 27;

    Time& entry(Rank rank, std::uint32_t key) {
        const std::uint64_t at = key * ranks_ + static_cast<std::uint64_t>(rank);
        return dense_.empty() ? sparse_[at] : dense_[at];
    }

    std::uint64_t ranks_;
    std::vector<Time> dense_;  ///< one more than the time; 0: none
    std::unordered_map<std::uint64_t, Time> sparse_;
};

}  // namespace weft::plan
