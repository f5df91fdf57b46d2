// SPDX-License-Identifier: BSD-3-Clause
// partition.hpp - how a vector of elements is cut into the units that blocks count in.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::plan {

/// `elements` elements in `units` pieces. Uniform pieces differ by one element at most (unit u
/// starts at floor(u * elements / units)). Uneven vectors are blocks of the given sizes that follow
/// each other, each cut into equally many units: of `unit_elements` elements, as far as they go.
class Partition {
  public:
    Partition(std::uint64_t elements, std::uint32_t units)
        : elements_(elements),
          units_(units),
          each_(units > 0 && elements % units == 0 ? elements / units : 0) {}
    /// A unit for each block.
    explicit Partition(const std::vector<std::uint64_t>& counts)
        : Partition(counts, static_cast<std::uint32_t>(counts.size()), 0) {}
    /// unit_elements: 0 if a block is one unit, else enough that the units hold the largest block.
    Partition(const std::vector<std::uint64_t>& counts, std::uint32_t units,
              std::uint64_t unit_elements);

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

    /// Of uneven vectors: how many units a block has.
    [[nodiscard]] std::uint32_t units_of_block() const { return pieces_; }
    /// First element of unit u where block b starts at starts[b], not after the one before.
    [[nodiscard]] std::uint64_t place(std::uint32_t u,
                                      const std::vector<std::uint64_t>& starts) const {
        return starts[u / pieces_] + begin(u) - begin(u / pieces_ * pieces_);
    }

  private:
    std::uint64_t elements_;
    std::uint32_t units_;
    std::uint64_t each_ = 0;             ///< uniform: elements of a unit, if all have as many
    std::uint32_t pieces_ = 1;           ///< uneven: units of a block
    std::uint64_t unit_elements_ = 0;    ///< uneven: of a unit that is not at the end of its block
    std::vector<std::uint64_t> starts_;  ///< uneven only: where blocks start, and the end
};

}  // namespace weft::plan
