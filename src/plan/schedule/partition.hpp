// SPDX-License-Identifier: BSD-3-Clause
// partition.hpp - cuts a buffer of elements into units.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::plan {

/// Units of a buffer. Units of a uniform buffer differ by at most one element: unit u starts at
/// element floor(u * elements / units). An uneven buffer consists of consecutive blocks of given
/// sizes, each with the same number of units. The units of a block have `unit_elements` elements
/// each, up to the end of the block.
class Partition {
  public:
    Partition(std::uint64_t elements, std::uint32_t units)
        : elements_(elements),
          units_(units),
          unit_size_(units > 0 && elements % units == 0 ? elements / units : 0) {}
    /// Constructs an uneven partition. `counts`: elements of each block. `units`: units of all
    /// blocks. `unit_elements`: elements of a unit, so that the units of a block can hold the
    /// largest block; 0: a block is one unit.
    Partition(const std::vector<std::uint64_t>& counts, std::uint32_t units,
              std::uint64_t unit_elements);

    [[nodiscard]] std::uint64_t elements() const { return elements_; }
    [[nodiscard]] std::uint32_t units() const { return units_; }
    /// Returns the first element of unit u; the end of the buffer if u is units().
    [[nodiscard]] std::uint64_t begin(std::uint32_t u) const;
    [[nodiscard]] std::uint64_t size(std::uint32_t u) const { return begin(u + 1) - begin(u); }
    /// Returns the number of elements in the units first .. first + count - 1.
    [[nodiscard]] std::uint64_t size(std::uint32_t first, std::uint32_t count) const {
        return begin(first + count) - begin(first);
    }
    /// Returns the number of elements of the largest unit.
    [[nodiscard]] std::uint64_t unit_max() const;

    /// Returns the number of units of each block of an uneven buffer; 1 for a uniform buffer.
    [[nodiscard]] std::uint32_t units_of_block() const { return block_units_; }
    /// Returns the first element of unit u if block b starts at starts[b], not at the end of its
    /// predecessor.
    [[nodiscard]] std::uint64_t place(std::uint32_t u,
                                      const std::vector<std::uint64_t>& starts) const {
        return starts[u / block_units_] + begin(u) - begin(u / block_units_ * block_units_);
    }

  private:
    std::uint64_t elements_;
    std::uint32_t units_;
    std::uint64_t unit_size_ = 0;        ///< elements of a unit if all have equally many, else 0
    std::uint32_t block_units_ = 1;      ///< uneven: number of units of a block
    std::uint64_t unit_elements_ = 0;    ///< uneven: elements of a unit before the end of its block
    std::vector<std::uint64_t> starts_;  ///< uneven: starts of blocks, then the end
};

}  // namespace weft::plan
