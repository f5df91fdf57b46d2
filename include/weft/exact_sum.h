// SPDX-License-Identifier: BSD-3-Clause
// exact_sum.h - exact sums, dot products and norms of local values, and their merge.
//
// A weft_exact_sum holds the exact sum of any number of values and products. The result is rounded
// once, to nearest, ties to even, so it depends neither on the order of the values nor on their
// distribution over ranks. WEFT_EXACT_SUM (core.h) sums elements of several ranks in one call.
//
// Merge over ranks: each rank adds its values to a cleared sum and calls weft_exact_pack(). Then
// weft_allreduce(team, WEFT_IN_PLACE, sum.words, WEFT_EXACT_WORDS, WEFT_INT64, WEFT_SUM) gives all
// ranks the total. The same holds for weft_reduce() and weft_scan(). Teams: up to 2^18 ranks.
//
// Special values: a NaN, or infinities of both signs, give a positive quiet NaN. A sum of values
// that are all -0.0 is -0.0; every other zero sum is +0.0, also the sum of no values. Functions
// need no runtime, do not wait, and leave the rounding mode and flags of the thread unchanged.
// Several threads may call them with different sums.
#ifndef WEFT_EXACT_SUM_H
#define WEFT_EXACT_SUM_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_EXACT_WORDS 99

/// A sum. The words may be copied and sent to other ranks. Words of 0 are a cleared sum.
typedef struct weft_exact_sum {
    int64_t words[WEFT_EXACT_WORDS];
} weft_exact_sum;

/// Sets the sum to no values.
WEFT_API weft_status weft_exact_clear(weft_exact_sum* sum);
/// Adds `count` values of a floating-point type: WEFT_FLOAT, WEFT_DOUBLE, WEFT_FLOAT16 or
/// WEFT_BFLOAT16. Any alignment.
WEFT_API weft_status weft_exact_add(weft_exact_sum* sum, const void* values, size_t count,
                                    weft_type type);
/// Adds the products left[i] * right[i], not rounded: a dot product, or with left == right the
/// square of a norm. Types as in weft_exact_add().
WEFT_API weft_status weft_exact_add_products(weft_exact_sum* sum, const void* left,
                                             const void* right, size_t count, weft_type type);
/// Adds the values of another sum.
WEFT_API weft_status weft_exact_merge(weft_exact_sum* sum, const weft_exact_sum* other);
/// Prepares the words for an integer sum over ranks. The value does not change.
WEFT_API weft_status weft_exact_pack(weft_exact_sum* sum);

/// Return the sum, rounded to nearest, ties to even. NaN if `sum` is NULL.
WEFT_API double weft_exact_round(const weft_exact_sum* sum);
WEFT_API float weft_exact_round_float(const weft_exact_sum* sum);
/// Returns the square root of the exact sum, rounded once: the norm of a vector whose squares have
/// been added. Squares may exceed the range of a double. NaN if the sum is negative.
WEFT_API double weft_exact_root(const weft_exact_sum* sum);

#ifdef __cplusplus
}
#endif

#endif
