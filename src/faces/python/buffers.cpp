// SPDX-License-Identifier: BSD-3-Clause
#include "faces/python/buffers.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "faces/python/tensors.hpp"

namespace weft::python {
namespace {

constexpr std::array<const char*, 24> kTypeNames = {  // in the order of weft_type
    "int8",       "int16",     "int32",     "int64",          "uint8",        "uint16",
    "uint32",     "uint64",    "float32",   "float64",        "longdouble",   "complex64",
    "complex128", "bool",      "float16",   "bfloat16",       "float_int",    "double_int",
    "int16_int",  "int32_int", "int64_int", "longdouble_int", "double_int64", "int64_int64"};

/// smallest: WEFT_INT8 or WEFT_UINT8. weft_type has the types of 2, 4 and 8 bytes after it.
std::optional<weft_type> integer_of(weft_type smallest, std::size_t bytes) {
    for (const int index : {0, 1, 2, 3})
        if (bytes == std::size_t{1} << index) return static_cast<weft_type>(smallest + index);
    return std::nullopt;
}

std::optional<weft_type> pair_of(std::string_view format, std::size_t bytes) {
    // Removes names and padding: "d:value:i:index:4x" becomes "di".
    std::string codes;
    bool in_name = false;
    for (const char c : format) {
        if (c == ':') in_name = !in_name;
        if (!in_name && std::strchr(":x0123456789@=<^ ", c) == nullptr) codes += c;
    }
    struct PairFormat {
        const char* codes;
        weft_type type;
    };
    static constexpr std::array<PairFormat, 12> kPairs{{{"fi", WEFT_FLOAT_INT},
                                                        {"di", WEFT_DOUBLE_INT},
                                                        {"hi", WEFT_INT16_INT},
                                                        {"ii", WEFT_INT32_INT},
                                                        {"li", WEFT_INT64_INT},
                                                        {"qi", WEFT_INT64_INT},
                                                        {"gi", WEFT_LONGDOUBLE_INT},
                                                        {"dl", WEFT_DOUBLE_INT64},
                                                        {"dq", WEFT_DOUBLE_INT64},
                                                        {"ll", WEFT_INT64_INT64},
                                                        {"qq", WEFT_INT64_INT64},
                                                        {"lq", WEFT_INT64_INT64}}};
    for (const PairFormat& pair : kPairs)
        if (codes == pair.codes && bytes == weft_type_size(pair.type)) return pair.type;
    return std::nullopt;
}

/// Returns the type for a format of the buffer protocol; nothing if weft lacks the type.
std::optional<weft_type> type_of_format(const char* format, std::size_t bytes) {
    if (format == nullptr) return WEFT_UINT8;  // bytes, by the protocol
    std::string_view text = format;
    while (!text.empty() && std::strchr("@=<", text.front()) != nullptr) text.remove_prefix(1);
    if (text.starts_with("T{") && text.ends_with('}'))
        return pair_of(text.substr(2, text.size() - 3), bytes);
    if (text == "Zf") return WEFT_CFLOAT;
    if (text == "Zd") return WEFT_CDOUBLE;
    if (text.size() != 1) return std::nullopt;
    switch (text.front()) {
        case 'b':
        case 'h':
        case 'i':
        case 'l':
        case 'q':
        case 'n':
            return integer_of(WEFT_INT8, bytes);
        case 'B':
        case 'H':
        case 'I':
        case 'L':
        case 'Q':
        case 'N':
        case 'c':
            return integer_of(WEFT_UINT8, bytes);
        case '?':
            return WEFT_BOOL;
        case 'e':
            return WEFT_FLOAT16;
        case 'f':
            return WEFT_FLOAT;
        case 'd':
            return WEFT_DOUBLE;
        case 'g':
            return WEFT_LONGDOUBLE;
        default:
            return std::nullopt;
    }
}

}  // namespace

weft_type element_type(const Py_buffer& view, const char* name) {
    if (const auto type = type_of_format(view.format, static_cast<std::size_t>(view.itemsize)))
        return *type;
    const std::string format = view.format;
    refuse(std::string(name) + ": weft has no type for elements of format '" + format + "'" +
           (format.starts_with('T') ? "; pairs need numpy.dtype(..., align=True)" : ""));
}

const char* name_of(weft_type type) {
    return kTypeNames.at(static_cast<std::size_t>(type));
}

// The delegation makes the destructor release view_ if this constructor throws.
BufferView::BufferView(py::handle object, const char* name, bool writable) : BufferView() {
    py::object adapted;
    std::optional<weft_type> type;
    if (PyObject_CheckBuffer(object.ptr()) == 0) {
        if (view_tensor(object, writable)) return;
        const py::tuple found = attribute_of("weft._buffers", "adapt")(object, name, writable);
        adapted = found[0];
        if (!found[1].is_none()) type = static_cast<weft_type>(found[1].cast<int>());
        object = adapted;
    }
    const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) {
        PyErr_Clear();
        attribute_of("weft._buffers", "require_accessible")(object, name, writable);
        refuse(std::string(name) + ": the object gives no access to its memory");
    }
    type_ = type ? *type : element_type(view_, name);
    count_ = view_.itemsize == 0 ? 0 : static_cast<std::size_t>(view_.len / view_.itemsize);
}

