/* SPDX-License-Identifier: BSD-3-Clause */
// shmem.h - location of <shmem.h> before OpenSHMEM 1.2.
#ifndef WEFT_OPENSHMEM_MPP_SHMEM_H
#define WEFT_OPENSHMEM_MPP_SHMEM_H

// lint: allow(include): the folder above this one may be the only one in the search path
#include "../shmem.h"

#endif
