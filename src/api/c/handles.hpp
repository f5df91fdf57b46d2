// SPDX-License-Identifier: BSD-3-Clause
// handles.hpp - objects behind the pointers of the C interface.
//
// Idea     Each runtime reserves an aligned range of 1 GiB of addresses. Only the first page, which
//          begins with the head, uses memory. A handle is an address in this range: the upper bits
//          are the address of the head, the middle bits the index of an entry in the runtime's
//          table, and the low bits the entry's use count.
// Why      A handle that is freed, or outlives its runtime, must be refused, not followed. Pointers
//          to objects would need a list of all runtimes of the process.
// Holds    A handle is never dereferenced. The head stays mapped after the runtime is finalized, to
//          refuse stale handles, so a finalized runtime costs one or more pages. In a forked child
//          the head reads as zeros, so every handle is refused there without a check on the warm
//          path. Entries are reused oldest first: a stale handle is accepted only after 16,384 uses
//          of its entry. Threads look up handles without a lock, because entries never move.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "api/c/errors.hpp"
#include "base/result.hpp"
#include "run/runtime.hpp"
#include "weft/near.h"
#include "weft/weft.h"

namespace weft::c_api {

/// Object of a weft_request: a collective, a put or a get in flight, or a persistent call.
struct CallRequest {
    const weft_team* team = nullptr;         ///< team of a persistent call, else nullptr
    std::unique_ptr<const Call> persistent;  ///< call that weft_start() starts; nullptr: none
    run::Operation* operation = nullptr;     ///< call in flight; nullptr: none
    run::Transfer transfer;                  ///< put or get in flight, if any
};

enum class HandleKind : std::uint8_t { free, team, request };

/// Entry of a runtime's table: the object of at most one handle at a time.
struct HandleEntry {
    HandleKind kind = HandleKind::free;
    std::uint32_t uses = 0;  ///< number of earlier handles of this entry, modulo 2^kUseBits
    run::Team* team = nullptr;
    run::Stream* stream = nullptr;  ///< stream of a context; nullptr: the handle is a team
    CallRequest request;
};

class Context;

/// Handler of active messages that a program has registered. Kept until the runtime ends, because
/// a replaced handler may still run.
struct AmHandler {
    Context* context = nullptr;
    weft_am_handler function = nullptr;
    void* argument = nullptr;
};

/// The view that weft_near_open() returns for a handle, and the data that it points to. The view
/// has no ranks after the team has ended and in a forked child. The inline functions of near.h
/// then call the library, which refuses the handle.
struct NearView {
    static constexpr std::uint32_t kDriveEvery = 32;  ///< uses of a view until a drive

    weft_near* view = nullptr;  ///< in a page that is wiped in forked children
    std::vector<char*> bases;   ///< by rank: start of its heap; nullptr: on another node
    const run::Team* team = nullptr;
};

/// Callers that a function permits. Handlers of active messages may only send and abort; the
/// function of weft_on_progress() may only abort.
enum class Callers : std::uint8_t { program, program_and_handlers, all };

/// Object of a weft_runtime: the runtime and its table of handles.
class Context {
  public:
    static constexpr unsigned kUseBits = 14;    ///< bits of a handle for the use count
    static constexpr unsigned kEntryBits = 16;  ///< bits of a handle for the entry
    static constexpr std::uintptr_t kRange = std::uintptr_t{1} << (kUseBits + kEntryBits);

    /// Contents of the first page of a range.
    struct Head {
        static constexpr std::uint64_t kMark = 0x7765'6674'2d72'756eULL;  // "weft-run"
        std::uint64_t mark = 0;
        Context* context = nullptr;  ///< nullptr once finalized
    };

    /// Returns the head of a handle's range. handle: not NULL.
    [[nodiscard]] static Head& head_of(const void* handle) {
        return *reinterpret_cast<Head*>(reinterpret_cast<std::uintptr_t>(handle) & ~(kRange - 1));
    }
    /// Returns the context of a handle, or nullptr if it is refused or needs a closer check.
    [[nodiscard]] [[gnu::always_inline]] static Context* find_fast(const void* handle) {
        if (handle == nullptr) [[unlikely]]
            return nullptr;
        const Head& head = head_of(handle);
        if (head.mark != Head::kMark || head.context == nullptr || head.context->runs_external())
            [[unlikely]]
            return nullptr;
        return head.context;
    }
    /// Makes a context in a new range, whose head is the runtime's handle.
    [[nodiscard]] static Result<Head*> create(std::unique_ptr<run::Runtime> runtime);
    /// Destroys the context and keeps the head, by which its handles are refused.
    static void destroy(Head& head);