bool BufferView::view_tensor(py::handle object, bool writable) {
    const auto memory = memory_of_tensor(object.ptr(), writable);
    if (!memory) return false;
    view_.buf = memory->data;
    view_.len = static_cast<Py_ssize_t>(memory->count * weft_type_size(memory->type));
    view_.obj = object.inc_ref().ptr();  // PyBuffer_Release() accepts any object
    count_ = memory->count;
    type_ = memory->type;
    return true;
}

BufferView BufferView::spanning(std::vector<BufferView> parts, const char* name,
                                std::vector<std::size_t>& starts) {
    BufferView whole;
    starts.assign(parts.size(), 0);
    if (parts.empty()) return whole;
    whole.type_ = parts.front().type();
    const auto* begin = static_cast<const char*>(nullptr);
    for (const BufferView& part : parts) {
        if (part.type() != whole.type_)
            refuse(std::string(name) + " has buffers of types " + name_of(whole.type_) + " and " +
                   name_of(part.type()) + ", expected one type");
        const auto* const data = static_cast<const char*>(part.data());
        if (part.count() != 0 && (begin == nullptr || data < begin)) begin = data;
    }
    const std::size_t bytes = weft_type_size(whole.type_);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].count() == 0) continue;
        const auto distance = static_cast<const char*>(parts[i].data()) - begin;
        starts[i] = static_cast<std::size_t>(distance) / bytes;
        if (static_cast<std::size_t>(distance) % bytes != 0)
            refuse(std::string(name) +
                   ": the distance between buffers must be a multiple of the element size");
        whole.count_ = std::max(whole.count_, starts[i] + parts[i].count());
    }
    whole.view_.buf = const_cast<char*>(begin);
    whole.view_.len = static_cast<Py_ssize_t>(whole.count_ * bytes);
    whole.parts_ = std::move(parts);
    return whole;
}

BufferView::BufferView(BufferView&& other) noexcept
    : view_(std::exchange(other.view_, {})),
      parts_(std::move(other.parts_)),
      count_(other.count_),
      type_(other.type_) {}

BufferView& BufferView::operator=(BufferView&& other) noexcept {
    std::swap(view_, other.view_);
    std::swap(parts_, other.parts_);
    count_ = other.count_;
    type_ = other.type_;
    return *this;
}

BufferView::~BufferView() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

BufferView BufferView::input(py::handle object, const char* name) {
    return {object, name, /*writable=*/false};
}

BufferView BufferView::output(py::handle object, const char* name) {
    return {object, name, /*writable=*/true};
}

bool BufferView::overlaps(const BufferView& other) const {
    const auto overlaps_other = [&](const BufferView& part) { return part.overlaps(other); };
    if (!parts_.empty()) return std::ranges::any_of(parts_, overlaps_other);
    if (!other.parts_.empty()) return other.overlaps(*this);
    const auto* const begin = static_cast<const char*>(data());
    const auto* const other_begin = static_cast<const char*>(other.data());
    return begin < other_begin + other.bytes() && other_begin < begin + bytes();
}

py::object dtype_of(py::handle object) {
    return attribute_of("weft._buffers", "dtype_of")(object);
}

py::object result_like(py::handle send, const char* shape, std::size_t n) {
    return attribute_of("weft._buffers", "result_like")(send, shape, n);
}

std::vector<std::size_t> counts_of(py::handle sequence, std::size_t n, const char* name) {
    std::vector<std::size_t> counts;
    if (!sequence.is_none())
        for (const py::handle item : sequence) {
            const Py_ssize_t value = PyNumber_AsSsize_t(item.ptr(), PyExc_OverflowError);
            if (value == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
            if (value < 0)
                refuse(std::string(name) + ": " + std::to_string(value) + " is negative");
            counts.push_back(static_cast<std::size_t>(value));
        }
    if (counts.size() != n)
        refuse(std::string(name) + ": " + std::to_string(counts.size()) + " values, expected " +
               std::to_string(n));
    return counts;
}

}  // namespace weft::python
