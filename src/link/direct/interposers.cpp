// SPDX-License-Identifier: BSD-3-Clause
// interposers.cpp - definitions of madvise() and mremap() that also work on remapped memory.
//
// Why      Remapped memory is shared memory: the kernel's MADV_DONTNEED would not clear it. Also,
//          remapping divides a mapping of the program into several, and the kernel's mremap()
//          refuses ranges of several mappings.
// Idea     The dynamic linker binds a program's calls to the first definition that it finds, and
//          this library precedes the C library. A preloaded library that links to this one has to
//          define both functions and forward the calls (weft/preload.h).
// Holds    Without remapped memory, a call costs one additional load. The C library's functions are
//          looked up when this library is loaded, not at the first call: dlsym() may allocate
//          memory, and the first call may come from an allocator. Calls before the look-up become
//          system calls. System calls that the program makes directly are not intercepted.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "base/extent.hpp"
#include "link/direct/remapped_ranges.hpp"
#include "weft/preload.h"

namespace weft::link {

inline constexpr int kGuardInstall = 102;  ///< MADV_GUARD_INSTALL, since Linux 6.13

/// madvise() and mremap() of memory that is partly remapped. The memory may have several mappings,
/// which are handled one by one. Remapped pages are freed in their object, replaced by zeros, or
/// moved. The kernel handles other pages.
class RemappedCalls {
  public:
    using Pages = RemappedRange::Pages;
    using Madvise = int (*)(void*, std::size_t, int);

    explicit RemappedCalls(RemappedRanges& ranges) noexcept : ranges_(ranges) {}

    /// Returns true if a page is remapped, or was remapped before a fork made it private.
    [[nodiscard]] bool has_remapped(Pages pages) noexcept {
        Mapping mapping;
        for (std::uint64_t at = pages.begin;
             at < pages.end && find_mapping(at, mapping) && mapping.begin < pages.end;
             at = mapping.end)
            if (names_object(mapping.name)) return true;
        return false;
    }

    /// Performs madvise() for advice that clears pages or installs guards in pages, some of which
    /// may be remapped. `next` is the madvise() that would have been called without this library.
    [[nodiscard]] int clear(Pages pages, int advice, Madvise next) noexcept {
        auto* const start = reinterpret_cast<void*>(pages.begin);
        if (!has_remapped(pages)) return next(start, pages.bytes(), advice);
        if (advice == MADV_REMOVE) {
            errno = EINVAL;  // as the kernel does for private memory
            return -1;
        }
        // The kernel refuses guards before Linux 6.13. A call for 0 bytes detects such a kernel.
        if (advice == kGuardInstall && next(start, 0, advice) != 0) return -1;
        int error = 0;
        Mapping mapping;
        std::uint64_t at = pages.begin;
        while (at < pages.end && find_mapping(at, mapping) && mapping.begin < pages.end) {
            if (mapping.begin > at) error = ENOMEM;
            const Pages part{std::max(at, mapping.begin), std::min(pages.end, mapping.end)};
            at = part.end;
            if (clear_part(mapping, part, advice, next) != 0 && error == 0) error = errno;
        }
        if (at < pages.end && error == 0) error = ENOMEM;
        if (error == 0) return 0;
        errno = error;
        return -1;
    }

