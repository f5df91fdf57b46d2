// SPDX-License-Identifier: BSD-3-Clause
// buffers.hpp - memory of Python objects as buffers of weft, without a copy.
//
// Next     weft/_buffers.py for objects without the buffer protocol, such as tensors of torch.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "faces/python/errors.hpp"

namespace weft::python {

/// Contiguous elements of a Python object. Keeps the object alive and its memory in place.
class BufferView {
  public:
    BufferView() = default;
    BufferView(BufferView&& other) noexcept;
    BufferView& operator=(BufferView&& other) noexcept;
    ~BufferView();

    /// Views a buffer that a call reads, or (output) writes. name: the argument, for messages.
    /// Raises weft.Error if it is not a buffer, not contiguous, read-only (output), or of a type
    /// that weft lacks.
    static BufferView input(py::handle object, const char* name);
    static BufferView output(py::handle object, const char* name);
    /// Views the memory from the first to the last of several buffers of one type. Sets `starts` to
    /// each buffer's start, in elements from data(); 0 for empty buffers.
    static BufferView spanning(std::vector<BufferView> parts, const char* name,
                               std::vector<std::size_t>& starts);

    [[nodiscard]] void* data() const { return view_.buf; }
    [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(view_.len); }
    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] weft_type type() const { return type_; }
    /// Returns true if this views an object.
    [[nodiscard]] bool is_set() const { return view_.obj != nullptr || !parts_.empty(); }
    [[nodiscard]] bool overlaps(const BufferView& other) const;

  private:
    BufferView(py::handle object, const char* name, bool writable);
    /// Views a tensor of torch. Returns false if memory_of_tensor() returns nothing.
    bool view_tensor(py::handle object, bool writable);

    Py_buffer view_{};
    std::vector<BufferView> parts_;  ///< the buffers of spanning(), which this object keeps alive
    std::size_t count_ = 0;
    weft_type type_ = WEFT_UINT8;
};

/// Buffers and other objects that a call in flight uses.
struct CallObjects {
    BufferView in, out;
    py::object operation;
};

/// Returns the type of a buffer's elements from their format in the buffer protocol. Raises
/// weft.Error if weft lacks the type. name: the argument, for messages.
weft_type element_type(const Py_buffer& view, const char* name);

/// Returns the name of a type, for messages.
const char* name_of(weft_type type);

/// Returns the numpy dtype of a buffer's elements.
py::object dtype_of(py::handle object);

/// Makes the result of a call whose caller gave no buffer: an array or tensor like `send`. shape:
/// "same"; "stacked", `n` times the shape of send; "block", send's shape without its first extent,
/// which must be `n`; "flat", n elements.
py::object result_like(py::handle send, const char* shape, std::size_t n);

/// Converts a sequence of `n` counts or displacements.
std::vector<std::size_t> counts_of(py::handle sequence, std::size_t n, const char* name);

}  // namespace weft::python
