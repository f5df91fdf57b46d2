// SPDX-License-Identifier: BSD-3-Clause
// measured_costs.hpp - costs of near and far puts, read key by key from a file of parameters.
//
// Idea     Costs that a file does not mention keep their values. But if the file mentions a path,
//          near or far, the path's missing costs and a few related costs are zero (over()).
// Next     machine.hpp; docs/selection.md for the keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
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
    [[nodiscard]] bool any() const;
    /// Returns `machine` with the measured costs in place of its own.
    [[nodiscard]] Machine over(Machine machine) const;
    /// Returns true if the file has a cost of kernel copies.
    [[nodiscard]] bool has_kernel_copies() const { return mentions("kernel_"); }
    /// Returns the processors of each node, if the file has them. A job counts its own processors.
    [[nodiscard]] std::optional<int> processors() const { return find("processors"); }
    [[nodiscard]] AdoptionCosts adoption() const {
        return {find("adopt_ns"), find("adopt_ns_per_page"), find("window_ns"),
                find("window_ns_per_page")};
    }

  private:
    [[nodiscard]] std::optional<std::int64_t> find(std::string_view key) const;
    /// Returns true if the file has a key with this prefix.
    [[nodiscard]] bool mentions(std::string_view prefix) const;

    /// By key; times in picoseconds, times of bytes in femtoseconds.
    std::map<std::string, std::int64_t, std::less<>> values_;
};

}  // namespace weft::plan
