// SPDX-License-Identifier: BSD-3-Clause
// rpc.hpp - remote procedure calls: a message brings arguments to a peer, another the result back.
//
//     int add(int a, int b) { return a + b; }
//
//     weft::Rpc rpc(runtime);
//     weft::Future<int> sum = rpc.call<add>(peer, 2, 3);
//     sum.get();
//
// All ranks make an Rpc, and keep it until no rank makes calls any more. Handlers of active
// messages run the functions: one at a time, inside the peer's calls into the library. The
// functions must not call the library. If a function throws, its caller gets an Error.
//
// A function is identified by its name and type. An Rpc::call() of a function anywhere in a program
// registers the function, so the programs of all ranks must contain such a call.
//
// The arguments of a call, and its result, have at most 2032 bytes each, or 240 in jobs of more
// than 1024 ranks. Beyond the limit the caller gets an Error.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/weft.hpp"

namespace weft {

namespace detail {

/// Largest size of a message in jobs of up to 1024 ranks, in bytes.
inline constexpr std::size_t kRpcMessageBytes = 2048;
/// Size of the header at the start of each request and reply, in bytes.
inline constexpr std::size_t kRpcHeadBytes = 16;

/// Calls a function with `arguments` and writes its result. Returns false, without a call, if
/// `bytes` is not the size of the arguments.
using Invoker = bool (*)(const std::byte* arguments, std::size_t bytes, std::byte* result);

struct KnownFunction {
    Invoker invoker = nullptr;  ///< nullptr: two functions have the same name and type
    std::size_t result_bytes = 0;
};

/// Returns the functions that this program passes to Rpc::call(), by Callable::hash(). Filled
/// before main().
inline std::map<std::uint64_t, KnownFunction>& known_functions() {
    static std::map<std::uint64_t, KnownFunction> functions;
    return functions;
}

/// Returns the 64-bit FNV-1a hash.
constexpr std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3ULL;
    return hash;
}

template <class Result>
constexpr std::size_t kResultBytes = sizeof(Result);
template <>
inline constexpr std::size_t kResultBytes<void> = 0;

template <class T>
constexpr bool kSendable = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

/// A function pointer as template argument, with its argument and result types.
template <auto Function, class Type = decltype(Function)>
struct Callable;
template <auto Function, class R, class... Parameters>
struct Callable<Function, R (*)(Parameters...)> {
    using Result = R;
    using Tuple = std::tuple<std::decay_t<Parameters>...>;
    static_assert((kSendable<std::decay_t<Parameters>> && ...),
                  "arguments are sent as bytes: trivially copyable, no pointers");
    static_assert(std::is_void_v<R> || kSendable<R>, "results are sent as bytes");
    static_assert(kResultBytes<R> + kRpcHeadBytes <= kRpcMessageBytes,
                  "the result is larger than a message");
    static constexpr std::size_t kBytes = (std::size_t{0} + ... + sizeof(std::decay_t<Parameters>));
    static_assert(kBytes + kRpcHeadBytes <= kRpcMessageBytes,
                  "the arguments are larger than a message");

    static bool invoke(const std::byte* from, std::size_t bytes, std::byte* result) {
        if (bytes != kBytes) return false;
        Tuple arguments;
        std::apply([&](auto&... each) { (read(from, each), ...); }, arguments);
        if constexpr (std::is_void_v<R>) {
            std::apply(Function, arguments);
        } else {
            const R value = std::apply(Function, arguments);
            std::memcpy(result, &value, sizeof value);
        }
        return true;
    }
    /// Returns the hash of the function's name and type, which __PRETTY_FUNCTION__ contains.
    static std::uint64_t hash() { return hash_of(__PRETTY_FUNCTION__); }
    /// Registers the function. If two files define different functions of the same name and type,
    /// neither can be called.
    static bool register_function() {
        const auto [at, is_new] =
            known_functions().try_emplace(hash(), KnownFunction{&invoke, kResultBytes<R>});
        if (!is_new && at->second.invoker != &invoke) at->second.invoker = nullptr;
        return true;
    }
    static inline const bool kIsRegistered = register_function();  ///< set before main()

