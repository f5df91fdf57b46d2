// SPDX-License-Identifier: BSD-3-Clause
// handles.hpp - what the pointers of the C interface stand for.
//
// Idea     Each runtime reserves an aligned range of addresses, a gibibyte that costs no memory but
//          its first page. A handle is an address in it: the upper bits find the first page, the
//          middle ones an entry of the runtime's table, the low ones say how often the entry has
//          been used.
// Why      A handle that has been freed, or outlived its runtime, must be refused, not followed.
//          With pointers to objects that takes a list of all runtimes of the process, or luck.
// Holds    A handle is never read through. The first page stays when the runtime is finalized, to
//          say so: 4 KiB for each runtime that a process has finalized. It reads as zeros in a
//          forked child, so every handle is refused there without a check on the warm path.
//          Entries are used again oldest first, so a stale handle is mistaken only after its entry
//          was used 16,384 times.
//          Where threads call at once, a handle is looked up without a lock: entries never move.
// Next     errors.hpp for what a refusal looks like; runtime.cpp, teams.cpp, collectives.cpp,
//          requests.cpp, remote_memory.cpp and operations.cpp for the functions of weft.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "front/c_api/operations.hpp"
#include "run/runtime/runtime.hpp"
#include "weft/near.h"
#include "weft/weft.h"

namespace weft::c_api {

/// A started call, or one that can be started.
struct CallRequest {
    const weft_team* team = nullptr;  ///< of a persistent call
    std::unique_ptr<const run::HeldCall>
        persistent;                       ///< what to start; nullptr: no persistent call
    run::Operation* operation = nullptr;  ///< while it is in flight
    std::uint32_t pending = 0;            ///< of a get: transfers under way; the wire counts here
};

struct HandleEntry {
    enum class Kind : std::uint8_t { free, team, request };
    Kind kind = Kind::free;
    std::uint32_t uses = 0;
    run::Team* team = nullptr;
    run::Stream* stream = nullptr;  ///< of a context; nullptr: the team itself
    CallRequest request;
};

/// A handler of active messages.
struct AmHandler {
    run::Runtime* runtime = nullptr;
    weft_am_handler function = nullptr;
    void* argument = nullptr;
};

/// The view that weft_near_open() returns for a handle, and the data that it points to. The view
/// is empty after the team has ended and in a forked child. Calls then go to the library, which
/// refuses them.
struct NearView {
    static constexpr std::uint32_t kDriveEvery = 32;

    weft_near* view = nullptr;  ///< in a page that is wiped in forked children
    std::vector<char*> bases;
    const run::Team* team = nullptr;
};

/// Who calls: handlers of active messages may make few calls.
enum class From : std::uint8_t { program, handler };

/// Everything that one weft_runtime stands for.
class Context {
  public:
    static constexpr unsigned kUseBits = 14;
    static constexpr unsigned kEntryBits = 16;
    static constexpr std::uintptr_t kRange = std::uintptr_t{1} << (kUseBits + kEntryBits);

    /// What lies in the first page of a range.
    struct Head {
        static constexpr std::uint64_t kMark = 0x7765'6674'2d72'756eULL;
        std::uint64_t mark = 0;
        Context* context = nullptr;  ///< nullptr once finalized
    };

    /// The head that a handle belongs to. handle: not NULL.
    [[nodiscard]] static Head& head_of(const void* handle) {
        return *reinterpret_cast<Head*>(reinterpret_cast<std::uintptr_t>(handle) & ~(kRange - 1));
    }
    /// A new context in a new range; its Head is the runtime's handle.
    [[nodiscard]] static base::Result<Head*> create(std::unique_ptr<run::Runtime> runtime);
    /// Leaves the head only, so that it can say so.
    static void destroy(Head& head);

    [[nodiscard]] run::Runtime& runtime() const { return *runtime_; }
    [[nodiscard]] weft_team* world() const { return world_; }
    /// Waits call the function from now on; while it runs, the runtime is not usable.
    void set_external(void (*function)(void* argument), void* argument);
    [[nodiscard]] bool in_external() const {
        const std::thread::id runs = in_external_.load(std::memory_order_relaxed);
        return runs != std::thread::id() && runs == std::this_thread::get_id();
    }
    /// The same of any thread.
    [[nodiscard]] bool runs_external() const {
        return in_external_.load(std::memory_order_relaxed) != std::thread::id();
    }
    /// The view of a handle: a new one is filled in by fill(view).
    template <class Fill>
    [[nodiscard]] base::Result<weft_near*> view_of(const weft_team* handle, Fill fill) {
        const std::scoped_lock lock(tables_);
        for (const NearView& view : views_)
            if (view.view->team == handle) return view.view;
        const auto place = place_for_view();
        if (!place) return place.failure();
        NearView& made = views_.emplace_back();
        made.view = *place;
        fill(made);
        return made.view;
    }
    /// From here on those who load and store by views drive the library now and then.
    void drive_views();
    /// Keeps a handler as long as the runtime.
    [[nodiscard]] AmHandler& add_handler(const AmHandler& handler) {
        const std::scoped_lock lock(tables_);
        return handlers_.emplace_back(handler);
    }

