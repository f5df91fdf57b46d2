// SPDX-License-Identifier: BSD-3-Clause
// matrix_memory.hpp - memory that collectives are called on: in place or not, aligned or not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace weft::test {

struct Place {
    bool in_place = false;
    std::size_t shift = 0;  ///< bytes behind an aligned address
};

/// Memory for `count` elements, `shift` bytes off its natural alignment.
template <class T>
class Vector {
  public:
    Vector(std::size_t count, std::size_t shift)
        : shift_(shift), memory_(count * sizeof(T) + shift + 16) {}
    /// From the element `first` on.
    void set(const std::vector<T>& values, std::size_t first = 0) {
        if (!values.empty())
            std::memcpy(memory_.data() + shift_ + first * sizeof(T), values.data(),
                        values.size() * sizeof(T));
    }
    /// One element; of a pair, the bytes of its padding stay as they are.
    void put(std::size_t index, const T* value) {
        std::byte* const to = memory_.data() + shift_ + index * sizeof(T);
        if constexpr (requires { value->index; }) {
            using Value = decltype(value->value);
            constexpr std::size_t kIndexAt =
                std::max(sizeof(Value), alignof(decltype(value->index)));
            std::memcpy(to, &value->value, sizeof(Value));
            std::memcpy(to + kIndexAt, &value->index, sizeof value->index);
        } else {
            std::memcpy(to, value, sizeof(T));
        }
    }
    [[nodiscard]] T get(std::size_t index) {
        T value;
        std::memcpy(&value, memory_.data() + shift_ + index * sizeof(T), sizeof(T));
        return value;
    }
    void spoil() { std::fill(memory_.begin(), memory_.end(), std::byte{0xa5}); }
    [[nodiscard]] void* data() { return memory_.data() + shift_; }
    [[nodiscard]] bool equals(const std::vector<T>& expected, std::size_t first = 0) {
        return expected.empty() || std::memcmp(memory_.data() + shift_ + first * sizeof(T),
                                               expected.data(), expected.size() * sizeof(T)) == 0;
    }

  private:
    std::size_t shift_;
    std::vector<std::byte> memory_;
};

}  // namespace weft::test
