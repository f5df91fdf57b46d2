/* SPDX-License-Identifier: BSD-3-Clause */
// shmem.h - location of <shmem.h> before OpenSHMEM 1.2.
#ifndef WEFT_OPENSHMEM_MPP_SHMEM_H
#define WEFT_OPENSHMEM_MPP_SHMEM_H

#include "openshmem/shmem.h"

#endif