    /// A handle for a team, for a context of it, or for a request that is to be filled in.
    [[nodiscard]] base::Result<weft_team*> add_team(run::Team& team, run::Stream* stream = nullptr);
    [[nodiscard]] base::Result<weft_request*> add_request(CallRequest request);
    /// The entry of a handle of this context; nullptr if it stands for nothing of that kind any
    /// more.
    [[nodiscard]] HandleEntry* find(const void* handle, HandleEntry::Kind kind) {
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(handle) & (kRange - 1);
        const std::size_t index = offset >> kUseBits;
        // Acquire: pairs with the release of who added entries; they are there.
        if (index >= entries_.load(std::memory_order_acquire)) [[unlikely]]
            return nullptr;
        HandleEntry& entry = entry_at(index);
        return entry.kind == kind && entry.uses == (offset & kUsesMask) ? &entry : nullptr;
    }
    /// The team of a handle of this context, or nullptr. Calls mostly ask for the one before again.
    [[nodiscard]] run::Team* team_of(const weft_team* handle) {
        if (handle == last_handle_) [[likely]]
            return last_team_;
        const HandleEntry* const entry = find(handle, HandleEntry::Kind::team);
        if (entry == nullptr) return nullptr;
        if (threads_) return entry->team;
        last_handle_ = handle;
        last_stream_ = entry->stream;
        return last_team_ = entry->team;
    }
    /// Its stream, if team_of() has just found the team.
    [[nodiscard]] run::Stream* stream_of(const weft_team* handle) {
        if (handle == last_handle_) [[likely]]
            return last_stream_;
        return find(handle, HandleEntry::Kind::team)->stream;
    }
    /// The handle stands for nothing from now on.
    void remove(const void* handle);
    /// The same for the contexts of a team that ends, and its views are empty. Streams stay, with
    /// what is in flight.
    void remove_contexts_of(const run::Team& team);

  private:
    static constexpr std::uint32_t kUsesMask = (1U << kUseBits) - 1;

    Context(Head& head, std::unique_ptr<run::Runtime> runtime);
    ~Context();
    // With the lock of the tables.
    [[nodiscard]] base::Result<std::uintptr_t> add(HandleEntry::Kind kind, HandleEntry*& entry);
    void drop(std::uint32_t index);
    [[nodiscard]] base::Result<weft_near*> place_for_view();
    [[nodiscard]] HandleEntry& entry_at(std::size_t index) const {
        return chunks_[index / kChunk][index % kChunk];
    }

    Head& head_;
    std::unique_ptr<run::Runtime> runtime_;
    const bool threads_;  ///< several may call at once
    std::mutex tables_;   ///< for what changes them; who looks up a handle takes none
    static constexpr std::size_t kChunk = 256;
    std::array<std::unique_ptr<HandleEntry[]>, (std::size_t{1} << kEntryBits) / kChunk> chunks_;
    /// How many there are; the first one is never used: its addresses are the head's.
    std::atomic<std::size_t> entries_{0};
    std::deque<std::uint32_t> unused_;
    std::deque<AmHandler> handlers_;
    std::deque<NearView> views_;
    std::byte* next_view_;         ///< place of the next view; at first in the head's page
    std::size_t bytes_for_views_;  ///< free bytes at next_view_
    weft_team* world_ = nullptr;
    const weft_team* last_handle_ = nullptr;  ///< that stood for a team; none where threads call
    run::Team* last_team_ = nullptr;
    run::Stream* last_stream_ = nullptr;
    void (*external_)(void* argument) = nullptr;
    void* external_argument_ = nullptr;
    std::atomic<std::thread::id> in_external_{};  ///< the thread that runs the function
};

/// What a team's handle stands for, or why it cannot be used.
struct TeamHandle {
    Context* context = nullptr;
    run::Team* team = nullptr;
    run::Stream* stream = nullptr;  ///< of a context
};
[[nodiscard]] base::Result<Context*> context_of(const weft_runtime* runtime);
[[nodiscard]] base::Result<TeamHandle> find_team(const weft_team* team,
                                                 From caller = From::program);
/// The same for a call that is made often; nullptr: find_team() says why it cannot be used.
[[nodiscard]] inline run::Team* usable_team(const weft_team* team) {
    if (team == nullptr) [[unlikely]]
        return nullptr;
    const Context::Head& head = Context::head_of(team);
    if (head.mark != Context::Head::kMark || head.context == nullptr || head.context->in_external())
        [[unlikely]]
        return nullptr;
    return head.context->team_of(team);
}
/// The same without a call of any other function; nullptr: ask usable_team().
[[nodiscard]] [[gnu::always_inline]] inline run::Team* team_at_once(const weft_team* team) {
    if (team == nullptr) [[unlikely]]
        return nullptr;
    const Context::Head& head = Context::head_of(team);
    if (head.mark != Context::Head::kMark || head.context == nullptr ||
        head.context->runs_external()) [[unlikely]]
        return nullptr;
    return head.context->team_of(team);
}
/// The context of a runtime's handle where a program may use it now; nullptr: context_of() says why
/// not.
[[nodiscard]] [[gnu::always_inline]] inline Context* context_at_once(const weft_runtime* runtime) {
    if (runtime == nullptr) [[unlikely]]
        return nullptr;
    const Context::Head& head = Context::head_of(runtime);
    if (static_cast<const void*>(&head) != runtime || head.mark != Context::Head::kMark ||
        head.context == nullptr || head.context->runs_external() ||
        head.context->runtime().in_handler()) [[unlikely]]
        return nullptr;
    return head.context;
}
struct RequestHandle {
    Context* context = nullptr;
    CallRequest* request = nullptr;
};
[[nodiscard]] base::Result<RequestHandle> find_request(const weft_request* request);

}  // namespace weft::c_api