  private:
    template <class T>
    static void read(const std::byte*& from, T& value) {
        std::memcpy(&value, from, sizeof value);
        from += sizeof value;
    }
};

/// State of a call. unknown: the peer's program has not registered the function, or with another
/// size of arguments or result. failed: the function threw.
enum class RpcState : std::uint64_t { pending, done, unknown, failed };

/// A call by this rank. The handler of the reply writes the state last.
struct RpcCall {
    std::uint64_t state = static_cast<std::uint64_t>(RpcState::pending);  ///< an RpcState
    std::vector<std::byte> result;
    std::string why;  ///< reason, if state is `failed`
};

/// State of a future that Rpc::call() returns.
template <class T>
class RpcResult final : public FutureState<T> {
  public:
    RpcResult(Team world, std::shared_ptr<RpcCall> call)
        : world_(std::move(world)), call_(std::move(call)) {}

  private:
    bool test() override { return world_.test_until(&call_->state, Compare::ne, std::uint64_t{0}); }
    T wait() override {
        world_.wait_until(&call_->state, Compare::ne, std::uint64_t{0});
        const auto state = static_cast<RpcState>(call_->state);
        if (state == RpcState::unknown)
            throw Error(Status::argument,
                        "rpc: the peer's program contains no call of this function");
        if (state != RpcState::done)
            throw Error(Status::argument, "rpc: the function failed at the peer: " + call_->why);
        if constexpr (!std::is_void_v<T>) {
            T value;
            std::memcpy(&value, call_->result.data(), sizeof value);
            return value;
        }
    }

    Team world_;
    std::shared_ptr<RpcCall> call_;
};

}  // namespace detail

/// Calls functions on peers, and runs functions that peers call. Uses the handlers 254 and 255 of
/// the runtime, so a runtime can have one Rpc. Follows the runtime's thread level.
class Rpc {
  public:
    /// The runtime must outlive the Rpc.
    explicit Rpc(Runtime& runtime) : runtime_(runtime), world_(runtime.world()) {
        runtime_.on_message(kRequest, &serve, this);
        runtime_.on_message(kReply, &finish, this);
    }
    Rpc(const Rpc&) = delete;
    Rpc& operator=(const Rpc&) = delete;
    /// Requests that arrive later wait for the next Rpc. Destroy an Rpc before finalize() of the
    /// runtime.
    ~Rpc() {
        try {
            runtime_.on_message(kRequest, nullptr, nullptr);
            // Drops late replies: the future of such a call is gone.
            runtime_.on_message(
                kReply, [](void*, Rank, const std::byte*, std::size_t) {}, nullptr);
        } catch (const Error&) {
            // The runtime has been finalized: no handler runs any more.
        }
    }

    /// Starts Function(arguments...) at a peer, a rank of the world. Returns a Future, whose get()
    /// throws an Error if the peer's program has not registered the function, if the function
    /// threw, or if its result is larger than a message.
    template <auto Function, class... Given>
    [[nodiscard]] auto call(Rank peer, const Given&... arguments) {
        using Callable = detail::Callable<Function>;
        using Result = typename Callable::Result;
        static_cast<void>(Callable::kIsRegistered);  // a use, so that it is initialized
        static_cast<void>(world_.rank());  // refuses a forked child, where mutex_ may be locked
        auto call = std::make_shared<detail::RpcCall>();
        call->result.resize(detail::kResultBytes<Result>);
        std::vector<std::byte> message(sizeof(Head) + Callable::kBytes);
        const Head head{Callable::hash(), remember(call)};
        std::memcpy(message.data(), &head, sizeof head);
        std::byte* to = message.data() + sizeof head;
        const typename Callable::Tuple converted(arguments...);
        std::apply([&](const auto&... each) { (write(to, each), ...); }, converted);
        try {
            world_.send(peer, kRequest, message.data(), message.size());
        } catch (...) {
            const std::scoped_lock lock(mutex_);
            calls_.erase(head.id);
            throw;
        }
        return Future<Result>(std::make_shared<detail::RpcResult<Result>>(world_, std::move(call)));
    }

  private:
    static constexpr int kRequest = 254;
    static constexpr int kReply = 255;
    /// First bytes of each request and reply.
    struct Head {
        std::uint64_t hash_or_state = 0;  ///< request: Callable::hash(); reply: an RpcState
        std::uint64_t id = 0;             ///< number of the call, in calls_ of the caller
    };
    static_assert(sizeof(Head) == detail::kRpcHeadBytes);
    /// Largest size of an error's text in a reply, in bytes. Such a reply fits into any message.
    static constexpr std::size_t kWhyBytes = 200;

