// SPDX-License-Identifier: BSD-3-Clause
// measured_costs.hpp - what near and far puts cost by a file of parameters, key by key.
//
// Idea     A file says what was measured; what it does not mention stays as it is without it. Of a
//          way of which it says anything, what it leaves out costs nothing.
// Next     machine.hpp; docs/cost.md has the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "plan/select/machine.hpp"

namespace weft::plan {

class MeasuredCosts {
  public:
    /// True if the key is one of a machine; a failure says why the value is none.
    base::Result<bool> set(std::string_view key, std::string_view value);

    /// Whether anything of a machine was set; reductions alone do not count.
    [[nodiscard]] bool any() const { return any_; }
    /// A machine with these costs in place of its own.
    [[nodiscard]] Machine over(Machine machine) const;

  private:
    base::Result<bool> set_field(std::string_view key, std::string_view value);

    bool any_ = false;
    std::optional<PutCost> near_;
    std::optional<PutCost> far_;
    std::optional<Card> card_;
    std::optional<Time> reduce_;
    std::optional<std::int64_t> reduce_byte_fs_;
    std::optional<Time> mapped_;
    std::optional<std::int64_t> mapped_byte_fs_;
    std::optional<Time> kernel_copy_;
    std::optional<std::int64_t> kernel_copy_byte_fs_;
};

}  // namespace weft::plan
