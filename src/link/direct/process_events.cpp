// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/process_events.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "link/direct/address_query.hpp"
#include "link/direct/object_name.hpp"

namespace weft::link {
namespace {

struct Addresses {
    std::uint64_t begin;
    std::uint64_t end;
};

struct State {
    OwnedLock lock;
    ProcessEvents* first = nullptr;
    /// Has any runtime ever enlisted? Read without the lock: others do not wait in madvise().
    std::atomic<bool> used{false};
    int forks = 0;             ///< of the thread that holds the lock: one within the other
    bool interrupted = false;  ///< they began in a signal handler, in the middle of a change
    std::array<Addresses, 64> advised{};
    std::size_t advised_count = 0;
};
constinit State state;

/// Advises the kernel about all pages of objects that lie in this process. Looks at nothing but the
/// kernel's own list, so it may be called at any moment.
void advise_objects(int advice) noexcept {
    AddressQuery query;
    Mapping mapping;
    for (std::uint64_t at = 0; query.ask(at, mapping, AddressQuery::Names::yes); at = mapping.end)
        if (mapping.shared && names_object(mapping.name))
            ::syscall(SYS_madvise, mapping.begin, mapping.end - mapping.begin, advice);
}

/// The lock, unless the thread holds it: in a handler.
class Hold {
  public:
    Hold() noexcept : taken_(!state.lock.held_here()) {
        if (taken_) state.lock.lock();
    }
    ~Hold() {
        if (taken_) state.lock.unlock();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

  private:
    bool taken_;
};

}  // namespace

OwnedLock& ProcessEvents::lock() noexcept {
    return state.lock;
}

void ProcessEvents::enlist() noexcept {
    static const int kRegistered = ::pthread_atfork(&prepare, &in_parent, &in_child_of_all);
    static_cast<void>(kRegistered);
    const std::scoped_lock guard(state.lock);
    next_ = state.first;
    state.first = this;
    state.used.store(true, std::memory_order_relaxed);
}

void ProcessEvents::delist() noexcept {
    ProcessEvents** link = &state.first;
    while (*link != this) link = &(*link)->next_;
    *link = next_;
}

void ProcessEvents::prepare() noexcept {
    if (state.lock.held_here()) {
        // A handler of a fork forks: all is done already. A signal handler does, while its thread
        // changes what is adopted: the child gets none of it.
        if (state.forks++ > 0) return;
        state.interrupted = true;
        return advise_objects(MADV_DONTFORK);
    }
    state.lock.lock();
    state.forks = 1;
    for (ProcessEvents* one = state.first; one != nullptr; one = one->next_) one->before_fork();
}

void ProcessEvents::in_parent() noexcept {
    if (--state.forks > 0) return;
    if (!state.interrupted) return state.lock.unlock();
    state.interrupted = false;
    advise_objects(MADV_DOFORK);
}

void ProcessEvents::in_child_of_all() noexcept {
    for (ProcessEvents* one = state.first; one != nullptr; one = one->next_) one->in_child();
    if (--state.forks > 0) return;
    if (!state.interrupted) state.lock.unlock();
    state.interrupted = false;
}

Told tell_all_before_advice(std::uint64_t begin, std::uint64_t end) noexcept {
    if (!state.used.load(std::memory_order_relaxed)) return Told::none;
    const bool in_the_middle = state.lock.held_here() && (state.forks == 0 || state.interrupted);
    if (in_the_middle) return Told::in_the_middle;
    const Hold hold;
    for (ProcessEvents* one = state.first; one != nullptr; one = one->next_)
        one->before_advice(begin, end);
    return Told::all;
}

void note_advised(std::uint64_t begin, std::uint64_t end) noexcept {
    const Hold hold;
    // More than there is room for: the last one grows to all addresses.
    if (state.advised_count == state.advised.size())
        state.advised.back() = {0, ~std::uint64_t{0}};
    else
        state.advised[state.advised_count++] = {begin, end};
}

bool may_be_advised(std::uint64_t begin, std::uint64_t end) noexcept {
    return std::any_of(state.advised.begin(), state.advised.begin() + state.advised_count,
                       [&](const Addresses& one) { return one.begin < end && begin < one.end; });
}

}  // namespace weft::link
