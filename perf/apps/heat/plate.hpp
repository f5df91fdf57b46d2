// SPDX-License-Identifier: BSD-3-Clause
// plate.hpp - the plate that heat spreads over: its cells, their initial values, and one time step.
//
// Idea     A step is the explicit scheme for the heat equation: each cell moves towards the mean
//          of its four neighbors. The frame around the plate keeps its temperature.
// Holds    One function computes each cell of every piece, so a plate in pieces gives the same bits
//          as a whole plate. It is compiled without contraction of products and sums, which a
//          compiler might use for some cells only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace apps {

/// Fraction of the difference to its neighbors' mean by which a cell changes in a step. The scheme
/// is stable up to 1.
inline constexpr double kConductivity = 0.8;

/// A rectangle of cells inside the plate.
struct Area {
    std::int64_t row = 0;     ///< row of the first cell in the plate
    std::int64_t column = 0;  ///< column of the first cell in the plate
    std::int64_t height = 0;
    std::int64_t width = 0;

    /// Returns the number of cells with a frame of one cell.
    [[nodiscard]] std::size_t framed_cells() const {
        return static_cast<std::size_t>((height + 2) * (width + 2));
    }
};

/// The temperatures of an area and of the frame around it, in the caller's memory.
class Field {
  public:
    Field(const Area& area, std::span<double> cells) : area_(area), cells_(cells) {}

    [[nodiscard]] const Area& area() const { return area_; }
    /// Returns a cell of the area (rows 0..height-1, columns 0..width-1) or of the frame (row -1 or
    /// height, column -1 or width).
    [[nodiscard]] double& at(std::int64_t row, std::int64_t column) const {
        return cells_[static_cast<std::size_t>((row + 1) * (area_.width + 2) + column + 1)];
    }

    /// Sets the initial values of plate and frame. No cell is the mean of its neighbors, so all
    /// cells change from the first step on. Late or misplaced data then changes the result.
    void initialize() const {
        for (std::int64_t row = -1; row <= area_.height; ++row) {
            for (std::int64_t column = -1; column <= area_.width; ++column) {
                const std::int64_t r = area_.row + row + 1;
                const std::int64_t c = area_.column + column + 1;
                at(row, column) = static_cast<double>((r * r * 31 + c * c * 17 + r * c * 7) % 101);
            }
        }
    }

    /// Computes the cells [row, row_end) x [column, column_end) one step after `before`.
    void step(const Field& before, std::int64_t row, std::int64_t row_end, std::int64_t column,
              std::int64_t column_end) const {
        for (std::int64_t i = row; i < row_end; ++i) {
            for (std::int64_t j = column; j < column_end; ++j) {
                const double mean = 0.25 * ((before.at(i - 1, j) + before.at(i + 1, j)) +
                                            (before.at(i, j - 1) + before.at(i, j + 1)));
                const double center = before.at(i, j);
                at(i, j) = center + kConductivity * (mean - center);
            }
        }
    }

  private:
    Area area_;
    std::span<double> cells_;
};

}  // namespace apps
