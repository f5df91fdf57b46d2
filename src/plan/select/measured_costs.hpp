// SPDX-License-Identifier: BSD-3-Clause
// measured_costs.hpp - what near and far puts cost by a file of parameters, key by key.
//
// Idea     A file says what was measured; what it does not mention stays as it is without it. Of a
//          way of which it says anything, what it leaves out costs nothing.
// Next     machine.hpp; docs/selection.md has the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "plan/select/machine.hpp"

namespace weft::plan {

/// What it costs to adopt buffers so that mates map them (docs/direct-memory.md), as far as a file
/// says. A vector's page is one of 4 KiB.
struct AdoptionCosts {
    std::optional<Time> adopt;  ///< by its owner, and for each page
    std::optional<Time> adopt_page;
    std::optional<Time> window;  ///< to map what a mate has adopted, and for each page
    std::optional<Time> window_page;
};

class MeasuredCosts {
  public:
    /// True if the key is one of a machine; a failure says why the value is none.
    base::Result<bool> set(std::string_view key, std::string_view value);

    /// Whether anything of a machine was set; reductions alone do not count.
    [[nodiscard]] bool any() const { return any_; }
    /// A machine with these costs in place of its own.
    [[nodiscard]] Machine over(Machine machine) const;
    /// Whether the file says what it costs to have the kernel copy.
    [[nodiscard]] bool has_kernel_copies() const { return kernel_copy_ || kernel_copy_byte_fs_; }
    /// Of each node, if the file says so. A job counts its own.
    [[nodiscard]] std::optional<int> processors() const { return processors_; }
    [[nodiscard]] const AdoptionCosts& adoption() const { return adoption_; }

  private:
    base::Result<bool> set_field(std::string_view key, std::string_view value);

    bool any_ = false;
    std::optional<PutCost> near_;
    std::optional<PutCost> far_;
    std::optional<std::uint64_t> cell_bytes_;
    std::optional<std::int64_t> slot_byte_fs_;
    std::optional<std::int64_t> copy_byte_fs_;
    std::optional<std::int64_t> cold_byte_fs_;
    std::optional<std::uint64_t> cache_bytes_;
    std::optional<Time> expose_;
    std::optional<Card> card_;
    std::optional<int> processors_;
    std::optional<Time> call_;
    std::optional<Time> reduce_;
    std::optional<std::int64_t> reduce_byte_fs_;
    std::optional<Time> mapped_;
    std::optional<std::int64_t> mapped_byte_fs_;
    std::optional<std::int64_t> mapped_reduce_byte_fs_;
    std::optional<Time> kernel_copy_;
    std::optional<std::int64_t> kernel_copy_byte_fs_;
    AdoptionCosts adoption_;
};

}  // namespace weft::plan
