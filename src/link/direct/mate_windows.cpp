// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/mate_windows.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/random.hpp"
#include "link/direct/object_name.hpp"
#include "link/shared/os_handles.hpp"

namespace weft::link {
namespace {

/// Is this open file the described object, such that all of it can be touched?
bool is_object(int file, const base::Reach& reach) noexcept {
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    struct stat status;
    const int seals = ::fcntl(file, F_GET_SEALS);
    return leads_to(link, reach.generation) && ::fstat(file, &status) == 0 &&
           status.st_uid == ::geteuid() &&
           static_cast<std::uint64_t>(status.st_size) == reach.object_bytes && seals >= 0 &&
           (seals & F_SEAL_SHRINK) != 0;
}

/// Maps the object of a mate; nullptr if that is not possible.
std::byte* map_object(pid_t pid, const base::Reach& reach) noexcept {
    char link[64];
    std::snprintf(link, sizeof link, "/proc/%d/fd/%u", static_cast<int>(pid),
                  static_cast<unsigned>(reach.object));
    // Looked at before it is opened: opening a foreign device or pipe could have effects.
    if (!leads_to(link, reach.generation)) return nullptr;
    const Descriptor file(::open(link, O_RDWR | O_CLOEXEC));
    if (!file.open() || !is_object(file.number(), reach)) return nullptr;
    // Faults one by one would take five times as long.
    void* const start = ::mmap(nullptr, reach.object_bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_POPULATE, file.number(), 0);
    if (start == MAP_FAILED) return nullptr;
    // The owner's core dump has these pages. Past the function of that name (interposers.cpp).
    ::syscall(SYS_madvise, start, reach.object_bytes, MADV_DONTDUMP);
    return static_cast<std::byte*>(start);
}

void unmap(std::byte*& start, std::uint64_t bytes) noexcept {
    if (start != nullptr) ::munmap(start, bytes);
    start = nullptr;
}

}  // namespace

MateWindows::MateWindows() : windows_(kKept) {
    chains_.fill(-1);
}

MateWindows::~MateWindows() {
    for (Window& window : windows_) unmap(window.start, window.bytes);
}

std::size_t MateWindows::chain_of(Rank mate, std::uint32_t object) noexcept {
    return base::mix((static_cast<std::uint64_t>(mate) << 32) | object) % kChains;
}

int MateWindows::take_window() noexcept {
    if (used_ < kKept) return used_++;
    const auto oldest =
        std::min_element(windows_.begin(), windows_.end(),
                         [](const Window& a, const Window& b) { return a.last_use < b.last_use; });
    const int index = static_cast<int>(oldest - windows_.begin());
    unmap(oldest->start, oldest->bytes);
    int* link = &chains_[chain_of(oldest->mate, oldest->object)];
    while (*link != index) link = &windows_[static_cast<std::size_t>(*link)].next;
    *link = oldest->next;
    return index;
}

std::byte* MateWindows::find(Rank mate, pid_t pid, const base::Reach& reach) noexcept {
    int& first = chains_[chain_of(mate, reach.object)];
    int index = first;
    while (index >= 0) {
        const Window& window = windows_[static_cast<std::size_t>(index)];
        if (window.mate == mate && window.object == reach.object) break;
        index = window.next;
    }
    const bool is_new = index < 0;
    if (is_new) index = take_window();
    Window& window = windows_[static_cast<std::size_t>(index)];
    window.last_use = ++uses_;
    if (!is_new && window.generation == reach.generation) return window.start;

    if (is_new) {
        // Taking it may have changed the chain, so `first` is read only now.
        window = {.mate = mate, .object = reach.object, .last_use = uses_, .next = first};
        first = index;
    }
    unmap(window.start, window.bytes);
    window.generation = reach.generation;
    window.bytes = reach.object_bytes;
    window.start = map_object(pid, reach);
    ++(window.start != nullptr ? counters_.mapped : counters_.refused);
    return window.start;
}

}  // namespace weft::link
