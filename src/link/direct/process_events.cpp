// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/process_events.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace weft::link {
namespace {

struct Addresses {
    std::uint64_t begin;
    std::uint64_t end;
};

struct State {
    std::mutex lock;
    ProcessEvents* first = nullptr;
    /// Has any runtime ever enlisted? Read without the lock: others do not wait in madvise().
    std::atomic<bool> used{false};
    std::array<Addresses, 64> advised{};
    std::size_t advised_count = 0;
};
constinit State state;

}  // namespace

std::mutex& ProcessEvents::lock() noexcept {
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
    state.lock.lock();
    for (ProcessEvents* one = state.first; one != nullptr; one = one->next_) one->before_fork();
}

void ProcessEvents::in_parent() noexcept {
    state.lock.unlock();
}

void ProcessEvents::in_child_of_all() noexcept {
    for (ProcessEvents* one = state.first; one != nullptr; one = one->next_) one->in_child();
    state.lock.unlock();
}

bool tell_all_before_advice(std::uint64_t begin, std::uint64_t end) noexcept {
    if (!state.used.load(std::memory_order_relaxed)) return false;
    const std::scoped_lock guard(state.lock);
    for (ProcessEvents* one = state.first; one != nullptr; one = one->next_)
        one->before_advice(begin, end);
    return true;
}

void note_advised(std::uint64_t begin, std::uint64_t end) noexcept {
    const std::scoped_lock guard(state.lock);
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
