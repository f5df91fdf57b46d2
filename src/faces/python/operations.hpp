// SPDX-License-Identifier: BSD-3-Clause
// operations.hpp - Python functions as operations of reductions.
#pragma once

#include <map>
#include <memory>

#include "faces/python/buffers.hpp"

namespace weft::python {

/// An operation whose function combines two arrays. weft does not tell a function the type of its
/// elements, so each type has its own weft_op.
class OperationObject {
  public:
    OperationObject(py::function function, bool commutative);
    ~OperationObject();
    OperationObject(const OperationObject&) = delete;
    OperationObject& operator=(const OperationObject&) = delete;

    /// Returns the operation for elements of `buffer`. object: the Python object of `buffer`.
    weft_op for_elements_of(const BufferView& buffer, py::handle object);

  private:
    struct TypedOperation {
        OperationObject* owner;
        py::object dtype;
        std::size_t bytes;  // of an element
        weft_op op;
    };
    static void combine(const void* in, void* inout, std::size_t count, void* arg);

    py::function function_;
    bool commutative_;
    std::map<weft_type, std::unique_ptr<TypedOperation>> typed_;
};

/// Returns the weft_op of an argument: a number (weft.SUM) or an OperationObject.
weft_op operation_of(py::handle argument, const BufferView& buffer, py::handle object);

/// Returns the exception that ended the last operation, and forgets it; null if there was none.
py::object take_exception_of_operation();

}  // namespace weft::python
