// SPDX-License-Identifier: BSD-3-Clause
#include "api/c/handles.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fork_guard.hpp"

namespace weft::c_api {

namespace {

constexpr int kAddressesOnly = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

/// Returns the number of bytes that a range maps for its head and views: one page.
std::size_t head_bytes() {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

base::Failure mapping_failure(const char* call) {
    return fail(Status::memory, "cannot map memory for handles: {}: {}", call,
                std::strerror(errno));
}

/// Returns the context of a handle if the caller may use it now. `what`: "team", "request" or
/// "runtime", for messages.
Result<Context*> find_context(const void* handle, std::string_view what,
                              Callers permitted = Callers::program) {
    if (base::is_forked_child()) return base::fork_failure();
    if (handle == nullptr) return fail(Status::argument, "the {} is NULL", what);
    const Context::Head& head = Context::head_of(handle);
    if (head.mark != Context::Head::kMark)
        return fail(Status::argument, "the {} is not a handle of this library", what);
    if (head.context == nullptr)
        return fail(Status::argument, "the runtime of this {} has been finalized", what);
    if (permitted != Callers::all && head.context->in_external())
        return fail(Status::argument,
                    "called from the function passed to weft_on_progress(), which must not "
                    "use the runtime");
    if (permitted == Callers::program)
        WEFT_TRY(head.context->runtime().messages().refuse_handlers());
    return head.context;
}

}  // namespace

Result<Context::Head*> Context::create(std::unique_ptr<run::Runtime> runtime) {
    // Reserve twice the size, and keep the aligned range in it.
    void* const reserved = ::mmap(nullptr, 2 * kRange, PROT_NONE, kAddressesOnly, -1, 0);
    if (reserved == MAP_FAILED) return mapping_failure("mmap");
    const auto start = reinterpret_cast<std::uintptr_t>(reserved);
    const std::uintptr_t at = (start + kRange - 1) & ~(kRange - 1);
    if (at != start) ::munmap(reserved, at - start);
    ::munmap(reinterpret_cast<void*>(at + kRange), start + kRange - at);
    if (::mprotect(reinterpret_cast<void*>(at), head_bytes(), PROT_READ | PROT_WRITE) != 0) {
        const base::Failure why = mapping_failure("mprotect");
        ::munmap(reinterpret_cast<void*>(at), kRange);
        return why;
    }
    base::wipe_in_children(reinterpret_cast<void*>(at), head_bytes());
    Head& head = *new (reinterpret_cast<void*>(at)) Head{.mark = Head::kMark};
    head.context = new Context(head, std::move(runtime));
    auto world = head.context->add_team(head.context->runtime().world());
    if (!world) {
        destroy(head);
        return world.failure();
    }
    head.context->world_ = *world;
    return &head;
}

void Context::destroy(Head& head) {
    delete std::exchange(head.context, nullptr);
    // The head stays mapped, so that stale handles are refused. Handles are not dereferenced, so
    // other memory may use the rest of the range.
    ::munmap(reinterpret_cast<std::byte*>(&head) + head_bytes(), kRange - head_bytes());
}

Context::Context(Head& head, std::unique_ptr<run::Runtime> runtime)
    : head_(head),
      runtime_(std::move(runtime)),
      threads_(runtime_->settings().threads == base::ThreadLevel::multiple),
      next_view_(reinterpret_cast<std::byte*>(&head) + sizeof head),
      bytes_for_views_(head_bytes() - sizeof head) {
    static_assert(sizeof head % alignof(weft_near) == 0);
    chunks_[0] = std::make_unique<HandleEntry[]>(kChunk);
    entries_ = 1;
}

/// Views stay mapped after the runtime ends. An empty view makes its users call the library, which
/// refuses them.
Context::~Context() {
    for (const NearView& view : views_) view.view->ranks = 0;
}

Result<weft_near*> Context::allocate_view() {
    if (bytes_for_views_ < sizeof(weft_near)) {
        void* const page = ::mmap(nullptr, head_bytes(), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return mapping_failure("mmap");
        base::wipe_in_children(page, head_bytes());
        next_view_ = static_cast<std::byte*>(page);
        bytes_for_views_ = head_bytes();
    }
    bytes_for_views_ -= sizeof(weft_near);
    return new (std::exchange(next_view_, next_view_ + sizeof(weft_near))) weft_near{};
}

Result<std::uintptr_t> Context::add(HandleEntry contents) {
    // Entries are reused only when many are free, so that their use counts wrap around later.
    constexpr std::size_t kUnusedMin = 64;
    const std::scoped_lock lock(tables_);
    std::size_t index = entries_.load(std::memory_order_relaxed);
    if (unused_.size() > kUnusedMin) {
        index = unused_.front();
        unused_.pop_front();
    } else if (index < (std::size_t{1} << kEntryBits)) {
        auto& chunk = chunks_[index / kChunk];
        if (chunk == nullptr) chunk = std::make_unique<HandleEntry[]>(kChunk);
        // Release: pairs with the acquire of find().
        entries_.store(index + 1, std::memory_order_release);
    } else {
        return fail(Status::memory, "{} teams and requests are in use, which is the maximum",
                    index - 1 - unused_.size());
    }
    HandleEntry& entry = entry_at(index);
    contents.uses = entry.uses;
    entry = std::move(contents);
    return reinterpret_cast<std::uintptr_t>(&head_) + (index << kUseBits) + entry.uses;
}

Result<weft_team*> Context::add_team(run::Team& team, run::Stream* stream) {
    return reinterpret_cast<weft_team*>(
        WEFT_TRY(add({.kind = HandleKind::team, .team = &team, .stream = stream})));
}

Result<weft_request*> Context::add_request() {
    return reinterpret_cast<weft_request*>(WEFT_TRY(add({.kind = HandleKind::request})));
}

run::Team* Context::look_up_team(const weft_team* handle) {
    const HandleEntry* const entry = find(handle, HandleKind::team);
    if (entry == nullptr || runtime_->messages().in_handler()) return nullptr;
    if (threads_) return entry->team;
    last_handle_ = handle;
    last_stream_ = entry->stream;
    return last_team_ = entry->team;
}

void Context::set_external(void (*function)(void* argument), void* argument) {
    external_ = function;
    external_argument_ = argument;
    const auto drive = [](void* self) {
        Context& context = *static_cast<Context*>(self);
        context.external_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        context.external_(context.external_argument_);
        context.external_thread_.store(std::thread::id(), std::memory_order_relaxed);
    };
    runtime_->progress().set_external(function == nullptr ? nullptr : +drive, this);
}

void Context::remove(const void* handle) {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(handle) & (kRange - 1);
    const std::scoped_lock lock(tables_);
    drop(static_cast<std::uint32_t>(offset >> kUseBits));
}

void Context::drop(std::uint32_t index) {
    forget_last();
    HandleEntry& entry = entry_at(index);
    entry = {.uses = (entry.uses + 1) & kUsesMask};
    unused_.push_back(index);
}

void Context::drive_views() {
    const std::scoped_lock lock(tables_);
    for (NearView& view : views_)
        if (__atomic_load_n(&view.view->left, __ATOMIC_RELAXED) == 0)
            __atomic_store_n(&view.view->left, NearView::kDriveEvery, __ATOMIC_RELAXED);
}

void Context::remove_contexts_of(const run::Team& team) {
    const std::scoped_lock lock(tables_);
    for (NearView& view : views_)
        if (view.team == &team) view.view->ranks = 0;
    const auto count = static_cast<std::uint32_t>(entries_.load(std::memory_order_relaxed));
    for (std::uint32_t index = 0; index < count; ++index) {
        const HandleEntry& entry = entry_at(index);
        if (entry.team == &team && entry.stream != nullptr) drop(index);
    }
}

Result<Context*> find(const weft_runtime* runtime, Callers permitted) {
    auto context = find_context(runtime, "runtime", permitted);
    if (context && &Context::head_of(runtime) != static_cast<const void*>(runtime))
        return fail(Status::argument, "the handle is not a runtime");
    return context;
}

Result<TeamHandle> find(const weft_team* team, Callers permitted) {
    const auto context = WEFT_TRY(find_context(team, "team", permitted));
    const HandleEntry* const entry = context->find(team, HandleKind::team);
    if (entry == nullptr) return fail(Status::argument, "the team has been freed");
    return TeamHandle{context, entry->team, entry->stream};
}

Result<RequestHandle> find(const weft_request* request) {
    const auto context = WEFT_TRY(find_context(request, "request"));
    HandleEntry* const entry = context->find(request, HandleKind::request);
    if (entry == nullptr)
        return fail(Status::argument, "the request is complete or has been freed");
    return RequestHandle{context, &entry->request};
}

}  // namespace weft::c_api
