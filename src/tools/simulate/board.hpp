// SPDX-License-Identifier: BSD-3-Clause
// board.hpp - table of arrival times, one entry for each (rank, key).
//
// Idea     Dense tables have the entries of all ranks for one key together, so neighboring ranks
//          that send to neighboring ranks write adjacent entries. If a dense table would be too
//          large, a hash table replaces it: each rank then uses few of many keys.
// Why      Most simulations end before 2^32 picoseconds. Entries have 32 bits until a later time is
//          stored, which halves the memory traffic.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <unordered_map>

#include "base/check.hpp"
#include "tools/simulate/clock.hpp"
#include "weft/types.hpp"

namespace weft::lab {

class Board {
  public:
    using Narrow = std::uint32_t;

    /// by_rank: stores the entries of one rank together, for engines that run ranks in order of
    /// time. row() is then not available.
    Board(Rank ranks, std::uint32_t keys, bool by_rank = false)
        : ranks_(static_cast<std::uint64_t>(ranks)),
          entries_(ranks_ * keys),
          key_stride_(by_rank ? 1 : ranks_),
          rank_stride_(by_rank ? keys : 1) {
        if (entries_ > 0 && entries_ <= kDenseMax) narrow_ = zeros<Narrow>();
    }

    void set(Rank rank, std::uint32_t key, Time time) {
        widen_for(time);
        const std::uint64_t at = index_of(rank, key);
        if (narrow_)
            narrow_[at] = static_cast<Narrow>(time + 1);
        else if (wide_)
            wide_[at] = time + 1;
        else
            sparse_[at] = time + 1;
    }
    /// Returns the time, or -1 before an arrival.
    [[nodiscard]] Time find(Rank rank, std::uint32_t key) const {
        const std::uint64_t at = index_of(rank, key);
        if (narrow_) return static_cast<Time>(narrow_[at]) - 1;
        if (wide_) return wide_[at] - 1;
        const auto found = sparse_.find(at);
        return found == sparse_.end() ? -1 : found->second - 1;
    }

    /// Widens the entries to 64 bits if `time` does not fit into 32 bits.
    void widen_for(Time time) {
        if (narrow_ && time >= std::numeric_limits<Narrow>::max()) widen();
    }
    [[nodiscard]] bool dense() const { return narrow_ || wide_; }
    [[nodiscard]] bool narrow() const { return narrow_ != nullptr; }
    /// Returns a dense board's entries of a key, one for each rank: the time plus one, or 0 before
    /// an arrival.
    template <class Cell>
    [[nodiscard]] Cell* row(std::uint32_t key) const {
        if constexpr (sizeof(Cell) == sizeof(Narrow))
            return narrow_.get() + key * ranks_;
        else
            return wide_.get() + key * ranks_;
    }

  private:
    [[nodiscard]] std::uint64_t index_of(Rank rank, std::uint32_t key) const {
        return key * key_stride_ + static_cast<std::uint64_t>(rank) * rank_stride_;
    }

    static constexpr std::uint64_t kDenseMax = 1U << 27;  ///< entries of a dense table

    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    template <class Cell>
    using Cells = std::unique_ptr<Cell[], Free>;

    /// calloc: untouched pages are never allocated.
    template <class Cell>
    [[nodiscard]] Cells<Cell> zeros() const {
        Cells<Cell> cells(static_cast<Cell*>(std::calloc(entries_, sizeof(Cell))));
        WEFT_CHECK(cells != nullptr, entries_);
        return cells;
    }
    void widen() {
        wide_ = zeros<Time>();
        for (std::uint64_t i = 0; i < entries_; ++i)
            if (narrow_[i] != 0) wide_[i] = static_cast<Time>(narrow_[i]);
        narrow_.reset();
    }

    std::uint64_t ranks_;
    std::uint64_t entries_;
    std::uint64_t key_stride_;
    std::uint64_t rank_stride_;
    // One of these has the entries: the time plus one, or 0 before an arrival.
    Cells<Narrow> narrow_;
    Cells<Time> wide_;
    std::unordered_map<std::uint64_t, Time> sparse_;
};

}  // namespace weft::lab
