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
#include "link/direct/address_query.hpp"
#include "link/direct/map_aligned.hpp"
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

/// Maps the object of a mate; empty if that is not possible.
AddressRange map_object(pid_t pid, const base::Reach& reach) noexcept {
    char link[64];
    std::snprintf(link, sizeof link, "/proc/%d/fd/%u", static_cast<int>(pid),
                  static_cast<unsigned>(reach.object));
    // Looked at before it is opened: opening a foreign device or pipe could have effects.
    if (!leads_to(link, reach.generation)) return {};
    const Descriptor file(::open(link, O_RDWR | O_CLOEXEC));
    if (!file.open() || !is_object(file.number(), reach)) return {};
    AddressRange window = map_aligned(file.number(), reach.object_bytes);
    if (window.start() == nullptr) return {};
    // Faults one by one would take five times as long; read faults map shared pages writable, and
    // more at once. An object may begin with a hole, which stays one.
    const off_t hole = std::max<off_t>(::lseek(file.number(), 0, SEEK_DATA), 0);
    ::syscall(SYS_madvise, window.start() + hole, reach.object_bytes - hole, MADV_POPULATE_READ);
    // The owner's core dump has these pages. Past the function of that name (interposers.cpp).
    ::syscall(SYS_madvise, window.start(), reach.object_bytes, MADV_DONTDUMP);
    return window;
}

}  // namespace

MateWindows::MateWindows(const AdoptionPrices& prices) : prices_(prices), windows_(kKept) {
    chains_.fill(-1);
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
    int* link = &chains_[chain_of(oldest->mate, oldest->object)];
    while (*link != index) link = &windows_[static_cast<std::size_t>(*link)].next;
    *link = oldest->next;
    return index;
}

/// Has the kernel copied as much as it costs to map the object, and the one that makes room for it
/// again? Until then what is mapped stays.
bool MateWindows::is_due(const base::Reach& reach) noexcept {
    debt_ns_ += prices_.of_copies({1, reach.object_bytes});
    if (debt_ns_ < 2 * prices_.of_window(reach.object_bytes / kPageBytes)) {
        ++counters_.passed_over;
        return false;
    }
    debt_ns_ = 0;
    return true;
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
    if (is_new && used_ == kKept && !is_due(reach)) return nullptr;
    if (is_new) index = take_window();
    Window& window = windows_[static_cast<std::size_t>(index)];
    window.last_use = ++uses_;
    if (!is_new && window.generation == reach.generation)
        return window.range.bytes() == reach.object_bytes ? window.range.start() : nullptr;

    if (is_new) {
        // Taking it may have changed the chain, so `first` is read only now.
        window.mate = mate;
        window.object = reach.object;
        window.next = first;
        first = index;
    }
    window.generation = reach.generation;
    window.range = AddressRange();
    window.range = map_object(pid, reach);
    ++(window.range.start() != nullptr ? counters_.mapped : counters_.refused);
    return window.range.start();
}

}  // namespace weft::link
