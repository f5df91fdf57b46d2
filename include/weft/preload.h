// SPDX-License-Identifier: BSD-3-Clause
// preload.h - functions for a library that uses libweft.so and is loaded by LD_PRELOAD.
//
// Why      weft may replace the pages of a program's buffers by pages that local peers can map
//          (docs/direct-memory.md). Then libweft.so must see the program's calls of madvise() and
//          mremap(). It does if the program is linked with it. If a preloaded library loads
//          libweft.so, the dynamic linker finds these functions in the C library first. So the
//          preloaded library must define both, and forward the calls by the functions below.
// Holds    Any thread may call these functions at any time; they set errno as the C library does.
//          Without forwarding, weft replaces no pages, and the kernel copies all buffers.
#ifndef WEFT_PRELOAD_H
#define WEFT_PRELOAD_H

#include <stddef.h>

#include "weft/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Acts as madvise(2), even on memory that weft has remapped.
WEFT_API int weft_forward_madvise(void* address, size_t bytes, int advice);

/// Acts as mremap(2), even on memory that weft has remapped. fixed: the new address, read with
/// MREMAP_FIXED only.
WEFT_API void* weft_forward_mremap(void* address, size_t old_bytes, size_t new_bytes, int flags,
                                   void* fixed);

#ifdef __cplusplus
}
#endif

#endif
