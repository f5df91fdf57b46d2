// SPDX-License-Identifier: BSD-3-Clause
// threads.h - runtimes that several threads may call. weft.h includes this header.
#ifndef WEFT_THREADS_H
#define WEFT_THREADS_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Thread level of a runtime.
typedef enum weft_threads WEFT_AS_INT {
    WEFT_THREADS_SINGLE = 0,  ///< one thread at a time may call
    /// Several threads may call at the same time; a waiting thread does not block the others. At
    /// most one thread at a time may call collectives of a team, and at most one may use a request.
    /// All ranks make the collectives of a team in the same order. Calls that make or end teams, or
    /// allocate or free memory, have the same order on all ranks, even on different teams.
    WEFT_THREADS_MULTIPLE,
    WEFT_THREADS_RANGE = 0x7fffffff  ///< not a level: makes the enumeration as large as an int
} weft_threads;

/// Does a weft_init() with a thread level. The setting WEFT_THREADS=multiple raises the level to
/// WEFT_THREADS_MULTIPLE.
WEFT_API weft_status weft_init_threads(weft_threads threads, weft_runtime** out);

#ifdef __cplusplus
}
#endif

#endif
