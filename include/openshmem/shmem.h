/* SPDX-License-Identifier: BSD-3-Clause */
// shmem.h - OpenSHMEM 1.6 for C and C++, implemented by libweft-shmem.
//
// Idea     Most routines exist for many types. The tables of shmem_types.h list the types, and
//          shmem_calls.inc expands each declaration for each type of a table. The library defines
//          the routines from the same tables.
// Holds    Every shmem_ routine also has a pshmem_ name (pshmem.h), for tools that intercept calls.
//          Not supported: Fortran, and C11 generic forms under a C++ compiler.
// Next     docs/shmem.md lists the supported routines; docs/guide/moving.md moves programs to weft.
#ifndef WEFT_OPENSHMEM_SHMEM_H
#define WEFT_OPENSHMEM_SHMEM_H

#include <stddef.h>
#include <stdint.h>

#include "shmem_constants.h"
#include "shmem_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_SHMEM_FN(name) shmem_##name
#include "shmem_calls.inc"
#undef WEFT_SHMEM_FN

// --- names of SGI's library and of OpenSHMEM before 1.2, deprecated ------------------------------

void start_pes(int npes);
int _my_pe(void);
int _num_pes(void);
void* shmalloc(size_t size);
void shfree(void* ptr);
void* shrealloc(void* ptr, size_t size);
void* shmemalign(size_t alignment, size_t size);

#ifdef __cplusplus
}
#endif

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "shmem_generic.h"
#endif

#endif
