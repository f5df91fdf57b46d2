// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/peer_windows.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/extent.hpp"
#include "base/file_descriptor.hpp"
#include "link/direct/address_query.hpp"
#include "link/direct/remapped_range.hpp"

namespace weft::link {
namespace {

/// Returns true if the file is the object of `reach`. It cannot shrink, so accesses cannot fault.
bool is_object(int file, const base::Reach& reach) noexcept {
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    struct stat status;
    const int seals = ::fcntl(file, F_GET_SEALS);
    return links_to_object(link, reach.generation) && ::fstat(file, &status) == 0 &&
           status.st_uid == ::geteuid() &&
           static_cast<std::uint64_t>(status.st_size) == reach.object_bytes && seals >= 0 &&
           (seals & F_SEAL_SHRINK) != 0;
}

/// Maps a local peer's object. Returns an empty range if that is not possible.
AddressRange map_window(pid_t pid, const base::Reach& reach) noexcept {
    char link[64];
    std::snprintf(link, sizeof link, "/proc/%d/fd/%u", static_cast<int>(pid),
                  static_cast<unsigned>(reach.object));
    // The name is checked before open(), because opening a device or a pipe could have effects.
    if (!links_to_object(link, reach.generation) || reach.object_bytes % kPageBytes != 0 ||
        reach.object_bytes < 2 * kPageBytes)
        return {};
    const base::FileDescriptor file(::open(link, O_RDWR | O_CLOEXEC));
    if (!file.open() || !is_object(file.number(), reach)) return {};
    return map_object(file.number(), reach.object_bytes);
}

/// Populates pages, which is faster than single faults. MADV_POPULATE_READ suffices for writes: a
/// read fault on a shared mapping maps several pages at once, and maps them writable.
void populate(const AddressRange& window, std::uint64_t begin, std::uint64_t end) noexcept {
    if (begin < end)
        ::syscall(SYS_madvise, window.start() + begin, end - begin, MADV_POPULATE_READ);
}

}  // namespace

/// Adds the cost of a copy by the kernel to the debt. Returns true if an eviction is due: the debt
/// has reached the cost of mapping the new object now and the evicted object again later.
bool PeerWindows::add_copy(std::uint64_t bytes) noexcept {
    debt_ns_ += prices_.cost_of_copies({1, bytes});
    if (debt_ns_ < 2 * prices_.cost_of_window(bytes / kPageBytes)) {
        ++counters_.passed_over;
        return false;
    }
    debt_ns_ = 0;
    return true;
}

/// Also populates the pages between this block and earlier ones. So the populated pages are one
/// range, and each page is populated at most once.
std::byte* PeerWindows::populate_block(Window& window, const base::Reach& reach,
                                       std::uint64_t bytes) noexcept {
    if (reach.offset >= window.begin && reach.offset + bytes <= window.end)
        return window.range.start();
    const std::uint64_t begin = reach.offset / kPageBytes * kPageBytes;
    const std::uint64_t end =
        std::min(base::round_up(reach.offset + bytes, kPageBytes), reach.object_bytes);
    if (window.begin == window.end) window.begin = window.end = begin;
    populate(window.range, begin, window.begin);
    populate(window.range, window.end, end);
    window.begin = std::min(window.begin, begin);
    window.end = std::max(window.end, end);
    return window.range.start();
}

std::byte* PeerWindows::find(Rank peer, pid_t pid, const base::Reach& reach,
                             std::uint64_t bytes) noexcept {
    const std::uint64_t key = (static_cast<std::uint64_t>(peer) << 32) | reach.object;
    auto index = static_cast<std::size_t>(std::find(keys_.begin(), keys_.begin() + used_, key) -
                                          keys_.begin());
    const bool is_new = index == used_;
    if (is_new && used_ == windows_.size()) {
        if (!add_copy(bytes)) return nullptr;
        const auto oldest = std::ranges::min_element(windows_, {}, &Window::last_use);
        index = static_cast<std::size_t>(oldest - windows_.begin());
    } else if (is_new) {
        ++used_;
    }
    keys_[index] = key;
    Window& window = windows_[index];
    window.last_use = ++uses_;
    if (is_new || window.generation != reach.generation) {
        window.range = AddressRange();
        window.range = map_window(pid, reach);
        window.generation = reach.generation;
        window.begin = window.end = 0;
        ++(window.range.start() != nullptr ? counters_.mapped : counters_.refused);
    }
    return window.range.bytes() == reach.object_bytes ? populate_block(window, reach, bytes)
                                                      : nullptr;
}

}  // namespace weft::link
