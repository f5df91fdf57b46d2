// SPDX-License-Identifier: BSD-3-Clause
// exact_sum.hpp - exact sums of arrays, and of elements that several ranks contribute.
//
// Idea     ExactNumber sums any number of values, for programs. Collectives use one of two forms.
//          In the raw form ranks exchange values, and each result is the sum of a column of values.
//          In the window form an element becomes a few integers, which the integer sum of any
//          algorithm adds: see exact_digits.hpp.
// Holds    A result is the exact sum, rounded once to nearest, ties to even. A NaN, or infinities
//          of both signs, give the positive quiet NaN without payload. A sum is -0.0 if all values
//          are -0.0, or if it is negative and too small for its type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "run/reduce/exact_digits.hpp"
#include "run/reduce/kernel_table.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Returns true if the type has Op::exact_sum.
[[nodiscard]] constexpr bool has_exact_sum(Type type) {
    return type == Type::float32 || type == Type::float64 || type == Type::cfloat ||
           type == Type::cdouble || type == Type::float16 || type == Type::bfloat16;
}
/// Returns the type of the parts of a complex type, or the type itself.
[[nodiscard]] constexpr Type part_type(Type type) {
    return type == Type::cfloat ? Type::float32 : type == Type::cdouble ? Type::float64 : type;
}

/// Scope with the default floating-point state: round to nearest, subnormal numbers, no traps. Its
/// end restores the thread's state, including the flags of floating-point exceptions.
class FloatState {
  public:
    FloatState() noexcept;
    ~FloatState();
    FloatState(const FloatState&) = delete;
    FloatState& operator=(const FloatState&) = delete;

  private:
    alignas(8) unsigned char saved_[32];
};

/// Exact sum of any number of doubles and products of doubles, in kWords words that the caller
/// owns. Up to 2^18 packed numbers can be added word by word.
class ExactNumber {
  public:
    static constexpr int kWords = kDigitsMax + 3;

    explicit ExactNumber(std::int64_t* words) noexcept : words_(words) {}

    void clear() noexcept;
    /// Add `count` values, or products of values. The type has_exact_sum() and is not complex.
    void add(const ExactKernels& kernels, Type type, const void* values,
             std::size_t count) noexcept;
    void add_products(const ExactKernels& kernels, Type type, const void* left, const void* right,
                      std::size_t count) noexcept;
    /// Adds the number in the words `other`.
    void merge(const std::int64_t* other) noexcept;
    /// Moves carries, so that the words can be added to those of other packed numbers.
    void pack() noexcept;
    /// Returns the sum, rounded to a format.
    [[nodiscard]] double rounded(const FloatFormat& format) const noexcept;
    /// Returns the square root of the sum, rounded to a double.
    [[nodiscard]] double root() const noexcept;

  private:
    std::int64_t* words_;
};

/// Words that represent the values of a group exactly: digits from a position on, and possibly a
/// word that counts infinities, NaNs and negative zeros.
struct ExactWindow {
    int base = 0;          ///< position of the first digit, see FiniteValue
    int digits = 1;        ///< number of digits
    bool special = false;  ///< there is a word of counts

    [[nodiscard]] std::size_t words() const {
        return static_cast<std::size_t>(digits) + (special ? 1 : 0);
    }
    /// Returns the window of all values of a type.
    [[nodiscard]] static ExactWindow all(Type type);
    /// Returns the bounds of values for within(). Maxima over ranks are the bounds of all values.
    [[nodiscard]] static std::array<std::int64_t, 3> bounds(const ExactRange& range);
    /// Returns the window of values within bounds.
    [[nodiscard]] static ExactWindow within(const std::array<std::int64_t, 3>& bounds);
};

[[nodiscard]] ExactRange range_of(const ExactKernels& kernels, Type type, const void* values,
                                  std::size_t count) noexcept;

/// Represents values as integers: window.words() arrays of `count` words.
void to_words(const ExactWindow& window, Type type, const void* values, std::size_t count,
              std::int64_t* words) noexcept;
/// Rounds sums of the words of to_words() to values.
void from_words(const ExactWindow& window, Type type, const std::int64_t* words, std::size_t count,
                void* values) noexcept;

/// Sets out[i], i < count, to the exact sum of element i of `summands` arrays. The arrays start at
/// `columns`, at distances of `stride` elements.
void sum_columns(const ExactKernels& kernels, Type type, const void* columns, std::size_t stride,
                 std::size_t summands, std::size_t count, void* out) noexcept;

/// Replaces NaNs, also in parts of complex numbers, by the positive quiet NaN without payload.
void unify_nans(Type type, void* values, std::size_t count) noexcept;

}  // namespace weft::run
