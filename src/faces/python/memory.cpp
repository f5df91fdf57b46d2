// SPDX-License-Identifier: BSD-3-Clause
#include "faces/python/memory.hpp"

#include <cstring>

#include "faces/python/strides.hpp"

namespace weft::python {
namespace {

/// The value of a word as the C interface takes it: 4 or 8 bytes by its type.
struct WordValue {
    alignas(8) std::array<char, 8> bytes{};

    template <typename Value>
    void store(Value value) {
        std::memcpy(bytes.data(), &value, sizeof value);
    }
    template <typename Value>
    [[nodiscard]] Value load() const {
        Value value;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
};

/// Calls use(Value{}) with the C++ type Value of a word.
template <typename Use>
auto with_type(weft_type type, Use use) {
    switch (type) {
        case WEFT_INT32:
            return use(std::int32_t{});
        case WEFT_UINT32:
            return use(std::uint32_t{});
        case WEFT_INT64:
            return use(std::int64_t{});
        case WEFT_UINT64:
            return use(std::uint64_t{});
        case WEFT_FLOAT:
            return use(float{});
        case WEFT_DOUBLE:
            return use(double{});
        default:
            refuse(std::string("word: type ") + name_of(type) +
                   ", expected an integer, float or double of 4 or 8 bytes");
    }
}

WordValue word_of(const py::object& value, weft_type type) {
    WordValue word;
    try {
        with_type(type, [&](auto zero) { word.store(value.cast<decltype(zero)>()); });
    } catch (const py::cast_error&) {
        refuse("value: " + py::repr(value).cast<std::string>() +
               " does not fit into a word of type " + name_of(type));
    }
    return word;
}

py::object value_of(const WordValue& word, weft_type type) {
    return with_type(
        type, [&](auto zero) -> py::object { return py::cast(word.load<decltype(zero)>()); });
}

BufferView word_view(const py::object& word, const char* name) {
    auto view = BufferView::output(word, name);
    if (view.count() != 1)
        refuse(std::string(name) + " has " + std::to_string(view.count()) +
               " elements, expected 1, such as array[0:1]");
    return view;
}

std::uint64_t* uint64_word(const BufferView& view, const char* name) {
    if (view.type() != WEFT_UINT64)
        refuse(std::string(name) + " is of type " + name_of(view.type()) + ", expected uint64");
    return static_cast<std::uint64_t*>(view.data());
}

void expect_equal_elements(const BufferView& target, const BufferView& data) {
    if (target.type() != data.type() || target.count() != data.count())
        refuse("the data has " + std::to_string(data.count()) + " elements of type " +
               name_of(data.type()) + ", expected " + std::to_string(target.count()) + " of type " +
               name_of(target.type()) + " as in the symmetric array");
}

}  // namespace

py::object allocate(TeamObject& team, std::size_t bytes, bool clear) {
    const RuntimeCall entry(*team.job());
    team.job()->meet(team.team());
    void* memory = nullptr;
    team.job()->check(call_long([&] {
        return clear ? weft_calloc(team.team(), 1, bytes, &memory)
                     : weft_alloc(team.team(), bytes, &memory);
    }));
    return py::memoryview::from_memory(memory, static_cast<py::ssize_t>(bytes));
}

void free_memory(TeamObject& team, const py::object& array) {
    const auto view = BufferView::output(array, "array");
    const RuntimeCall entry(*team.job());
    team.job()->meet(team.team());
    team.job()->check(call_long([&] { return weft_free(team.team(), view.data()); }));
}

py::object peer_memory(TeamObject& team, const py::object& array, int peer) {
    const auto view = BufferView::output(array, "array");
    const RuntimeCall entry(*team.job());
    void* const memory = weft_ptr(team.team(), view.data(), peer);
    if (memory == nullptr) return py::none();
    return py::memoryview::from_memory(memory, static_cast<py::ssize_t>(view.bytes()));
}

void put(TeamObject& team, const py::object& target, const py::object& data, int peer) {
    if (ArrayGrid::is_needed(target, data)) {
        const ArrayGrid both(target, "target", data, "data");
        const auto grid = both.grid();
        call_checked(*team.job(), [&] {
            return weft_put_grid(team.team(), both.dst(), both.src(), &grid, peer);
        });
        return;
    }
    const auto to = BufferView::output(target, "target");
    const auto from = BufferView::input(data, "data");
    expect_equal_elements(to, from);
    call_checked(*team.job(),
                 [&] { return weft_put(team.team(), to.data(), from.data(), to.bytes(), peer); });
}

void put_nbi(TeamObject& team, const py::object& target, const py::object& data, int peer) {
    const auto to = BufferView::output(target, "target");
    auto from = BufferView::input(data, "data");
    expect_equal_elements(to, from);
    const RuntimeCall entry(*team.job());
    team.job()->check(call_short(
        [&] { return weft_put_nbi(team.team(), to.data(), from.data(), to.bytes(), peer); }));
    team.job()->keep_until_quiet(team.handle()->context_or_null(), std::move(from));
}

py::object get_nbi(TeamObject& team, const py::object& source, int peer, py::object recv) {
    const auto from = BufferView::output(source, "source");
    if (recv.is_none()) recv = result_like(source, "same", 1);
    auto to = BufferView::output(recv, "recv");
    expect_equal_elements(from, to);
    const RuntimeCall entry(*team.job());
    team.job()->check(call_short(
        [&] { return weft_get_nbi(team.team(), to.data(), from.data(), to.bytes(), peer); }));
    team.job()->keep_until_quiet(team.handle()->context_or_null(), std::move(to));
    return recv;
}

void put_signal(TeamObject& team, const py::object& target, const py::object& data,
                const py::object& signal, std::uint64_t value, int peer, bool add) {
    const auto word = word_view(signal, "signal");
    auto* const signal_word = uint64_word(word, "signal");
    if (ArrayGrid::is_needed(target, data)) {
        const ArrayGrid both(target, "target", data, "data");
        const auto grid = both.grid();
        call_checked(*team.job(), [&] {
            return weft_put_grid_signal(team.team(), both.dst(), both.src(), &grid, signal_word,
                                        value, add ? 1 : 0, peer);
        });
        return;
    }
    const auto to = BufferView::output(target, "target");
    const auto from = BufferView::input(data, "data");
    expect_equal_elements(to, from);
    call_checked(*team.job(), [&] {
        return weft_put_signal(team.team(), to.data(), from.data(), to.bytes(), signal_word, value,
                               add ? 1 : 0, peer);
    });
}

py::object get(TeamObject& team, const py::object& source, int peer, py::object recv) {
    if (recv.is_none() && ArrayGrid::is_needed(source, source))
        recv = result_like(source, "same", 1);
    if (!recv.is_none() && ArrayGrid::is_needed(recv, source)) {
        const ArrayGrid both(recv, "recv", source, "source");
        const auto grid = both.grid();
        call_checked(*team.job(), [&] {
            return weft_get_grid(team.team(), both.dst(), both.src(), &grid, peer);
        });
        return recv;
    }
    const auto from = BufferView::output(source, "source");
    if (recv.is_none()) recv = result_like(source, "same", 1);
    CallObjects objects;
    objects.out = BufferView::output(recv, "recv");
    expect_equal_elements(from, objects.out);
    const RuntimeCall entry(*team.job());
    weft_request* request = nullptr;
    team.job()->check(call_long([&] {
        return weft_iget(team.team(), objects.out.data(), from.data(), from.bytes(), peer,
                         &request);
    }));
    team.job()->check(wait_for_request(*team.job(), &request, objects));
    return recv;
}

void fence(TeamObject& team) {
    call_checked(*team.job(), [&] { return weft_fence(team.team()); });
}

void quiet(TeamObject& team, std::optional<double> timeout_s) {
    const RuntimeCall entry(*team.job());
    const auto wait = [&](std::int64_t ns) { return weft_quiet_for(team.team(), ns); };
    team.job()->quiet(team.handle()->context_or_null(),
                      [&] { return wait_interruptibly(wait, timeout_s); });
}

py::object change_word(TeamObject& team, weft_atomic_kind kind, const py::object& word,
                       const py::object& operand, const py::object& compare, int peer) {
    const auto view = word_view(word, "word");
    const auto type = view.type();
    const auto value = operand.is_none() ? WordValue{} : word_of(operand, type);
    const auto expected = compare.is_none() ? WordValue{} : word_of(compare, type);
    WordValue former;
    call_checked(*team.job(), [&] {
        return weft_atomic(team.team(), kind, type, view.data(), value.bytes.data(),
                           expected.bytes.data(), former.bytes.data(), peer);
    });
    return value_of(former, type);
}

void change_word_nbi(TeamObject& team, weft_atomic_kind kind, const py::object& word,
                     const py::object& operand, int peer) {
    const auto view = word_view(word, "word");
    const auto value = word_of(operand, view.type());
    call_checked(*team.job(), [&] {
        return weft_atomic(team.team(), kind, view.type(), view.data(), value.bytes.data(), nullptr,
                           nullptr, peer);
    });
}

py::object wait_until(TeamObject& team, const py::object& word, weft_compare compare,
                      const py::object& value, std::optional<double> timeout_s) {
    const auto view = word_view(word, "word");
    const auto operand = word_of(value, view.type());
    WordValue seen;
    const RuntimeCall entry(*team.job());
    team.job()->check(wait_interruptibly(
        [&](std::int64_t ns) {
            return weft_wait_word(team.team(), view.data(), view.type(), compare,
                                  operand.bytes.data(), ns, seen.bytes.data());
        },
        timeout_s));
    return value_of(seen, view.type());
}

bool test_until(TeamObject& team, const py::object& word, weft_compare compare,
                const py::object& value) {
    const auto view = word_view(word, "word");
    const auto operand = word_of(value, view.type());
    weft_words words{};
    words.words = view.data();
    words.count = 1;
    words.type = view.type();
    words.cmp = compare;
    words.values = operand.bytes.data();
    int holds = 0;
    const RuntimeCall entry(*team.job());
    team.job()->check(call_short([&] { return weft_test_all(team.team(), &words, &holds); }));
    return holds != 0;
}

void lock_set(TeamObject& team, const py::object& word) {
    const auto view = word_view(word, "word");
    auto* const lock = uint64_word(view, "word");
    call_checked(*team.job(), [&] { return weft_lock_set(team.team(), lock); });
}

bool lock_test(TeamObject& team, const py::object& word) {
    const auto view = word_view(word, "word");
    auto* const lock = uint64_word(view, "word");
    int acquired = 0;
    call_checked(*team.job(), [&] { return weft_lock_test(team.team(), lock, &acquired); });
    return acquired != 0;
}

void lock_clear(TeamObject& team, const py::object& word) {
    const auto view = word_view(word, "word");
    auto* const lock = uint64_word(view, "word");
    call_checked(*team.job(), [&] { return weft_lock_clear(team.team(), lock); });
}

}  // namespace weft::python
