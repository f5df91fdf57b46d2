// SPDX-License-Identifier: BSD-3-Clause
#include "base/fork_guard.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>

namespace weft::base {

std::atomic<const std::atomic<std::uint32_t>*> detail::fork_word{nullptr};

namespace {

std::atomic<Rank> guarded_rank{-1};

/// Memory that the kernel does not clear in a child; wipe_ranges() clears it there. Ranges are only
/// added, so wipe_ranges() needs no lock to read the list.
struct WipedRange {
    void* pages = nullptr;
    std::size_t bytes = 0;
    WipedRange* next = nullptr;
};
std::atomic<WipedRange*> wiped_ranges{nullptr};

void wipe_ranges() {
    for (const WipedRange* range = wiped_ranges.load(std::memory_order_relaxed); range != nullptr;
         range = range->next)
        std::memset(range->pages, 0, range->bytes);
}

}  // namespace

void wipe_in_children(void* pages, std::size_t bytes) {
    if (::madvise(pages, bytes, MADV_WIPEONFORK) == 0) return;
    // If the registration fails for lack of memory, forked children are not detected.
    static const int registered = ::pthread_atfork(nullptr, nullptr, wipe_ranges);
    static_cast<void>(registered);
    auto* const range = new WipedRange{pages, bytes, wiped_ranges.load(std::memory_order_relaxed)};
    while (!wiped_ranges.compare_exchange_weak(range->next, range, std::memory_order_relaxed)) {
    }
}

Result<void> guard_against_forks() {
    static std::mutex guarding;
    if (is_forked_child()) return fork_failure();
    const std::scoped_lock lock(guarding);
    if (detail::fork_word.load(std::memory_order_relaxed) != nullptr) return {};
    const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const page =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return fail(Status::memory, "cannot map the page by which a forked child is detected: {}",
                    std::strerror(errno));
    wipe_in_children(page, bytes);
    detail::fork_word.store(new (page) std::atomic<std::uint32_t>(1), std::memory_order_relaxed);
    return {};
}

void set_guarded_rank(Rank rank) {
    guarded_rank.store(rank, std::memory_order_relaxed);
}

Failure fork_failure() {
    return fail(Status::environment,
                "this process is a fork of rank {}; a forked child cannot use the library before "
                "it executes a new program",
                guarded_rank.load(std::memory_order_relaxed));
}

}  // namespace weft::base
