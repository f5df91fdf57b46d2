// SPDX-License-Identifier: BSD-3-Clause
// preload.h - functions for a library that uses libweft.so and is loaded by LD_PRELOAD.
//
// Why      weft may replace the pages of a program's buffers by pages that local peers can map
//          (docs/direct-memory.md). Then the program's calls of madvise() and mremap() have to
//          reach libweft.so. They do if the program is linked with libweft.so. If a preloaded
//          library brings libweft.so with it, libweft.so comes after the C library, and the calls
//          do not reach it. So the preloaded library defines madvise() and mremap(), and forwards
//          the calls with the functions below.
// Holds    Any thread may call these at any time; they set errno as the C library's functions do.
//          A library that does not forward breaks nothing: the kernel then copies all buffers.
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
