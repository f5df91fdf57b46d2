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
#include "link/direct/map_object.hpp"
#include "link/direct/object_name.hpp"
#include "link/shared/os_handles.hpp"

namespace weft::link {
namespace {

/// Returns true if this open file is the described object, all of which can be touched.
bool is_object(int file, const base::Reach& reach) noexcept {
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    struct stat status;
    const int seals = ::fcntl(file, F_GET_SEALS);
    return leads_to(link, reach.generation) && ::fstat(file, &status) == 0 &&
           status.st_uid == ::geteuid() &&
           static_cast<std::uint64_t>(status.st_size) == kObjectBytes && seals >= 0 &&
           (seals & F_SEAL_SHRINK) != 0;
}

/// Maps the window of a local peer's object; empty if that is not possible.
AddressRange map_window(pid_t pid, const base::Reach& reach) noexcept {
    char link[64];
    std::snprintf(link, sizeof link, "/proc/%d/fd/%u", static_cast<int>(pid),
                  static_cast<unsigned>(reach.object));
    // Looked at before it is opened: opening a foreign device or pipe could have effects.
    if (!leads_to(link, reach.generation) || reach.object_bytes % kPageBytes != 0 ||
        reach.object_bytes < 2 * kPageBytes || reach.object_bytes > kObjectBytes / 2)
        return {};
    const Descriptor file(::open(link, O_RDWR | O_CLOEXEC));
    if (!file.open() || !is_object(file.number(), reach)) return {};
    return map_object(file.number(), reach.object_bytes);
}

/// Faults one by one would take five times as long; read faults map shared pages writable, and more
/// at once.
void populate(const AddressRange& window, std::uint64_t begin, std::uint64_t end) noexcept {
    if (begin < end)
        ::syscall(SYS_madvise, window.start() + begin, end - begin, MADV_POPULATE_READ);
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

/// Has the kernel copied as much as it costs to map such a block, and the one that makes room for
/// it again? Until then what is mapped stays.
bool MateWindows::is_due(std::uint64_t bytes) noexcept {
    debt_ns_ += prices_.of_copies({1, bytes});
    if (debt_ns_ < 2 * prices_.of_window(bytes / kPageBytes)) {
        ++counters_.passed_over;
        return false;
    }
    debt_ns_ = 0;
    return true;
}

/// What lies between two blocks comes along: the whole object is asked for once at most.
std::byte* MateWindows::show(Window& window, const base::Reach& reach,
                             std::uint64_t bytes) noexcept {
    if (reach.offset >= window.begin && reach.offset + bytes <= window.end)
        return window.range.start();
    const std::uint64_t begin = reach.offset / kPageBytes * kPageBytes;
    const std::uint64_t end = std::min(
        (reach.offset + bytes + kPageBytes - 1) / kPageBytes * kPageBytes, reach.object_bytes);
    if (window.begin == window.end) window.begin = window.end = begin;
    populate(window.range, begin, window.begin);
    populate(window.range, window.end, end);
    window.begin = std::min(window.begin, begin);
    window.end = std::max(window.end, end);
    return window.range.start();
}

std::byte* MateWindows::find(Rank mate, pid_t pid, const base::Reach& reach,
                             std::uint64_t bytes) noexcept {
    int& first = chains_[chain_of(mate, reach.object)];
    int index = first;
    while (index >= 0) {
        const Window& window = windows_[static_cast<std::size_t>(index)];
        if (window.mate == mate && window.object == reach.object) break;
        index = window.next;
    }
    const bool is_new = index < 0;
    if (is_new && used_ == kKept && !is_due(bytes)) return nullptr;
    if (is_new) index = take_window();
    Window& window = windows_[static_cast<std::size_t>(index)];
    window.last_use = ++uses_;
    if (!is_new && window.generation == reach.generation)
        return window.range.bytes() == reach.object_bytes ? show(window, reach, bytes) : nullptr;

    if (is_new) {
        // Taking it may have changed the chain, so `first` is read only now.
        window.mate = mate;
        window.object = reach.object;
        window.next = first;
        first = index;
    }
    window.generation = reach.generation;
    window.range = AddressRange();
    window.range = map_window(pid, reach);
    window.begin = window.end = 0;
    const bool mapped = window.range.start() != nullptr;
    ++(mapped ? counters_.mapped : counters_.refused);
    return mapped ? show(window, reach, bytes) : nullptr;
}

}  // namespace weft::link
