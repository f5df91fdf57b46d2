// SPDX-License-Identifier: BSD-3-Clause
// request.hpp - started calls, and futures, which compose started calls.
//
// A Request is one started collective, put or get. A Future has a result, and continues: then()
// calls a function with the result, when_all() waits for several. No thread runs continuations: a
// function of then() runs inside ready() or get() of the future that then() returned.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/export.h"

namespace weft {

/// A started call. The destructor does not wait for the call, so the buffers must stay valid until
/// the call is complete: a collective for example until the next barrier() of the team returns, a
/// put or a get until quiet() returns.
class WEFT_API Request {
  public:
    Request() noexcept;
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    /// Drives all calls once. Returns true if this call is complete, or if the request is empty.
    /// Throws an Error if the call failed.
    bool test();
    /// Waits until this call is complete. Throws an Error if it failed.
    void wait();

  private:
    friend class Team;
    friend class OneSidedCalls;
    friend class PersistentRequest;
    struct State;
    explicit Request(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

template <class T>
class Future;

namespace detail {

template <class T>
struct FutureState {
    FutureState() = default;
    FutureState(const FutureState&) = delete;
    FutureState& operator=(const FutureState&) = delete;
    virtual ~FutureState() = default;
    virtual bool ready() = 0;  ///< drives all transfers once
    virtual T get() = 0;       ///< waits; may be called repeatedly
};

template <class F, class T>
struct Continued {
    using Type = std::invoke_result_t<F&, T>;
};
template <class F>
struct Continued<F, void> {
    using Type = std::invoke_result_t<F&>;
};
/// Result of a function of then(). If this is a future, then() returns an equal future.
template <class F, class T>
using Continuation = typename Continued<F, T>::Type;

template <class T>
struct Unwrapped {
    using Type = T;
    static constexpr bool kIsFuture = false;
};
template <class T>
struct Unwrapped<Future<T>> {
    using Type = T;
    static constexpr bool kIsFuture = true;
};

}  // namespace detail

/// Functions that then() of a Future<T> accepts: callable with a T, or without arguments if T is
/// void.
template <class F, class T>
concept ContinuationOf = (std::is_void_v<T> && std::invocable<F&>) || std::invocable<F&, T>;

/// Result of a call in flight. Copies refer to the same call. It may be destroyed before the result
/// arrives; see Request for the buffers.
template <class T>
class Future {
  public:
    using Value = T;

    /// Makes an empty future, which has no result.
    Future() = default;
    explicit Future(std::shared_ptr<detail::FutureState<T>> state) : state_(std::move(state)) {}

    /// Drives all transfers once. Returns true if get() would not wait. Empty futures are ready.
    [[nodiscard]] bool ready() { return state_ == nullptr || state_->ready(); }
    /// Drives all transfers until the call is complete, and returns its result. Throws an Error if
    /// the call failed. An empty future of a type other than void must not be read.
    T get() {
        if constexpr (std::is_void_v<T>) {
            if (state_ != nullptr) state_->get();
        } else {
            return state_->get();
        }
    }
    /// Returns the future of function(result). If the function returns a future, the result is that
    /// future's. The function runs once, in the first ready() or get() that finds the result.
    template <ContinuationOf<T> F>
    [[nodiscard]] auto then(F function);

  private:
    std::shared_ptr<detail::FutureState<T>> state_;
};

namespace detail {

/// State of then(). The value of the function is kept as the Stored type.
template <class T, class F>
class ThenState final : public FutureState<typename Unwrapped<Continuation<F, T>>::Type> {
    using Returned = Continuation<F, T>;
    using Result = typename Unwrapped<Returned>::Type;
    using Stored = std::conditional_t<std::is_void_v<Returned>, std::tuple<>, Returned>;

  public:
    ThenState(Future<T> first, F function)
        : first_(std::move(first)), function_(std::move(function)) {}

    bool ready() override {
        if (!stored_) {
            if (!first_.ready()) return false;
            run();
        }
        if constexpr (Unwrapped<Returned>::kIsFuture) return stored_->ready();
        return true;
    }
    Result get() override {
        if (!stored_) run();
        if constexpr (Unwrapped<Returned>::kIsFuture) {
            return stored_->get();
        } else if constexpr (!std::is_void_v<Returned>) {
            return *stored_;
        }
    }

  private:
    void run() {
        if constexpr (std::is_void_v<T>) {
            first_.get();
            if constexpr (std::is_void_v<Returned>) {
                function_();
                stored_.emplace();
            } else {
                stored_.emplace(function_());
            }
        } else if constexpr (std::is_void_v<Returned>) {
            function_(first_.get());
            stored_.emplace();
        } else {
            stored_.emplace(function_(first_.get()));
        }
    }

    Future<T> first_;
    F function_;
    std::optional<Stored> stored_;  ///< nothing before the function has run
};

class RequestState final : public FutureState<void> {
  public:
    explicit RequestState(Request request) : request_(std::move(request)) {}
    bool ready() override { return request_.test(); }
    void get() override { request_.wait(); }

  private:
    Request request_;
};

/// State of a get of one value.
template <class T>
class ValueState final : public FutureState<T> {
  public:
    ValueState(Request request, std::shared_ptr<T> value)
        : request_(std::move(request)), value_(std::move(value)) {}
    bool ready() override { return request_.test(); }
    T get() override {
        request_.wait();
        return *value_;
    }

  private:
    Request request_;
    std::shared_ptr<T> value_;
};

class AllState final : public FutureState<void> {
  public:
    explicit AllState(std::vector<Future<void>> futures) : futures_(std::move(futures)) {}
    bool ready() override {
        while (!futures_.empty() && futures_.back().ready()) futures_.pop_back();
        return futures_.empty();
    }
    void get() override {
        for (; !futures_.empty(); futures_.pop_back()) futures_.back().get();
    }

  private:
    std::vector<Future<void>> futures_;
};

/// Future that completes with another one, without its result.
template <class T>
Future<void> without_result(Future<T> future) {
    if constexpr (std::is_void_v<T>) {
        return future;
    } else {
        return future.then([](const T&) {});
    }
}

}  // namespace detail

template <class T>
template <ContinuationOf<T> F>
auto Future<T>::then(F function) {
    using Result = typename detail::Unwrapped<detail::Continuation<F, T>>::Type;
    return Future<Result>(std::make_shared<detail::ThenState<T, F>>(*this, std::move(function)));
}

/// Returns a future of a started call.
[[nodiscard]] inline Future<void> future_of(Request request) {
    return Future<void>(std::make_shared<detail::RequestState>(std::move(request)));
}

/// Return a future that completes when all given futures are complete. Results remain available
/// from the given futures.
template <class T>
[[nodiscard]] Future<void> when_all(const std::vector<Future<T>>& futures) {
    std::vector<Future<void>> all;
    for (const Future<T>& future : futures) all.push_back(detail::without_result(future));
    return Future<void>(std::make_shared<detail::AllState>(std::move(all)));
}
template <class... T>
[[nodiscard]] Future<void> when_all(const Future<T>&... futures) {
    std::vector<Future<void>> all{detail::without_result(futures)...};
    return Future<void>(std::make_shared<detail::AllState>(std::move(all)));
}

}  // namespace weft
