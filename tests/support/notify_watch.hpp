// SPDX-License-Identifier: BSD-3-Clause
// notify_watch.hpp - checks that all data of a remote put has arrived when its flag is raised.
//
// Idea     The watch keeps a copy of each payload when its put is posted. After each poll of the
//          target, and each look at the cell, the watch checks the flag. If it is raised, the
//          payload must be in place.
// Why      A flag raised too early gives a wrong result only if its waiter reads fast enough.
// Next     virtual_job.hpp feeds the watch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/put.hpp"
#include "tests/support/bank_watch.hpp"

namespace weft::test {

/// A flag raised before its data had arrived.
struct EarlyFlag {
    Rank origin = 0;  ///< ranks of the job
    Rank target = 0;
    CellPlace place;
    std::uint64_t byte = 0;  ///< first wrong byte of the payload
};
[[nodiscard]] std::string to_text(const EarlyFlag& early);

class NotifyWatch {
  public:
    NotifyWatch(std::vector<std::byte*> segments, const BankWatch& banks)
        : segments_(std::move(segments)), banks_(banks), expected_(segments_.size()) {}

    void posted(Rank origin, const base::Put& put);
    /// Checks the flags that the target may have raised.
    void look(Rank target);

    [[nodiscard]] const std::vector<EarlyFlag>& early() const { return early_; }
    /// Returns the number of raised flags that were checked.
    [[nodiscard]] std::uint64_t seen() const { return seen_; }

  private:
    struct Expected {
        Rank origin = 0;
        std::uint64_t cell = 0;
        base::FlagWord flag = 0;
        std::uint64_t target = 0;
        const std::byte* elsewhere = nullptr;  ///< target outside the segment, if any
        std::vector<std::byte> payload;
    };

    std::vector<std::byte*> segments_;  ///< by rank
    const BankWatch& banks_;
    std::vector<std::vector<Expected>> expected_;  ///< by target
    std::vector<EarlyFlag> early_;
    std::uint64_t seen_ = 0;
};

}  // namespace weft::test