    [[nodiscard]] run::Runtime& runtime() const { return *runtime_; }
    [[nodiscard]] weft_team* world() const { return world_; }
    /// Sets the function of weft_on_progress(), which waiting calls run.
    void set_external(void (*function)(void* argument), void* argument);
    /// Returns true if the calling thread is in this function, which must not use the runtime.
    [[nodiscard]] bool in_external() const {
        return external_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }
    /// Returns true if any thread is in this function.
    [[nodiscard]] bool runs_external() const {
        return external_thread_.load(std::memory_order_relaxed) != std::thread::id();
    }
    /// Returns the view of a handle; fill(view) initializes a new view.
    template <class Fill>
    [[nodiscard]] Result<weft_near*> view_of(const weft_team* handle, Fill fill) {
        const std::scoped_lock lock(tables_);
        for (const NearView& view : views_)
            if (view.view->team == handle) return view.view;
        const auto view = WEFT_TRY(allocate_view());
        NearView& made = views_.emplace_back();
        made.view = view;
        fill(made);
        return made.view;
    }
    /// Makes the users of views drive the library regularly, from now on.
    void drive_views();
    [[nodiscard]] AmHandler& add_handler(const AmHandler& handler) {
        const std::scoped_lock lock(tables_);
        return handlers_.emplace_back(handler);
    }

    /// Make a handle for a team (with `stream`: for a context of the team) or for a request.
    [[nodiscard]] Result<weft_team*> add_team(run::Team& team, run::Stream* stream = nullptr);
    [[nodiscard]] Result<weft_request*> add_request();
    /// Makes a handle for a new team; NULL if *made is nullptr, because this rank is no member. If
    /// no handle is left, leaves the team without waiting, since other members may have a handle.
    [[nodiscard]] Result<weft_team*> handle_for(const Result<run::Team*>& made) {
        if (!made) return made.failure();
        if (*made == nullptr) return nullptr;
        auto handle = add_team(**made);
        if (!handle) runtime_->teams().leave(**made);
        return handle;
    }
    /// Returns the entry of a handle; nullptr if the handle is stale or of another kind.
    [[nodiscard]] HandleEntry* find(const void* handle, HandleKind kind) {
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(handle) & (kRange - 1);
        const std::size_t index = offset >> kUseBits;
        // Acquire: pairs with the release in add(), which has allocated the entry.
        if (index >= entries_.load(std::memory_order_acquire)) [[unlikely]]
            return nullptr;
        HandleEntry& entry = entry_at(index);
        return entry.kind == kind && entry.uses == (offset & kUsesMask) ? &entry : nullptr;
    }
    /// Returns the team of a handle, or nullptr. Caches the last look-up.
    [[nodiscard]] run::Team* team_of(const weft_team* handle) {
        if (handle == last_handle_) [[likely]]
            return last_team_;
        return look_up_team(handle);
    }
    void forget_last() noexcept {
        if (!threads_) last_handle_ = nullptr;
    }
    /// Makes team_of() refuse the calls of a handler of active messages while the handler runs.
    class Handling {
      public:
        explicit Handling(Context& context) : context_(context), last_(context.last_handle_) {
            context.forget_last();
        }
        ~Handling() {
            if (!context_.threads_) context_.last_handle_ = last_;
        }
        Handling(const Handling&) = delete;
        Handling& operator=(const Handling&) = delete;

      private:
        Context& context_;
        const weft_team* last_;
    };
    /// Returns the stream of a team that team_of() has just found.
    [[nodiscard]] run::Stream* stream_of(const weft_team* handle) {
        if (handle == last_handle_) [[likely]]
            return last_stream_;
        return find(handle, HandleKind::team)->stream;
    }
    void remove(const void* handle);
    /// Removes the handles of a team's contexts and empties its views, before the team ends, which
    /// closes the streams.
    void remove_contexts_of(const run::Team& team);

  private:
    /// Returns the team of a handle that is not last_handle_, or nullptr: see team_of().
    [[nodiscard]] run::Team* look_up_team(const weft_team* handle);
    static constexpr std::uint32_t kUsesMask = (1U << kUseBits) - 1;

    Context(Head& head, std::unique_ptr<run::Runtime> runtime);
    ~Context();
    /// Takes an entry of the table, and returns its new handle. contents: all members but `uses`.
    [[nodiscard]] Result<std::uintptr_t> add(HandleEntry contents);
    // The callers of the next two functions have locked tables_.
    void drop(std::uint32_t index);
    [[nodiscard]] Result<weft_near*> allocate_view();
    [[nodiscard]] HandleEntry& entry_at(std::size_t index) const {
        return chunks_[index / kChunk][index % kChunk];
    }

