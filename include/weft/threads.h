// SPDX-License-Identifier: BSD-3-Clause
// threads.h - a runtime for programs whose threads call at once. weft.h includes it.
#ifndef WEFT_THREADS_H
#define WEFT_THREADS_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Which threads of the program call.
typedef enum weft_threads WEFT_AS_INT {
    WEFT_THREADS_SINGLE = 0,  ///< one at a time
    /// Any, at once: one-sided calls anywhere, and collectives, each team's by one thread at a
    /// time. Threads of all ranks make calls on their teams in the same order; those that wait do
    /// not keep the others. Calls that make or end a team, or allocate or free memory, are made in
    /// the same order on all ranks, whatever the team. A request is one thread's at a time.
    WEFT_THREADS_MULTIPLE,
    WEFT_THREADS_RANGE = 0x7fffffff  ///< no level: makes the enumeration as large as an int
} weft_threads;

/// weft_init() for a program whose threads call so. WEFT_THREADS=multiple says the same.
WEFT_API weft_status weft_init_threads(weft_threads threads, weft_runtime** out);

#ifdef __cplusplus
}
#endif

#endif
