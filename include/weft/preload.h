// SPDX-License-Identifier: BSD-3-Clause
// preload.h - functions for a library that uses libweft.so and is loaded by LD_PRELOAD.
//
// Why      weft may replace the pages of a program's buffers by pages that local peers can map
//          (docs/direct-memory.md). Then the program's calls of madvise() and mremap() must reach
//          libweft.so. They do if the program is linked with libweft.so. If a preloaded library
//          loads libweft.so, the C library precedes libweft.so in the search for symbols, and the
//          calls do not reach it. So the preloaded library must define madvise() and mremap(), and
//          forward the calls by the functions below.
// Holds    Any thread may call these functions at any time; they set errno as the C library does.
//          If a library does not forward, weft still works: the kernel copies all buffers.
#ifndef WEFT_PRELOAD_H
#define WEFT_PRELOAD_H

#include <stddef.h>

#include "weft/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Does what madvise() does, also for memory that weft has remapped. */
WEFT_API int weft_forward_madvise(void* address, size_t bytes, int advice);

/** Does what mremap() does, also for memory that weft has remapped. `fixed` is used with
 *  MREMAP_FIXED only. */
WEFT_API void* weft_forward_mremap(void* address, size_t old_bytes, size_t new_bytes, int flags,
                                   void* fixed);

#ifdef __cplusplus
}
#endif

#endif
