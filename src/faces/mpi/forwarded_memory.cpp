// SPDX-License-Identifier: BSD-3-Clause
// forwarded_memory.cpp - forwards the program's calls of madvise() and mremap() to libweft.so.
//
// Why      libweft.so must receive these calls, but the C library precedes it in the search for
//          symbols. This library is preloaded, so its symbols are found first (weft/preload.h).
#include <sys/mman.h>

#include <cstdarg>

#include "weft/preload.h"

extern "C" {

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
