// SPDX-License-Identifier: BSD-3-Clause
#include "faces/python/strides.hpp"

#include <string>

#include "faces/python/buffers.hpp"

namespace weft::python {
namespace {

constexpr int kFlags = PyBUF_STRIDED_RO | PyBUF_FORMAT;

bool has_gaps(py::handle object) {
    Py_buffer view{};
    if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
    if (PyObject_GetBuffer(object.ptr(), &view, kFlags) != 0) {
        PyErr_Clear();
        return false;
    }
    const bool contiguous = PyBuffer_IsContiguous(&view, 'C') != 0;
    PyBuffer_Release(&view);
    return !contiguous;
}

void view_strided(py::handle object, const char* name, Py_buffer& view) {
    if (PyObject_CheckBuffer(object.ptr()) != 0 &&
        PyObject_GetBuffer(object.ptr(), &view, kFlags) == 0)
        return;
    PyErr_Clear();
    refuse(std::string(name) +
           " has no buffer protocol, expected an array because the other argument is strided");
}

std::string shape_of(const Py_buffer& view) {
    std::string text = "(";
    for (int i = 0; i < view.ndim; ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(view.shape[i]);
    return text + ")";
}

}  // namespace

bool ArrayGrid::is_needed(py::handle dst, py::handle src) {
    return has_gaps(dst) || has_gaps(src);
}

// The delegation makes the destructor release both views if this constructor throws.
ArrayGrid::ArrayGrid(py::handle dst, const char* dst_name, py::handle src, const char* src_name)
    : ArrayGrid() {
    view_strided(dst, dst_name, dst_);
    view_strided(src, src_name, src_);
    if (dst_.readonly != 0)
        refuse(std::string(dst_name) + " is read-only, expected an array that the call can write");
    const weft_type dst_type = element_type(dst_, dst_name);
    const weft_type src_type = element_type(src_, src_name);
    if (src_type != dst_type)
        refuse(std::string(src_name) + " and " + dst_name + " have elements of different types, " +
               name_of(src_type) + " and " + name_of(dst_type));
    if (shape_of(dst_) != shape_of(src_))
        refuse(std::string(src_name) + " has shape " + shape_of(src_) + ", expected " +
               shape_of(dst_) + " as " + dst_name);
    join_dimensions();
    if (counts_.size() > WEFT_DIMENSIONS_MAX)
        refuse(std::string(dst_name) + " has blocks in " + std::to_string(counts_.size()) +
               " dimensions, expected at most " + std::to_string(WEFT_DIMENSIONS_MAX));
}

ArrayGrid::~ArrayGrid() {
    PyBuffer_Release(&src_);
    PyBuffer_Release(&dst_);
}

void ArrayGrid::join_dimensions() {
    for (int i = 0; i < dst_.ndim; ++i) {
        if (dst_.shape[i] == 1) continue;
        counts_.push_back(static_cast<std::size_t>(dst_.shape[i]));
        dst_strides_.push_back(dst_.strides[i]);
        src_strides_.push_back(src_.strides[i]);
    }
    bytes_ = static_cast<std::size_t>(dst_.itemsize);
    while (!counts_.empty() && dst_strides_.back() == static_cast<std::ptrdiff_t>(bytes_) &&
           src_strides_.back() == static_cast<std::ptrdiff_t>(bytes_)) {
        bytes_ *= counts_.back();
        counts_.pop_back();
        dst_strides_.pop_back();
        src_strides_.pop_back();
    }
    if (!counts_.empty()) return;
    counts_ = {1};
    dst_strides_ = {0};
    src_strides_ = {0};
}

weft_block_grid ArrayGrid::grid() const {
    weft_block_grid grid{};
    grid.bytes = bytes_;
    grid.dimensions = static_cast<int>(counts_.size());
    grid.counts = counts_.data();
    grid.dst_strides = dst_strides_.data();
    grid.src_strides = src_strides_.data();
    return grid;
}

}  // namespace weft::python
