// SPDX-License-Identifier: BSD-3-Clause
// tensors.hpp - CPU tensors of torch as memory.
//
// Why      Reading a tensor's attributes is faster than Tensor.numpy(), which makes an array. The
//          module is compiled without torch's headers, so it serves all versions of torch.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <optional>

#include "weft/weft.h"

namespace weft::python {

/// The elements of a tensor.
struct TensorMemory {
    void* data;
    std::size_t count;
    weft_type type;
};

/// Returns the memory of a contiguous, dense tensor on the CPU whose type weft has. Returns nothing
/// for other objects, for tensors of subclasses, and (writable) for tensors that require grad.
std::optional<TensorMemory> memory_of_tensor(PyObject* object, bool writable);

}  // namespace weft::python
