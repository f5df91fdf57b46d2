// SPDX-License-Identifier: BSD-3-Clause
// board.hpp - when what arrives where: one entry for each (rank, key).
//
// Idea     A table with the key as the slower index, so neighbouring ranks that send under one key
//          to neighbouring ranks write one stream. Where that would be too large (few of many
//          numbers in use at each rank) a hash table takes its place.
// Why      Most simulations end before 2^32 picoseconds: entries are 32 bits wide until a later
//          time comes along, which halves what is read, written and first touched.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <unordered_map>

#include "base/check.hpp"
#include "plan/simulate/model.hpp"
#include "weft/types.hpp"

namespace weft::plan {

class Board {
  public:
    using Narrow = std::uint32_t;

    /// `by_rank`: what arrives at a rank lies together, for engines that go from rank to rank in
    /// the order of time; no rows then.
    Board(Rank ranks, std::uint32_t keys, bool by_rank = false)
        : ranks_(static_cast<std::uint64_t>(ranks)),
          entries_(ranks_ * keys),
          key_stride_(by_rank ? 1 : ranks_),
          rank_stride_(by_rank ? keys : 1) {
        if (entries_ > 0 && entries_ <= kDenseMax) narrow_ = zeros<Narrow>();
    }

    void set(Rank rank, std::uint32_t key, Time time) {
        make_room(time);
        const std::uint64_t at = place_of(rank, key);
        if (narrow_)
            narrow_[at] = static_cast<Narrow>(time + 1);
        else if (wide_)
            wide_[at] = time + 1;
        else
            sparse_[at] = time + 1;
    }
    /// The time, or -1 if there is none yet.
    [[nodiscard]] Time find(Rank rank, std::uint32_t key) const {
        const std::uint64_t at = place_of(rank, key);
        if (narrow_) return static_cast<Time>(narrow_[at]) - 1;
        if (wide_) return wide_[at] - 1;
        const auto found = sparse_.find(at);
        return found == sparse_.end() ? -1 : found->second - 1;
    }

    /// Entries can take such a time from here on.
    void make_room(Time time) {
        if (narrow_ && time >= std::numeric_limits<Narrow>::max()) widen();
    }
    [[nodiscard]] bool dense() const { return narrow_ || wide_; }
    [[nodiscard]] bool narrow() const { return narrow_ != nullptr; }
    /// A dense board's entries for a key, by rank: one more than the time; 0: none.
    template <class Cell>
    [[nodiscard]] Cell* row(std::uint32_t key) const {
        if constexpr (sizeof(Cell) == sizeof(Narrow))
            return narrow_.get() + key * ranks_;
        else
            return wide_.get() + key * ranks_;
    }

  private:
    [[nodiscard]] std::uint64_t place_of(Rank rank, std::uint32_t key) const {
        return key * key_stride_ + static_cast<std::uint64_t>(rank) * rank_stride_;
    }

    static constexpr std::uint64_t kDenseMax = 1U << 27;

    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    template <class Cell>
    using Cells = std::unique_ptr<Cell[], Free>;

    /// Pages that are never touched are never made.
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
    Cells<Narrow> narrow_;
    Cells<Time> wide_;
    std::unordered_map<std::uint64_t, Time> sparse_;
};

}  // namespace weft::plan