    template <class T>
    static void write(std::byte*& to, const T& value) {
        std::memcpy(to, &value, sizeof value);
        to += sizeof value;
    }

    /// Adds a call to calls_ and returns its number.
    std::uint64_t remember(const std::shared_ptr<detail::RpcCall>& call) {
        const std::uint64_t id = ++last_;
        const std::scoped_lock lock(mutex_);
        calls_.emplace(id, call);
        return id;
    }

    /// Runs the requested function and returns the reply. Exceptions of the function pass through.
    static std::vector<std::byte> result_of(Head head, const std::byte* arguments,
                                            std::size_t bytes) {
        const auto& known = detail::known_functions();
        const auto found = known.find(head.hash_or_state);
        std::vector<std::byte> reply(sizeof head);
        head.hash_or_state = static_cast<std::uint64_t>(detail::RpcState::unknown);
        if (found != known.end() && found->second.invoker != nullptr) {
            reply.resize(sizeof head + found->second.result_bytes);
            if (found->second.invoker(arguments, bytes, reply.data() + sizeof head))
                head.hash_or_state = static_cast<std::uint64_t>(detail::RpcState::done);
        }
        std::memcpy(reply.data(), &head, sizeof head);
        return reply;
    }

    /// Sends the text of an error to the caller. Sending fails only if the runtime has failed;
    /// later calls of both ranks then report that failure.
    void send_failure(Rank peer, std::uint64_t id, std::string_view why) noexcept {
        std::array<std::byte, sizeof(Head) + kWhyBytes> reply;
        const Head head{static_cast<std::uint64_t>(detail::RpcState::failed), id};
        const std::size_t length = std::min(why.size(), kWhyBytes);
        std::memcpy(reply.data(), &head, sizeof head);
        if (length != 0) std::memcpy(reply.data() + sizeof head, why.data(), length);
        try {
            world_.send(peer, kReply, reply.data(), sizeof head + length);
        } catch (...) {
        }
    }

    /// Handler of requests: runs the function and replies. Never throws.
    static void serve(void* self, Rank peer, const std::byte* data, std::size_t bytes) {
        auto& rpc = *static_cast<Rpc*>(self);
        Head head;
        if (bytes < sizeof head) return;
        std::memcpy(&head, data, sizeof head);
        try {
            const std::vector<std::byte> reply =
                result_of(head, data + sizeof head, bytes - sizeof head);
            rpc.world_.send(peer, kReply, reply.data(), reply.size());
        } catch (const std::exception& problem) {
            const char* const why = problem.what();
            rpc.send_failure(peer, head.id, why != nullptr ? why : "");
        } catch (...) {
            rpc.send_failure(peer, head.id, "it threw an object that is not a std::exception");
        }
    }

    /// Handler of replies: stores the result or the reason.
    static void finish(void* self, Rank, const std::byte* data, std::size_t bytes) {
        auto& rpc = *static_cast<Rpc*>(self);
        Head head;
        if (bytes < sizeof head) return;
        std::memcpy(&head, data, sizeof head);
        const std::scoped_lock lock(rpc.mutex_);
        const auto found = rpc.calls_.find(head.id);
        if (found == rpc.calls_.end()) return;
        detail::RpcCall& call = *found->second;
        auto state = static_cast<detail::RpcState>(head.hash_or_state);
        const std::size_t length = bytes - sizeof head;
        if (state == detail::RpcState::done && length != call.result.size())
            state = detail::RpcState::unknown;
        if (state == detail::RpcState::done && length != 0)
            std::memcpy(call.result.data(), data + sizeof head, length);
        if (state == detail::RpcState::failed)
            call.why.assign(reinterpret_cast<const char*>(data + sizeof head), length);
        // Release: pairs with the acquire of the wait; the result is visible with it.
        std::atomic_ref<std::uint64_t>(call.state)
            .store(static_cast<std::uint64_t>(state), std::memory_order_release);
        rpc.calls_.erase(found);
    }

    Runtime& runtime_;
    Team world_;
    std::mutex mutex_;  ///< for calls_: a progress thread may run handlers
    std::map<std::uint64_t, std::shared_ptr<detail::RpcCall>> calls_;  ///< calls without a reply
    /// Number of the last call of this process: replies to an earlier Rpc match no call of this.
    static inline std::atomic<std::uint64_t> last_ = 0;
};

}  // namespace weft
