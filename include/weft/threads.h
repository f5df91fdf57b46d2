// SPDX-License-Identifier: BSD-3-Clause
// threads.h - runtimes for programs with several calling threads. weft.h includes it.
#ifndef WEFT_THREADS_H
#define WEFT_THREADS_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Thread level: whether several threads may call weft at the same time.
typedef enum weft_threads WEFT_AS_INT {
    WEFT_THREADS_SINGLE = 0,  ///< one thread at a time
    /// Several threads at the same time. One-sided calls may be concurrent. At most one thread at a
    /// time may call collectives of a team, in the same order on all ranks. Waiting threads do not
    /// block other threads. Calls that make or end a team, or allocate or free memory, must have
    /// the same order on all ranks, also across teams. At most one thread at a time may use a
    /// request.
    WEFT_THREADS_MULTIPLE,
    WEFT_THREADS_RANGE = 0x7fffffff  ///< no level: makes the enumeration as large as an int
} weft_threads;

/// Does a weft_init() with this level. WEFT_THREADS=multiple raises it to WEFT_THREADS_MULTIPLE.
WEFT_API weft_status weft_init_threads(weft_threads threads, weft_runtime** out);

#ifdef __cplusplus
}
#endif

#endif
