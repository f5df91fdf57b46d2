// SPDX-License-Identifier: BSD-3-Clause
// notify_watch.hpp - checks that all data of a remote put is delivered when its flag is raised.
//
// Idea     The watch copies the payload of each put when it is posted. After each progress() and
//          settle() of the target's wire, the watch reads the flags of all posted puts. When the
//          flag of a put is raised, its payload must be in the target's memory.
// Why      An early flag gives a wrong result only if the waiter reads before the data arrives.
// Next     virtual_job.hpp feeds the watch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/put.hpp"
#include "tests/support/bank_watch.hpp"

namespace weft::test {

/// A flag that was raised before its data was delivered.
struct EarlyFlag {
    Rank origin = 0;  ///< job rank
    Rank target = 0;  ///< job rank
    CellPlace place;
    std::uint64_t byte = 0;  ///< index of the first wrong byte of the payload
};
[[nodiscard]] std::string to_text(const EarlyFlag& early);

class NotifyWatch {
  public:
    NotifyWatch(std::vector<std::byte*> segments, const BankWatch& banks)
        : segments_(std::move(segments)), banks_(banks), expected_(segments_.size()) {}

    /// Copies the payload of a put to a remote rank.
    void posted(Rank origin, const base::Put& put);
    /// Checks the payload of each put to `target` whose flag was raised since the last check.
    void check(Rank target);

    /// Returns the flags that were raised before their data was delivered.
    [[nodiscard]] const std::vector<EarlyFlag>& early() const { return early_; }
    /// Returns the number of raised flags that were checked.
    [[nodiscard]] std::uint64_t checked() const { return checked_; }

  private:
    /// A put whose flag is not raised yet.
    struct Expected {
        Rank origin = 0;
        std::uint64_t cell = 0;  ///< offset in the target's segment
        base::FlagWord flag = 0;
        std::uint64_t target = 0;  ///< offset of the payload in the target's segment or region
        const std::byte* outside = nullptr;  ///< address of a payload outside the segment
        std::vector<std::byte> payload;
    };

    std::vector<std::byte*> segments_;  ///< by rank
    const BankWatch& banks_;
    std::vector<std::vector<Expected>> expected_;  ///< by target rank
    std::vector<EarlyFlag> early_;
    std::uint64_t checked_ = 0;
};

}  // namespace weft::test
