// SPDX-License-Identifier: BSD-3-Clause
// node_choices.hpp - a table of choices that the ranks of a node share.
//
// Idea     All ranks compute equal choices. So the first rank of a node that needs a choice
//          reserves an entry of a table in shared memory, computes the choice and publishes it.
//          Other ranks sleep until it is published, and so leave the processors to that rank.
// Holds    The table only saves time. A rank computes the choice itself if the table is full, if
//          the texts do not fit into an entry, or if the other rank publishes nothing for kWait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft::run {

struct ChoiceText {
    std::string algorithm;  ///< spec
    std::string reason;     ///< why it was chosen
};

class NodeChoices {
  public:
    static constexpr std::uint64_t kEntryBytes = 512;
    static constexpr std::uint64_t kEntries = 128;
    static constexpr std::uint64_t kBytes = kEntries * kEntryBytes;  ///< size of a table
    /// Enough for a choice of a large team on a busy processor.
    static constexpr std::chrono::milliseconds kWait{1000};

    /// Without a table, each rank computes its choices.
    NodeChoices() = default;
    /// `table`: kBytes bytes in memory shared by the ranks of the node, zero before the first use.
    explicit NodeChoices(std::byte* table, std::chrono::milliseconds wait = kWait)
        : table_(table), wait_(wait) {}

    /// Returns the choice that a rank of the node has published for `key`, or else compute(). The
    /// key must have everything that the choice depends on and that differs between calls or teams.
    [[nodiscard]] base::Result<ChoiceText> get(
        std::string_view key, const std::function<base::Result<ChoiceText>()>& compute) const;

  private:
    std::byte* table_ = nullptr;
    std::chrono::milliseconds wait_{0};
};

}  // namespace weft::run