    /// Performs mremap() for memory that is partly remapped: moves its mappings one by one, and
    /// adds private pages if the size grows. Sets errno as for a single private mapping.
    [[nodiscard]] void* move(Pages from, std::uint64_t bytes, int flags, void* fixed) noexcept {
        const RemappedRanges::Lock lock(ranges_);
        const auto refuse = [](int error) {
            errno = error;
            return MAP_FAILED;
        };
        bool remapped = false;
        Mapping mapping;
        const Pages kept{from.begin, std::min(from.end, from.begin + bytes)};
        for (std::uint64_t at = kept.begin; at < kept.end; at = mapping.end) {
            if (!ranges_.query_.find(at, mapping, AddressQuery::Names::yes) || mapping.begin > at)
                return refuse(EFAULT);
            const bool object = names_object(mapping.name);
            if (!object && (mapping.shared || mapping.inode != 0)) return refuse(EFAULT);
            remapped = remapped || object;
        }
        if (!remapped) return refuse(EFAULT);
        // New pages are private, because the object's next pages may be mapped at another address.
        const std::uint64_t added = bytes - kept.bytes();
        const auto map = [&](void* at, std::uint64_t size, int how) {
            return ::mmap(at, size, mapping.protection(), MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);
        };
        const bool is_fixed = (flags & MREMAP_FIXED) != 0;
        auto* const end = reinterpret_cast<void*>(kept.end);
        if (!is_fixed && (added == 0 || map(end, added, MAP_FIXED_NOREPLACE) == end)) {
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
        const auto move_all = [&](Pages pages, std::uint64_t by) {
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

  private:
    [[nodiscard]] bool find_mapping(std::uint64_t address, Mapping& mapping) noexcept {
        const RemappedRanges::Lock lock(ranges_);
        return ranges_.query_.find(address, mapping, AddressQuery::Names::yes);
    }

    [[nodiscard]] int clear_part(const Mapping& mapping, Pages part, int advice,
                                 Madvise next) noexcept {
        auto* const at = reinterpret_cast<void*>(part.begin);
        if (!names_object(mapping.name)) return next(at, part.bytes(), advice);
        if (mapping.shared && advice != kGuardInstall) {
            // This call lets the kernel refuse locked pages. The kernel also refuses MADV_FREE of
            // shared memory, so MADV_DONTNEED replaces it, which frees the pages at once.
            if (next(at, part.bytes(), advice == MADV_FREE ? MADV_DONTNEED : advice) != 0)
                return -1;
            const RemappedRanges::Lock lock(ranges_);
            RemappedRange* const range = ranges_.owner(mapping);
            // During a fork the object's pages must stay, because the child may be copying them.
            if (range != nullptr && ranges_.forks_ == 0 &&
                range->punch(mapping.offset + (part.begin - mapping.begin), part.bytes()))
                return 0;
        }
        // In memory that a fork made private, MADV_DONTNEED would show the object's old pages
        // again. Guards need private memory, so that a child inherits them.
        void* const zeros = ::mmap(at, part.bytes(), mapping.protection(),
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (zeros == MAP_FAILED) return next(at, part.bytes(), MADV_DONTNEED);
        return advice == kGuardInstall ? next(at, part.bytes(), advice) : 0;
    }

    RemappedRanges& ranges_;
};

}  // namespace weft::link

namespace {

using weft::link::kGuardInstall;
using weft::link::kPageBytes;
using weft::link::RemappedCalls;
using weft::link::RemappedRanges;

using Madvise = RemappedCalls::Madvise;
using Mremap = void* (*)(void*, std::size_t, std::size_t, int, ...);

int system_madvise(void* address, std::size_t bytes, int advice) {
    return static_cast<int>(::syscall(SYS_madvise, address, bytes, advice));
}

constinit Madvise next_madvise = &system_madvise;
constinit Mremap next_mremap = nullptr;

/// interposers_are_reached() calls both functions with this address.
char probe = 0;
constinit std::atomic<int> probes_seen{0};

[[gnu::constructor]] void look_up_next_functions() noexcept {
    if (void* const found = ::dlsym(RTLD_NEXT, "madvise"))
        next_madvise = reinterpret_cast<Madvise>(found);
    next_mremap = reinterpret_cast<Mremap>(::dlsym(RTLD_NEXT, "mremap"));
}

/// Returns true for advice that discards the contents of private memory, or that some kernels
/// refuse for shared memory. Other advice needs no special treatment.
bool acts_on_contents(int advice) noexcept {
    switch (advice) {
        case MADV_DONTNEED:
        case MADV_DONTNEED_LOCKED:
        case MADV_FREE:
        case MADV_REMOVE:
        case kGuardInstall:
            return true;
        default:
            return false;
    }
}

/// Returns the pages from `address`, which must be the start of a page.
RemappedRanges::Pages pages_of(void* address, std::size_t bytes) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    return {begin, begin + weft::base::round_up(bytes, kPageBytes)};
}

bool is_page_start(void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) % kPageBytes == 0;
}

void* call_next_mremap(void* address, std::size_t old_bytes, std::size_t new_bytes, int flags,
                       void* fixed) noexcept {
    if (next_mremap != nullptr) return next_mremap(address, old_bytes, new_bytes, flags, fixed);
    return reinterpret_cast<void*>(
        ::syscall(SYS_mremap, address, old_bytes, new_bytes, flags, fixed));
}

}  // namespace

extern "C" {

int weft_forward_madvise(void* address, std::size_t bytes, int advice) {
    if (address == &probe) return ++probes_seen;
    RemappedRanges* const ranges = acts_on_contents(advice) && is_page_start(address)
                                       ? RemappedRanges::of_process_if_used()
                                       : nullptr;
    return ranges == nullptr
               ? next_madvise(address, bytes, advice)
               : RemappedCalls(*ranges).clear(pages_of(address, bytes), advice, next_madvise);
}

void* weft_forward_mremap(void* address, std::size_t old_bytes, std::size_t new_bytes, int flags,
                          void* fixed) {
    if (address == &probe) {
        ++probes_seen;
        return nullptr;
    }
    RemappedRanges* const ranges = RemappedRanges::of_process_if_used();
    const auto from = pages_of(address, old_bytes);
    const std::uint64_t bytes = pages_of(nullptr, new_bytes).bytes();
    if (ranges == nullptr || !is_page_start(address) ||
        (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)) != 0)
        return call_next_mremap(address, old_bytes, new_bytes, flags, fixed);
    RemappedCalls calls(*ranges);
    if (old_bytes == 0 && calls.has_remapped(pages_of(address, 1))) {
        errno = EINVAL;  // as the kernel does for private memory
        return MAP_FAILED;
    }
    // The kernel would extend the mapping by the object's next pages instead of new private pages.
    if (bytes > from.bytes() && calls.has_remapped({from.end - kPageBytes, from.end}))
        return calls.move(from, bytes, flags, fixed);
    void* const result = call_next_mremap(address, old_bytes, new_bytes, flags, fixed);
    const bool several_mappings = result == MAP_FAILED && errno == EFAULT;
    return several_mappings ? calls.move(from, bytes, flags, fixed) : result;
}

[[gnu::visibility("default")]] int madvise(void* address, std::size_t bytes, int advice) noexcept {
    return weft_forward_madvise(address, bytes, advice);
}

[[gnu::visibility("default")]] void* mremap(void* address, std::size_t old_bytes,
                                            std::size_t new_bytes, int flags, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, flags);
    void* const fixed = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
    va_end(arguments);
    return weft_forward_mremap(address, old_bytes, new_bytes, flags, fixed);
}

}  // extern "C"

namespace weft::link {

bool interposers_are_reached() noexcept {
    const int error = errno;
    const int before = probes_seen.load();
    const auto madvise_of_program = reinterpret_cast<Madvise>(::dlsym(RTLD_DEFAULT, "madvise"));
    const auto mremap_of_program = reinterpret_cast<Mremap>(::dlsym(RTLD_DEFAULT, "mremap"));
    // All sizes are 0, so the calls have no effect if they reach another definition.
    if (madvise_of_program != nullptr) madvise_of_program(&probe, 0, MADV_NORMAL);
    if (mremap_of_program != nullptr) mremap_of_program(&probe, 0, 0, 0);
    errno = error;
    return probes_seen.load() >= before + 2;  // ">=": other threads may run this check, too
}

}  // namespace weft::link
