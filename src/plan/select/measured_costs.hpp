// SPDX-License-Identifier: BSD-3-Clause
// measured_costs.hpp - costs of near and far puts, read key by key from a file of parameters.
//
// Idea     Costs that a file does not mention keep their values. But if the file mentions a path,
//          near or far, the path's missing costs and a few related costs are zero (over()).
// Next     machine.hpp; docs/selection.md for the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "plan/select/machine.hpp"

namespace weft::plan {

/// Measured costs of adopting buffers so that local peers can map them (docs/direct-memory.md). A
/// page has 4 KiB.
struct AdoptionCosts {
    std::optional<Time> adopt;        ///< time of the owner for a buffer
    std::optional<Time> adopt_page;   ///< time of the owner for each page
    std::optional<Time> window;       ///< time to map a local peer's adopted buffer
    std::optional<Time> window_page;  ///< time to map each page of it
};

class MeasuredCosts {
  public:
    /// Stores a cost. Returns false if `key` is unknown. Fails if the value is not valid.
    base::Result<bool> set(std::string_view key, std::string_view value);

    /// Returns true if the file describes near and far messages, not one kind of message.
    [[nodiscard]] bool any() const { return any_; }
    /// Returns `machine` with the measured costs in place of its own.
    [[nodiscard]] Machine over(Machine machine) const;
    /// Returns true if the file has a cost of kernel copies.
    [[nodiscard]] bool has_kernel_copies() const { return kernel_copy_ || kernel_copy_byte_fs_; }
    /// Returns the processors of each node, if the file has them. A job counts its own processors.
    [[nodiscard]] std::optional<int> processors() const { return processors_; }
    [[nodiscard]] const AdoptionCosts& adoption() const { return adoption_; }

  private:
    base::Result<bool> set_path_cost(std::string_view key, std::string_view value);

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
