// SPDX-License-Identifier: BSD-3-Clause
// notify_watch.hpp - sees each flag of a far put raised and says whether all of its data was there.
//
// Idea     When a put is posted the watch keeps a copy of its payload. Whenever its target has
//          polled, or looked at the cell, the watch looks too: if the flag is up, the payload must
//          be in place.
// Why      Wrong results show a flag that came too early only when its waiter was quick enough.
// Next     virtual_job.hpp feeds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/put.hpp"
#include "tests/support/bank_watch.hpp"

namespace weft::test {

/// A flag that was raised before its data was there.
struct EarlyFlag {
    Rank origin = 0;  ///< ranks of the job
    Rank target = 0;
    CellPlace place;
    std::uint64_t byte = 0;  ///< the first wrong one of the payload
};
[[nodiscard]] std::string to_text(const EarlyFlag& early);

class NotifyWatch {
  public:
    NotifyWatch(std::vector<std::byte*> segments, const BankWatch& banks)
        : segments_(std::move(segments)), banks_(banks), expected_(segments_.size()) {}

    void posted(Rank origin, const base::Put& put);
    /// The target may have raised flags.
    void look(Rank target);

    [[nodiscard]] const std::vector<EarlyFlag>& early() const { return early_; }
    /// Flags that were seen raised.
    [[nodiscard]] std::uint64_t seen() const { return seen_; }

  private:
    struct Expected {
        Rank origin = 0;
        std::uint64_t cell = 0;
        base::FlagWord flag = 0;
        std::uint64_t target = 0;
        const std::byte* elsewhere = nullptr;  ///< where it goes, if not to the segment
        std::vector<std::byte> payload;
    };

    std::vector<std::byte*> segments_;  ///< by rank
    const BankWatch& banks_;
    std::vector<std::vector<Expected>> expected_;  ///< by target
    std::vector<EarlyFlag> early_;
    std::uint64_t seen_ = 0;
};

}  // namespace weft::test
