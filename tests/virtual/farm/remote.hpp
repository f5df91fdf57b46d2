// SPDX-License-Identifier: BSD-3-Clause
// remote.hpp - one-sided calls of a run, and checks of their effects.
//
// Idea     Each origin has its own block of words in each peer's heap, so the contents after a
//          quiet are known. A word is put again only after a fence. A put with a signal writes
//          separate words; a rank that sees the signal must see these words. All ranks add 1 to a
//          counter of each rank; the old values that they get (tickets) must all differ.
// Next     tests/virtual/engine/onesided_test.cpp for single promises.
#pragma once

#include <deque>
#include <vector>

#include "run/onesided/onesided.hpp"
#include "tests/virtual/farm/world.hpp"

namespace weft::farm {

/// One-sided calls of all ranks, and the expected contents of their heaps.
class Remote {
  public:
    explicit Remote(World& world);

    /// Performs a one-sided act at its origin. `number` is the index of the act.
    void perform(const Act& act, std::size_t number);
    /// Completes all writes of this rank, and checks their contents.
    void quiet(Rank origin);
    /// Checks the signals that the rank can see now.
    void check_signals(Rank rank);

  private:
    using Calls = run::OneSided<link::Wire, test::VirtualEngine>;
    /// Words that one origin has put into one peer's heap.
    struct Block {
        std::vector<std::uint64_t> words;
        std::vector<bool> fresh;    ///< put since the last fence
        bool needs_quiet = false;   ///< has puts since the last quiet
        std::uint64_t signals = 0;  ///< number of signals sent
        std::uint64_t seen = 0;     ///< number of signals that the peer has seen
    };

    [[nodiscard]] Block& block(Rank origin, Rank peer) {
        return blocks_[static_cast<std::size_t>(origin * size_ + peer)];
    }
    /// Returns the offset, in every peer's segment, of a word that the origin writes.
    [[nodiscard]] std::uint64_t offset(Rank origin, std::uint32_t word) const;
    [[nodiscard]] std::uint64_t word_at(Rank peer, std::uint64_t offset);
    /// Returns the contents of a word that was put with signal number `round`.
    [[nodiscard]] std::uint64_t signalled(Rank origin, Rank peer, std::uint64_t round,
                                          std::uint32_t word) const;
    void put(const Act& act, std::size_t number);
    void signal(const Act& act);
    void get(const Act& act);
    void add(const Act& act);
    void fence(Rank origin);
    bool record(bool succeeded, Rank origin, const char* call);

    World& world_;
    Rank size_;
    std::uint64_t heap_ = 0;  ///< offset of the heap in each segment
    std::deque<Calls> calls_;
    std::vector<Block> blocks_;
    std::vector<std::vector<bool>> tickets_;  ///< for each peer and old value: already returned
    /// By origin: a call has failed. Its puts may be missing, and the network may still read their
    /// sources.
    std::vector<bool> has_failed_;
    std::deque<std::vector<std::uint64_t>> sources_;  ///< buffers of all calls of the run
};

}  // namespace weft::farm
