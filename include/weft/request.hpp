// SPDX-License-Identifier: BSD-3-Clause
// request.hpp - started calls, and futures, which compose started calls.
//
// A Request is one started collective, put or get. A Future is the result of a started call. then()
// calls a function with the result; when_all() waits for several futures. No thread of the library
// runs these functions: they run inside ready() or get() of the future that then() returned.
// At most one thread at a time may use a request, or a future and its copies.
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
/// is complete. After the destructor, keep buffers of a put or a get until quiet() returns, and
/// buffers of a collective until the runtime's finalize() returns.
class WEFT_API Request {
  public:
    /// Makes an empty request, which is complete.
    Request() noexcept;
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    /// Drives all calls once. Returns true if this call is complete. Throws an Error if it failed.
    /// A request whose call has ended is empty.
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

/// State that copies of a future share. Keeps a failure, so that each later ready() and get()
/// throws it again.
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
    virtual bool test() = 0;  ///< drives all transfers once; true if wait() would not wait
    virtual T wait() = 0;     ///< returns a copy of the result each time
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
/// Type that a function F returns to then() of a Future<T>.
template <class F, class T>
using Continuation = std::decay_t<typename Continued<F, T>::Type>;

/// Type of the result of then(): U if the function returns a Future<U>, else the returned type.
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

/// Result of a call in flight. Copies refer to the same call. A future may be destroyed before its
/// call is complete; see Request for the buffers.
template <class T>
class Future {
  public:
    using Value = T;

    /// Makes an empty future, which is ready. If T is not void, get() must not be called.
    Future() = default;
    explicit Future(std::shared_ptr<detail::FutureState<T>> state) : state_(std::move(state)) {}

    /// Drives all transfers once. Returns true if get() would not wait. Throws an Error if the call
    /// failed.
    [[nodiscard]] bool ready() { return state_ == nullptr || state_->ready(); }
    /// Drives all transfers until the call is complete, and returns its result. Throws an Error if
    /// the call failed.
    T get() {
        if constexpr (std::is_void_v<T>) {
            if (state_ != nullptr) state_->get();
        } else {
            return state_->get();
        }
    }
    /// Returns a future of function(result). If the function itself returns a future, the returned
    /// future has that future's result. The function runs once, in the first ready() or get() of
    /// the returned future that finds the result. If the function throws, so do these calls.
    template <ContinuationOf<T> F>
    [[nodiscard]] auto then(F function);

  private:
    std::shared_ptr<detail::FutureState<T>> state_;
};

namespace detail {

/// State of a future that then() returned.
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
    std::optional<Stored> stored_;  ///< value that the function returned; empty until then
};

/// State of a future of a started call.
template <class T>
class RequestState final : public FutureState<T> {
  public:
    /// value: memory into which a get copies its value; nullptr if T is void.
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

/// State of a future that when_all() returned.
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

    std::vector<Future<void>> futures_;  ///< futures that may still be in flight
};

/// Returns a future that is ready when `future` is ready, without the result.
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

/// Return a future that is ready when all given futures are ready. The given futures keep their
/// results.
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
