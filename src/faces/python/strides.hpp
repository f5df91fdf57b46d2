// SPDX-License-Identifier: BSD-3-Clause
// strides.hpp - puts and gets of arrays whose elements are not contiguous.
#pragma once

#include <vector>

#include "faces/python/errors.hpp"
#include "weft/onesided.h"

namespace weft::python {

/// Two arrays of equal shape and type as a grid of blocks. Keeps both alive.
class ArrayGrid {
  public:
    /// Raises weft.Error if shapes or types differ. Messages have the names of the arguments.
    ArrayGrid(py::handle dst, const char* dst_name, py::handle src, const char* src_name);
    ~ArrayGrid();
    ArrayGrid(const ArrayGrid&) = delete;
    ArrayGrid& operator=(const ArrayGrid&) = delete;

    /// Returns true if either object has the buffer protocol and is not C-contiguous.
    static bool is_needed(py::handle dst, py::handle src);

    [[nodiscard]] void* dst() const { return dst_.buf; }
    [[nodiscard]] const void* src() const { return src_.buf; }
    /// Returns the grid, which refers to this object.
    [[nodiscard]] weft_block_grid grid() const;

  private:
    ArrayGrid() = default;
    /// Makes blocks of the inner dimensions that are contiguous in both arrays.
    void join_dimensions();

    Py_buffer dst_{};
    Py_buffer src_{};
    std::size_t bytes_ = 0;
    std::vector<std::size_t> counts_;
    std::vector<std::ptrdiff_t> dst_strides_, src_strides_;
};

}  // namespace weft::python
