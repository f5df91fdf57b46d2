// SPDX-License-Identifier: BSD-3-Clause
// exact_sum.h - exact sums, dot products and norms of local values.
//
// A weft_exact_sum holds the exact sum of any number of values and products. It is rounded once, to
// nearest, ties to even, so the result depends neither on the order of the values nor on their
// distribution over ranks. WEFT_EXACT_SUM (core.h) sums elements of several ranks in one call.
//
// To add the sums of all ranks of a team of up to 2^18 ranks, each rank calls weft_exact_pack(),
// then weft_allreduce(team, WEFT_IN_PLACE, sum.words, WEFT_EXACT_WORDS, WEFT_INT64, WEFT_SUM).
// weft_reduce() and weft_scan() can add sums, too.
//
// A sum with a NaN, or with infinities of both signs, is a positive quiet NaN. A sum of values that
// are all -0.0 is -0.0; every other zero sum, such as the sum of no values, is +0.0.
//
// The caller owns sums and values. The functions need no runtime, do not wait, and leave the
// rounding mode and flags of the thread unchanged. Several threads may call them with different
// sums. NULL pointers and unsupported types are refused with WEFT_ERR_ARGUMENT.
#ifndef WEFT_EXACT_SUM_H
#define WEFT_EXACT_SUM_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_EXACT_WORDS 99  ///< words of a sum

/// A sum. The words may be copied and sent to other ranks. If all words are 0, no value was added.
typedef struct weft_exact_sum {
    int64_t words[WEFT_EXACT_WORDS];
} weft_exact_sum;

/// Sets all words to 0.
WEFT_API weft_status weft_exact_clear(weft_exact_sum* sum);
/// Adds `count` values of type WEFT_FLOAT, WEFT_DOUBLE, WEFT_FLOAT16 or WEFT_BFLOAT16, with any
/// alignment. NULL is valid if count is 0.
WEFT_API weft_status weft_exact_add(weft_exact_sum* sum, const void* values, size_t count,
                                    weft_type type);
/// Adds the exact products left[i] * right[i] for i < count: a dot product, or if left is right,
/// the square of a norm. Types and alignment as in weft_exact_add().
WEFT_API weft_status weft_exact_add_products(weft_exact_sum* sum, const void* left,
                                             const void* right, size_t count, weft_type type);
/// Adds `other`, which may be `sum` itself.
WEFT_API weft_status weft_exact_merge(weft_exact_sum* sum, const weft_exact_sum* other);
/// Prepares the words for an addition of several sums as integers. Does not change the value.
WEFT_API weft_status weft_exact_pack(weft_exact_sum* sum);

/// Return the sum as a double or float, rounded to nearest, ties to even. NaN if sum is NULL.
WEFT_API double weft_exact_round(const weft_exact_sum* sum);
WEFT_API float weft_exact_round_float(const weft_exact_sum* sum);
/// Returns the square root of the exact sum, rounded once: the norm of a vector whose squares have
/// been added. The sum may exceed the range of a double. NaN if it is negative or sum is NULL.
WEFT_API double weft_exact_root(const weft_exact_sum* sum);

#ifdef __cplusplus
}
#endif

#endif
