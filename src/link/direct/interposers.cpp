// SPDX-License-Identifier: BSD-3-Clause
// interposers.cpp - replaces madvise() and mremap(), so that they work on remapped memory.
//
// Why      Remapped memory is shared memory: the kernel's MADV_DONTNEED would not clear it. Also,
//          one mapping of the program may have become several, which the kernel's mremap() refuses.
// Idea     The dynamic linker binds a program's calls to the first definition that it finds, and
//          this library precedes the C library. A preloaded library that links to this one has to
//          define both functions and forward the calls (weft/preload.h).
// Holds    Without remapped memory, a call costs one more load. The C library's functions are
//          looked up when this library is loaded: dlsym() may allocate memory, and an allocator may
//          make the first call. Earlier calls are made as system calls. A program's direct system
//          calls are not intercepted.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "link/direct/remapped_calls.hpp"
#include "weft/preload.h"

namespace {

using weft::link::kGuardInstall;
using weft::link::kPageBytes;
using weft::link::RemappedCalls;
using weft::link::RemappedRanges;

using Madvise = int (*)(void*, std::size_t, int);
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
    return {begin, begin + (bytes + kPageBytes - 1) / kPageBytes * kPageBytes};
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
    // The kernel would extend the mapping by the object's next pages, instead of new private ones.
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
    // The calls have no effect if they reach another definition: all sizes are 0.
    if (madvise_of_program != nullptr) madvise_of_program(&probe, 0, MADV_NORMAL);
    if (mremap_of_program != nullptr) mremap_of_program(&probe, 0, 0, 0);
    errno = error;
    return probes_seen.load() >= before + 2;  // ">=": other threads may run this check, too
}

}  // namespace weft::link
