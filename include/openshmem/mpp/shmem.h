/* SPDX-License-Identifier: BSD-3-Clause */
// shmem.h - <shmem.h> under its name before OpenSHMEM 1.2.
#ifndef WEFT_OPENSHMEM_MPP_SHMEM_H
#define WEFT_OPENSHMEM_MPP_SHMEM_H

// lint: allow(include): the folder above may be missing from the search path of the compiler
#include "../shmem.h"

#endif
