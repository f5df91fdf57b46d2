// SPDX-License-Identifier: BSD-3-Clause
// request.hpp - started calls, and futures, which compose started calls.
//
// A Request is one started collective, put or get. A Future has a result, and continues: then()
// calls a function with the result, when_all() waits for several. No thread runs continuations: a
// function of then() runs inside ready() or get() of the future that then() returned.
#pragma once

#include <algorithm>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/export.h"

namespace weft {

/// A started call. The destructor does not wait for it. The buffers must stay valid until the call
/// is complete: after the destructor, those of a put or a get until quiet() returns, and those of
/// a collective until the runtime's finalize() returns.
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

/// Keeps a failure, so that all calls of all copies of a future report it.
template <class T>
class FutureState {
  public:
    FutureState() = default;
    FutureState(const FutureState&) = delete;
    FutureState& operator=(const FutureState&) = delete;
    virtual ~FutureState() = default;
    bool ready() {
        return settle([this] { return test(); });
    }
    T get() {
        return settle([this] { return wait(); });
    }

  private:
    virtual bool test() = 0;  ///< drives all transfers once
    virtual T wait() = 0;     ///< may be called repeatedly
    template <class Body>
    auto settle(Body body) {
        if (failure_) std::rethrow_exception(failure_);
        try {
            return body();
        } catch (...) {
            failure_ = std::current_exception();
            throw;
        }
    }

    std::exception_ptr failure_;
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
using Continuation = std::decay_t<typename Continued<F, T>::Type>;

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

/// Results of futures. Copies of a future share the result, so each get() returns a copy.
template <class T>
concept FutureResult = std::is_void_v<T> || std::copy_constructible<T>;
/// Functions that then() of a Future<T> accepts: callable with a T, or without arguments if T is
/// void. References that they return are copied.
template <class F, class T>
concept ContinuationOf = ((std::is_void_v<T> && std::invocable<F&>) ||
                          std::invocable<F&, T>)&&FutureResult<detail::Continuation<F, T>>;

/// Result of a call in flight. Copies refer to the same call. It may be destroyed before the result
/// arrives; see Request for the buffers.
template <class T>
class Future {
  public:
    using Value = T;

    /// Makes an empty future, which has no result.
    Future() = default;
    explicit Future(std::shared_ptr<detail::FutureState<T>> state) : state_(std::move(state)) {}

    /// Drives all transfers once. Returns true if get() would not wait. Throws an Error if the call
    /// failed. Empty futures are ready.
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
    /// future's. The function runs once, in the first ready() or get() that finds the result. If
    /// it throws, all ready() and get() throw the same exception.
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

  private:
    bool test() override {
        if (!stored_) {
            if (!first_.ready()) return false;
            run();
        }
        if constexpr (Unwrapped<Returned>::kIsFuture) return stored_->ready();
        return true;
    }
    Result wait() override {
        if (!stored_) run();
        if constexpr (Unwrapped<Returned>::kIsFuture) {
            return stored_->get();
        } else if constexpr (!std::is_void_v<Returned>) {
            return *stored_;
        }
    }
    decltype(auto) call() {
        if constexpr (std::is_void_v<T>) {
            first_.get();
            return std::invoke(function_);
        } else {
            return std::invoke(function_, first_.get());
        }
    }
    void run() {
        if constexpr (std::is_void_v<Returned>) {
            call();
            stored_.emplace();
        } else {
            stored_.emplace(call());
        }
    }

    Future<T> first_;
    F function_;
    std::optional<Stored> stored_;  ///< nothing before the function has run
};

/// State of a started call. `value`: memory for the value of a get.
template <class T>
class RequestState final : public FutureState<T> {
  public:
    explicit RequestState(Request request, std::shared_ptr<T> value = nullptr)
        : request_(std::move(request)), value_(std::move(value)) {}

  private:
    bool test() override { return request_.test(); }
    T wait() override {
        request_.wait();
        if constexpr (!std::is_void_v<T>) return *value_;
    }

    Request request_;
    std::shared_ptr<T> value_;
};

class AllState final : public FutureState<void> {
  public:
    explicit AllState(std::vector<Future<void>> futures) : futures_(std::move(futures)) {}

  private:
    bool test() override {
        while (!futures_.empty() && futures_.back().ready()) futures_.pop_back();
        return futures_.empty();
    }
    void wait() override {
        for (; !futures_.empty(); futures_.pop_back()) futures_.back().get();
    }

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
    return Future<void>(std::make_shared<detail::RequestState<void>>(std::move(request)));
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
    return when_all(std::vector<Future<void>>{detail::without_result(futures)...});
}

}  // namespace weft
