// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/remapped_calls.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "link/direct/remapped_object.hpp"

namespace weft::link {

bool RemappedCalls::find_mapping(std::uint64_t address, Mapping& mapping) noexcept {
    const RemappedRanges::Change change(ranges_);
    return ranges_.query_.find(address, mapping, AddressQuery::Names::yes);
}

bool RemappedCalls::has_remapped(RemappedRange::Pages pages) noexcept {
    Mapping mapping;
    for (std::uint64_t at = pages.begin;
         at < pages.end && find_mapping(at, mapping) && mapping.begin < pages.end; at = mapping.end)
        if (names_object(mapping.name)) return true;
    return false;
}

int RemappedCalls::clear_part(const Mapping& mapping, RemappedRange::Pages part, int advice,
                              Madvise next) noexcept {
    auto* const at = reinterpret_cast<void*>(part.begin);
    if (!names_object(mapping.name)) return next(at, part.bytes(), advice);
    if (mapping.shared && advice != kGuardInstall) {
        // This call checks the pages: the kernel refuses locked ones. It refuses MADV_FREE of
        // shared memory; MADV_DONTNEED, which frees without delay, satisfies MADV_FREE, too.
        if (next(at, part.bytes(), advice == MADV_FREE ? MADV_DONTNEED : advice) != 0) return -1;
        const RemappedRanges::Change change(ranges_);
        RemappedRange* const range = ranges_.owner(mapping);
        // During a fork the object's pages must stay, because the child may be copying them.
        if (range != nullptr && ranges_.forks_ == 0 &&
            range->punch(mapping.offset + (part.begin - mapping.begin), part.bytes()))
            return 0;
    }
    // In memory that a fork made private, the advice would show the object's old pages again.
    // Guards need private memory, so that a child inherits them.
    void* const zeros = ::mmap(at, part.bytes(), mapping.protection(),
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) return next(at, part.bytes(), MADV_DONTNEED);
    return advice == kGuardInstall ? next(at, part.bytes(), advice) : 0;
}

int RemappedCalls::clear(RemappedRange::Pages pages, int advice, Madvise next) noexcept {
    auto* const start = reinterpret_cast<void*>(pages.begin);
    if (!has_remapped(pages)) return next(start, pages.bytes(), advice);
    if (advice == MADV_REMOVE) {
        errno = EINVAL;  // as the kernel does for private memory
        return -1;
    }
    // Before Linux 6.13 the kernel refuses guards. A call for 0 bytes detects that.
    if (advice == kGuardInstall && next(start, 0, advice) != 0) return -1;
    int error = 0;
    Mapping mapping;
    std::uint64_t at = pages.begin;
    while (at < pages.end && find_mapping(at, mapping) && mapping.begin < pages.end) {
        if (mapping.begin > at) error = ENOMEM;
        const RemappedRange::Pages part{std::max(at, mapping.begin),
                                        std::min(pages.end, mapping.end)};
        at = part.end;
        if (clear_part(mapping, part, advice, next) != 0 && error == 0) error = errno;
    }
    if (at < pages.end && error == 0) error = ENOMEM;
    if (error == 0) return 0;
    errno = error;
    return -1;
}

void* RemappedCalls::move(RemappedRange::Pages from, std::uint64_t bytes, int flags,
                          void* fixed) noexcept {
    const RemappedRanges::Change change(ranges_);
    const auto refuse = [](int error) {
        errno = error;
        return MAP_FAILED;
    };
    bool remapped = false;
    Mapping mapping;
    const RemappedRange::Pages kept{from.begin, std::min(from.end, from.begin + bytes)};
    for (std::uint64_t at = kept.begin; at < kept.end; at = mapping.end) {
        if (!ranges_.query_.find(at, mapping, AddressQuery::Names::yes) || mapping.begin > at)
            return refuse(EFAULT);
        const bool object = names_object(mapping.name);
        if (!object && (mapping.shared || mapping.inode != 0)) return refuse(EFAULT);
        remapped = remapped || object;
    }
    if (!remapped) return refuse(EFAULT);
    // New pages are private, because the object's next pages may be mapped at another address.
    const std::uint64_t more = bytes - kept.bytes();
    const auto map = [&](void* at, std::uint64_t size, int how) {
        return ::mmap(at, size, mapping.protection(), MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);
    };
    const bool is_fixed = (flags & MREMAP_FIXED) != 0;
    auto* const end = reinterpret_cast<void*>(kept.end);
    if (!is_fixed && (more == 0 || map(end, more, MAP_FIXED_NOREPLACE) == end)) {
        if (from.end > kept.end) ::munmap(end, from.end - kept.end);
        return reinterpret_cast<void*>(from.begin);
    }
    if ((flags & MREMAP_MAYMOVE) == 0) return refuse(ENOMEM);
    const auto begin = reinterpret_cast<std::uintptr_t>(fixed);
    if (is_fixed && (begin % kPageBytes != 0 || from.overlaps({begin, begin + bytes})))
        return refuse(EINVAL);
    void* const to = map(fixed, bytes, is_fixed ? MAP_FIXED : 0);
    if (to == MAP_FAILED) return MAP_FAILED;
    const std::uint64_t distance = reinterpret_cast<std::uintptr_t>(to) - from.begin;
    /// Moves all mappings within `pages` by `by` bytes. Returns the end of the last one moved.
    const auto move_all = [&](RemappedRange::Pages pages, std::uint64_t by) {
        constexpr int kHow = MREMAP_MAYMOVE | MREMAP_FIXED;
        std::uint64_t at = pages.begin;
        while (at < pages.end && ranges_.query_.find(at, mapping)) {
            const std::uint64_t size = std::min(pages.end, mapping.end) - at;
            if (::syscall(SYS_mremap, at, size, size, kHow, at + by) == -1) break;
            at += size;
        }
        return at;
    };
    if (const std::uint64_t moved = move_all(kept, distance); moved < kept.end) {
        // The process has too many mappings: return earlier mappings to their old addresses.
        static_cast<void>(move_all({from.begin + distance, moved + distance}, 0 - distance));
        ::munmap(to, bytes);
        return refuse(ENOMEM);
    }
    if (from.end > kept.end) ::munmap(end, from.end - kept.end);
    return to;
}

}  // namespace weft::link
