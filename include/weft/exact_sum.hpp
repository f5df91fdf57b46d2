// SPDX-License-Identifier: BSD-3-Clause
// exact_sum.hpp - ExactSum, an exact sum of local values: the C++ form of exact_sum.h, whose rules
// for special values and threads apply.
#pragma once

#include <cstdint>
#include <ranges>
#include <span>

#include "weft/elements.hpp"
#include "weft/error.hpp"
#include "weft/exact_sum.h"

namespace weft {

/// Types of values of an ExactSum.
template <class T>
concept ExactSummand = std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, Float16> || std::same_as<T, BFloat16>;
/// Buffers of values of an ExactSum, such as std::vector<double>.
template <class R>
concept ExactSummands = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    ExactSummand<std::ranges::range_value_t<R>>;

/// The exact sum of any number of values and products.
class ExactSum {
  public:
    /// Add all values of a buffer, or one value.
    template <ExactSummand T>
    void add(std::span<const T> values) {
        check(weft_exact_add(&sum_, values.data(), values.size(), kTypeOf<T>));
    }
    template <ExactSummands Values>
    void add(const Values& values) {
        add<std::ranges::range_value_t<Values>>(values);
    }
    template <ExactSummand T>
    void add(T value) {
        check(weft_exact_add(&sum_, &value, 1, kTypeOf<T>));
    }
    /// Add the exact products left[i] * right[i]. Throw an Error if the sizes differ.
    template <ExactSummand T>
    void add_products(std::span<const T> left, std::span<const std::type_identity_t<T>> right) {
        if (left.size() != right.size())
            throw Error(Status::argument, "add_products: left and right differ in size");
        check(weft_exact_add_products(&sum_, left.data(), right.data(), left.size(), kTypeOf<T>));
    }
    template <ExactSummands Left, ExactSummands Right>
    void add_products(const Left& left, const Right& right) {
        add_products<std::ranges::range_value_t<Left>>(left, right);
    }
    /// Adds the values of another sum.
    void merge(const ExactSum& other) { check(weft_exact_merge(&sum_, &other.sum_)); }

    /// Return the sum, rounded to nearest, ties to even.
    [[nodiscard]] double value() const { return weft_exact_round(&sum_); }
    [[nodiscard]] float value_as_float() const { return weft_exact_round_float(&sum_); }
    /// Returns the square root of the exact sum, rounded once; NaN if the sum is negative.
    [[nodiscard]] double root() const { return weft_exact_root(&sum_); }

    /// Packs the words of this object and returns them. Team::allreduce(words, Op::sum) replaces
    /// the sum by the sum of all ranks.
    [[nodiscard]] std::span<std::int64_t> words() {
        check(weft_exact_pack(&sum_));
        return sum_.words;
    }

  private:
    template <class T>
    static constexpr auto kTypeOf = static_cast<weft_type>(static_cast<int>(type_of<T>()));
    static void check(weft_status status) {
        if (status != WEFT_OK) throw Error(static_cast<Status>(status), weft_last_error());
    }

    weft_exact_sum sum_ = {};
};

}  // namespace weft
