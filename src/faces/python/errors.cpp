// SPDX-License-Identifier: BSD-3-Clause
#include "faces/python/errors.hpp"

namespace weft::python {

void raise_error(weft_status status, const std::string& text, const py::object& cause) {
    const py::object type = attribute_of("weft._errors", "Error");
    const py::object error = type(static_cast<int>(status), text);
    if (cause) PyException_SetCause(error.ptr(), cause.inc_ref().ptr());  // takes the reference
    PyErr_SetObject(type.ptr(), error.ptr());
    throw py::error_already_set();
}

void refuse(const std::string& text) {
    raise_error(WEFT_ERR_ARGUMENT, text);
}

py::object attribute_of(const char* module, const char* name) {
    return py::module_::import(module).attr(name);
}

}  // namespace weft::python
