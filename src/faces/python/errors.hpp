// SPDX-License-Identifier: BSD-3-Clause
// errors.hpp - raises weft.Error.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "weft/weft.h"

namespace weft::python {

namespace py = pybind11;

/// Raises weft.Error. cause: the exception that led to this error, may be null.
[[noreturn]] void raise_error(weft_status status, const std::string& text,
                              const py::object& cause = {});

/// Raises weft.Error for an unusable argument.
[[noreturn]] void refuse(const std::string& text);

/// Returns an attribute of a module of this package, such as a function of weft._buffers.
py::object attribute_of(const char* module, const char* name);

}  // namespace weft::python