    Head& head_;
    std::unique_ptr<run::Runtime> runtime_;
    const bool threads_;  ///< true if several threads may call at once
    std::mutex tables_;   ///< serializes changes of the members below; look-ups take no lock
    static constexpr std::size_t kChunk = 256;  ///< entries that are allocated together
    std::array<std::unique_ptr<HandleEntry[]>, (std::size_t{1} << kEntryBits) / kChunk> chunks_;
    /// Number of entries. Entry 0 is not used, because its handle is the address of the head.
    std::atomic<std::size_t> entries_{0};
    std::deque<std::uint32_t> unused_;  ///< indices of freed entries, oldest first
    std::deque<AmHandler> handlers_;
    std::deque<NearView> views_;
    std::byte* next_view_;         ///< memory of the next view; at first in the head's page
    std::size_t bytes_for_views_;  ///< free bytes at next_view_
    weft_team* world_ = nullptr;
    const weft_team* last_handle_ = nullptr;  ///< last handle of team_of(); unused with threads_
    run::Team* last_team_ = nullptr;
    run::Stream* last_stream_ = nullptr;
    void (*external_)(void* argument) = nullptr;
    void* external_argument_ = nullptr;
    std::atomic<std::thread::id> external_thread_{};  ///< the thread that runs external_
};

/// Object of a weft_team.
struct TeamHandle {
    Context* context = nullptr;
    run::Team* team = nullptr;
    run::Stream* stream = nullptr;  ///< stream of a context; nullptr: the handle is a team

    [[nodiscard]] run::Teams& teams() const { return context->runtime().teams(); }
    [[nodiscard]] run::SymmetricHeap& heap() const { return context->runtime().heap(); }
    [[nodiscard]] run::RemoteMemory remote() const {
        return context->runtime().remote(*team, stream);
    }
};
struct RequestHandle {
    Context* context = nullptr;
    CallRequest* request = nullptr;
};
/// Return the object of a handle. Fail if the handle is refused, and in a forked child.
[[nodiscard]] Result<Context*> find(const weft_runtime* runtime,
                                    Callers permitted = Callers::program);
[[nodiscard]] Result<TeamHandle> find(const weft_team* team, Callers permitted = Callers::program);
[[nodiscard]] Result<RequestHandle> find(const weft_request* request);
/// Returns the team of a handle, faster than find(). If nullptr, find() decides.
[[nodiscard]] [[gnu::always_inline]] inline run::Team* find_team_fast(const weft_team* team) {
    Context* const context = Context::find_fast(team);
    return context == nullptr ? nullptr : context->team_of(team);
}

/// Checks an argument that is a rank of a team.
[[nodiscard]] inline Result<void> check_rank(const run::Team& team, std::string_view name,
                                             int rank) {
    if (rank >= 0 && rank < team.size()) [[likely]]
        return {};
    return fail(Status::argument, "{}: {} is not a rank of the team, expected 0..{}", name, rank,
                team.size() - 1);
}
/// Deletes the object that `*object` points to, and sets the pointer to NULL.
template <class T>
Result<void> delete_object(T** object, std::string_view name) {
    if (object == nullptr) return fail(Status::argument, "{} is NULL", name);
    delete *object;
    *object = nullptr;
    return {};
}

/// Runs a C function: finds the object of its handle, and calls body(object).
template <class Handle, class Body>
weft_status on(const char* function, Handle* handle, Body&& body) noexcept {
    return caught(function, [&]() -> Result<void> {
        const auto found = WEFT_TRY(find(handle));
        return body(found);
    });
}
/// Stores a result's value in *out.
template <class Value, class T>
Result<void> store(const Result<Value>& value, T* out) {
    if (!value) return value.failure();
    *out = static_cast<T>(*value);
    return Done{};
}
/// Runs a C function that returns a value by a pointer, its parameter `name`: checks the handle,
/// then the pointer, and stores the value that body(object) returns.
template <class Handle, class T, class Body>
weft_status return_value(const char* function, Handle* handle, T* out, Body&& body,
                         const char* name = "out") noexcept {
    return on(function, handle, [&](const auto& found) -> Result<void> {
        if (out == nullptr) return fail(Status::argument, "{} is NULL", name);
        return store(body(found), out);
    });
}
/// Runs a C function that stores in *out a handle for a request, which start(team, request) starts
/// or prepares. Makes the handle first, because a started call cannot be undone.
template <class Start>
weft_status return_request(const char* function, weft_team* team, weft_request** out,
                           Start start) noexcept {
    const auto make = [&](const TeamHandle& found) -> Result<weft_request*> {
        weft_request* const made = WEFT_TRY(found.context->add_request());
        const Result<void> started = start(found, *find(made)->request);
        if (started) return made;
        found.context->remove(made);
        return started.failure();
    };
    return return_value(function, team, out, make, "request");
}
/// Runs a C function that returns body(object), or `value` after a failure.
template <class T, class Handle, class Body>
T value_or(T value, const char* function, Handle* handle, Body&& body) noexcept {
    on(function, handle, [&](const auto& found) { return store(Result<T>(body(found)), &value); });
    return value;
}

/// Runs a C function that accesses a peer's memory: finds the team, and calls body(RemoteMemory).
template <class Body>
weft_status on_memory(const char* function, const weft_team* team, Body&& body) noexcept {
    return caught(function, [&]() -> Result<void> {
        Context* const context = Context::find_fast(team);
        if (context != nullptr) [[likely]]
            if (run::Team* const found = context->team_of(team)) [[likely]]
                return body(context->runtime().remote(*found, context->stream_of(team)));
        const auto found = WEFT_TRY(find(team));
        return body(found.remote());
    });
}

}  // namespace weft::c_api
