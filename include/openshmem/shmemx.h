/* SPDX-License-Identifier: BSD-3-Clause */
// shmemx.h - extensions of OpenSHMEM: exact sums.
#ifndef WEFT_SHMEMX_H
#define WEFT_SHMEMX_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Like shmem_float_sum_reduce() and shmem_double_sum_reduce(), but each element is the exact sum,
/// rounded once to the type. The result depends only on the values, not on their order.
int shmemx_float_exact_sum_reduce(shmem_team_t team, float* dest, const float* source,
                                  size_t nreduce);
int shmemx_double_exact_sum_reduce(shmem_team_t team, double* dest, const double* source,
                                   size_t nreduce);

#ifdef __cplusplus
}
#endif

#endif
