// SPDX-License-Identifier: BSD-3-Clause
// result.hpp - result of a function: a value, or a status with a message.
//
// Idea     The function that detects an error writes the message; callers prepend context.
//          Functions of repeated calls never make a Result; they return enums.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "weft/types.hpp"

namespace weft::base {

/// A failure: a status for programs and a message for users.
struct Failure {
    Status status = Status::environment;
    std::string text;

    /// Returns the failure with "context: " before its text.
    [[nodiscard]] Failure within(std::string_view context) const;
};

[[nodiscard]] Failure fail_with(Status status, fmt::string_view format, fmt::format_args arguments);

template <class... Arguments>
[[nodiscard]] Failure fail(Status status, fmt::format_string<Arguments...> format,
                           Arguments&&... arguments) {
    return fail_with(status, format, fmt::make_format_args(arguments...));
}

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    Result(Failure failure) : held_(std::in_place_index<1>, std::move(failure)) {}

    [[nodiscard]] bool ok() const noexcept { return held_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    T& value() & {
        WEFT_CHECK(ok(), failure().text);
        return std::get<0>(held_);
    }
    const T& value() const& {
        WEFT_CHECK(ok(), failure().text);
        return std::get<0>(held_);
    }
    T&& value() && {
        WEFT_CHECK(ok(), failure().text);
        return std::get<0>(std::move(held_));
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    [[nodiscard]] const Failure& failure() const { return std::get<1>(held_); }

  private:
    std::variant<T, Failure> held_;
};

/// Success without a value.
struct Done {};

template <>
class Result<void> : public Result<Done> {
  public:
    using Result<Done>::Result;
    Result() : Result(Done{}) {}
    /// A copy of `failure`, or success if it is nullptr.
    Result(const Failure* failure) : Result(failure != nullptr ? Result(*failure) : Result()) {}
};

}  // namespace weft::base

/// WEFT_TRY(result): evaluates to the value of a Result, or returns its failure from the function.
#define WEFT_TRY(...)                    \
    __extension__({                      \
        auto weft_tried = (__VA_ARGS__); \
        if (!weft_tried) [[unlikely]]    \
            return weft_tried.failure(); \
        std::move(weft_tried).value();   \
    })
