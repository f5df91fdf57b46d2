// SPDX-License-Identifier: BSD-3-Clause
#include "faces/python/tensors.hpp"

#include <utility>
#include <vector>

namespace weft::python {
namespace {

namespace py = pybind11;

constexpr std::pair<const char*, weft_type> kTypes[] = {
    {"float32", WEFT_FLOAT},   {"float64", WEFT_DOUBLE},   {"bfloat16", WEFT_BFLOAT16},
    {"float16", WEFT_FLOAT16}, {"int64", WEFT_INT64},      {"int32", WEFT_INT32},
    {"int16", WEFT_INT16},     {"int8", WEFT_INT8},        {"uint8", WEFT_UINT8},
    {"bool", WEFT_BOOL},       {"complex64", WEFT_CFLOAT}, {"complex128", WEFT_CDOUBLE},
};

/// Objects of the module torch. Never destroyed: the interpreter may end first.
struct TorchObjects {
    py::object tensor, parameter, strided;
    std::vector<std::pair<py::object, weft_type>> types;
    py::str is_cpu{"is_cpu"}, layout{"layout"}, dtype{"dtype"}, requires_grad{"requires_grad"};
    py::str is_contiguous{"is_contiguous"}, is_conj{"is_conj"}, is_neg{"is_neg"}, numel{"numel"},
        data_ptr{"data_ptr"};

    explicit TorchObjects(const py::module_& torch)
        : tensor(torch.attr("Tensor")),
          parameter(torch.attr("nn").attr("Parameter")),
          strided(torch.attr("strided")) {
        for (const auto& [name, type] : kTypes) types.emplace_back(torch.attr(name), type);
    }
};

/// Returns the objects of torch; nullptr if the program has not imported it.
const TorchObjects* torch_objects() {
    static const TorchObjects* objects = nullptr;
    if (objects != nullptr) return objects;
    const auto modules = py::module_::import("sys").attr("modules").cast<py::dict>();
    if (!modules.contains("torch")) return nullptr;
    try {
        objects = new TorchObjects(modules["torch"].cast<py::module_>());
    } catch (const py::error_already_set&) {
        return nullptr;  // while torch is being imported
    }
    return objects;
}

py::object attribute(PyObject* object, const py::str& name) {
    auto value = py::reinterpret_steal<py::object>(PyObject_GetAttr(object, name.ptr()));
    if (!value) throw py::error_already_set();
    return value;
}

py::object call_method(PyObject* object, const py::str& name) {
    auto value = py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(object, name.ptr()));
    if (!value) throw py::error_already_set();
    return value;
}

}  // namespace

std::optional<TensorMemory> memory_of_tensor(PyObject* object, bool writable) {
    const TorchObjects* const torch = torch_objects();
    if (torch == nullptr) return std::nullopt;
    const auto* const kind = reinterpret_cast<PyObject*>(Py_TYPE(object));
    if (kind != torch->tensor.ptr() && kind != torch->parameter.ptr()) return std::nullopt;
    const auto has_true = [&](const py::str& name) {
        return attribute(object, name).ptr() == Py_True;
    };
    const auto returns_true = [&](const py::str& name) {
        return call_method(object, name).ptr() == Py_True;
    };
    if (!has_true(torch->is_cpu) || !attribute(object, torch->layout).is(torch->strided) ||
        !returns_true(torch->is_contiguous) || (writable && has_true(torch->requires_grad)))
        return std::nullopt;
    const py::object dtype = attribute(object, torch->dtype);
    for (const auto& [torch_type, type] : torch->types) {
        if (!dtype.is(torch_type)) continue;
        const bool is_complex = type == WEFT_CFLOAT || type == WEFT_CDOUBLE;
        // The memory of such tensors has the conjugates or negatives of their elements.
        if ((is_complex && returns_true(torch->is_conj)) || returns_true(torch->is_neg))
            return std::nullopt;
        const auto count = call_method(object, torch->numel).cast<std::size_t>();
        void* const data = PyLong_AsVoidPtr(call_method(object, torch->data_ptr).ptr());
        return TensorMemory{data, count, type};
    }
    return std::nullopt;
}

}  // namespace weft::python
