// SPDX-License-Identifier: BSD-3-Clause
// plate.hpp - the plate that heat spreads over: its cells, how they begin, and one step in time.
//
// Idea     The explicit scheme for the heat equation: each cell moves towards the mean of its four
//          neighbours. The surroundings of the plate keep their temperature.
// Holds    One function computes a cell, wherever it lies and on any rank; so a plate in pieces
//          gives the bits of a whole one. (Compiled without contraction of products and sums, which
//          a compiler might do in one place and not in another.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace apps {

/// Of a cell's distance to its neighbours' mean; up to 1 the scheme is stable.
inline constexpr double kConductivity = 0.8;

/// A rectangle of cells inside the plate.
struct Area {
    std::int64_t row = 0;  ///< of the plate, of its first cell
    std::int64_t column = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;

    /// Cells with a frame of one cell around.
    [[nodiscard]] std::size_t framed_cells() const {
        return static_cast<std::size_t>((height + 2) * (width + 2));
    }
};

/// The temperatures of an area and of the frame around it, in memory of the caller.
class Field {
  public:
    Field(const Area& area, std::span<double> cells) : area_(area), cells_(cells) {}

    [[nodiscard]] const Area& area() const { return area_; }
    /// Of the area: 0..height-1 and 0..width-1, and one more on each side for the frame.
    [[nodiscard]] double& at(std::int64_t row, std::int64_t column) const {
        return cells_[static_cast<std::size_t>((row + 1) * (area_.width + 2) + column + 1)];
    }

    /// As everything begins, on the plate and around it: no cell is the mean of its neighbours, so
    /// all change from the first step on, and whatever comes too late or from the wrong place is
    /// seen.
    void begin() const {
        for (std::int64_t row = -1; row <= area_.height; ++row) {
            for (std::int64_t column = -1; column <= area_.width; ++column) {
                const std::int64_t r = area_.row + row + 1;
                const std::int64_t c = area_.column + column + 1;
                at(row, column) = static_cast<double>((r * r * 31 + c * c * 17 + r * c * 7) % 101);
            }
        }
    }

    /// The cells [row, row_end) x [column, column_end) one step after `before`.
    void step(const Field& before, std::int64_t row, std::int64_t row_end, std::int64_t column,
              std::int64_t column_end) const {
        for (std::int64_t i = row; i < row_end; ++i) {
            for (std::int64_t j = column; j < column_end; ++j) {
                const double mean = 0.25 * ((before.at(i - 1, j) + before.at(i + 1, j)) +
                                            (before.at(i, j - 1) + before.at(i, j + 1)));
                const double here = before.at(i, j);
                at(i, j) = here + kConductivity * (mean - here);
            }
        }
    }

  private:
    Area area_;
    std::span<double> cells_;
};

}  // namespace apps
