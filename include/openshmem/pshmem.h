/* SPDX-License-Identifier: BSD-3-Clause */
// pshmem.h - the routines of shmem.h under the names that profiling tools call.
//
// Idea     A tool defines a routine of shmem.h, such as shmem_quiet(), which records the call and
//          calls pshmem_quiet(). The library defines each routine under both names.
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
