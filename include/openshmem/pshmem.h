/* SPDX-License-Identifier: BSD-3-Clause */
// pshmem.h - the routines of shmem.h under the names that profiling tools call.
//
// Idea     The library defines each routine under two names. A profiling tool defines, for example,
//          its own shmem_quiet(), which records the call and then calls pshmem_quiet().
#ifndef WEFT_OPENSHMEM_PSHMEM_H
#define WEFT_OPENSHMEM_PSHMEM_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_SHMEM_FN(name) pshmem_##name
#include "shmem_calls.inc"
#undef WEFT_SHMEM_FN

#ifdef __cplusplus
}
#endif

#endif
