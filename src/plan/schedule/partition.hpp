// SPDX-License-Identifier: BSD-3-Clause
// partition.hpp - how a vector of elements is cut into the units that blocks count in.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::plan {

/// `elements` elements in `units` pieces. Uniform pieces differ by one element at most (unit u
/// starts at floor(u * elements / units)); ragged ones have the given sizes.
class Partition {
  public:
    Partition(std::uint64_t elements, std::uint32_t units) : elements_(elements), units_(units) {}
    explicit Partition(const std::vector<std::uint64_t>& counts);

    [[nodiscard]] std::uint64_t elements() const { return elements_; }
    [[nodiscard]] std::uint32_t units() const { return units_; }
    /// First element of unit u; begin(units()) is the end of the vector.
    [[nodiscard]] std::uint64_t begin(std::uint32_t u) const;
    [[nodiscard]] std::uint64_t size(std::uint32_t u) const { return begin(u + 1) - begin(u); }
    /// Elements in the units first .. first+count-1.
    [[nodiscard]] std::uint64_t size(std::uint32_t first, std::uint32_t count) const {
        return begin(first + count) - begin(first);
    }
    /// The largest unit.
    [[nodiscard]] std::uint64_t unit_max() const;

  private:
    std::uint64_t elements_;
    std::uint32_t units_;
    std::vector<std::uint64_t> starts_;  ///< ragged only: units + 1 prefix sums
};

}  // namespace weft::plan
