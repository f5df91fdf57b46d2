// SPDX-License-Identifier: BSD-3-Clause
#include "faces/python/operations.hpp"

#include <stdexcept>

#include "faces/python/job.hpp"

namespace weft::python {
namespace {

PyObject* exception_of_operation = nullptr;  // guarded by the GIL

}  // namespace

OperationObject::OperationObject(py::function function, bool commutative)
    : function_(std::move(function)), commutative_(commutative) {
    operations_exist = true;
}

OperationObject::~OperationObject() {
    for (auto& entry : typed_) call_short([&] { return weft_op_free(&entry.second->op); });
}

weft_op OperationObject::for_elements_of(const BufferView& buffer, py::handle object) {
    const weft_type type = buffer.type();
    if (const auto found = typed_.find(type); found != typed_.end()) return found->second->op;
    if (type == WEFT_BFLOAT16)
        refuse("op: no numpy type for bfloat16, expected an operation such as weft.SUM");
    auto made = std::make_unique<TypedOperation>(
        TypedOperation{this, dtype_of(object), weft_type_size(type), WEFT_OP_NONE});
    if (weft_op_create(&combine, made.get(), commutative_ ? 1 : 0, &made->op) != WEFT_OK)
        refuse(weft_last_error());
    return typed_.emplace(type, std::move(made)).first->second->op;
}

void OperationObject::combine(const void* in, void* inout, std::size_t count, void* arg) {
    auto& type = *static_cast<TypedOperation*>(arg);
    const auto bytes = static_cast<Py_ssize_t>(count * type.bytes);
    const py::gil_scoped_acquire held;
    try {
        const auto lower = py::memoryview::from_memory(in, bytes);
        const auto upper = py::memoryview::from_memory(inout, bytes);
        attribute_of("weft._buffers", "combine")(type.owner->function_, lower, upper, type.dtype);
    } catch (py::error_already_set& error) {
        Py_XDECREF(exception_of_operation);
        exception_of_operation = error.value().inc_ref().ptr();
        throw std::runtime_error("the Python operation raised an exception");
    }
}

weft_op operation_of(py::handle argument, const BufferView& buffer, py::handle object) {
    if (PyLong_Check(argument.ptr()) != 0) return static_cast<weft_op>(argument.cast<int>());
    if (!py::isinstance<OperationObject>(argument))
        refuse("op: expected an operation such as weft.SUM, or weft.Op(function)");
    return argument.cast<OperationObject&>().for_elements_of(buffer, object);
}

py::object take_exception_of_operation() {
    return py::reinterpret_steal<py::object>(std::exchange(exception_of_operation, nullptr));
}

}  // namespace weft::python
