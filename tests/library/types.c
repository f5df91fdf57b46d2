// SPDX-License-Identifier: BSD-3-Clause
// types.c - a C program of real ranks: element types that plain C has (long double, complex numbers, _Bool,
// structures of a value and an index) and 16-bit floats, their sizes, operations and refusals.
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static weft_team* world;
static int size;

typedef struct {
    double value;
    int index;
} double_int;
typedef struct {
    long double value;
    int index;
} longdouble_int;
typedef struct {
    int16_t value;
    int index;
} int16_int;
typedef struct {
    int64_t value;
    int index;
} int64_int;

static void sizes(void) {
    CHECK(weft_type_size(WEFT_INT8) == 1);
    CHECK(weft_type_size(WEFT_DOUBLE) == sizeof(double));
    CHECK(weft_type_size(WEFT_LONGDOUBLE) == sizeof(long double));
    CHECK(weft_type_size(WEFT_CFLOAT) == sizeof(float complex));
    CHECK(weft_type_size(WEFT_CDOUBLE) == sizeof(double complex));
    CHECK(weft_type_size(WEFT_BOOL) == sizeof(bool));
    CHECK(weft_type_size(WEFT_FLOAT16) == 2);
    CHECK(weft_type_size(WEFT_BFLOAT16) == 2);
    CHECK(weft_type_size(WEFT_FLOAT_INT) == 8);
    CHECK(weft_type_size(WEFT_DOUBLE_INT) == sizeof(double_int));
    CHECK(weft_type_size(WEFT_INT16_INT) == sizeof(int16_int));
    CHECK(weft_type_size(WEFT_INT32_INT) == 8);
    CHECK(weft_type_size(WEFT_INT64_INT) == sizeof(int64_int));
    CHECK(weft_type_size(WEFT_LONGDOUBLE_INT) == sizeof(longdouble_int));
    CHECK(weft_type_size(WEFT_DOUBLE_INT64) == 16);
    CHECK(weft_type_size(WEFT_INT64_INT64) == 16);
    CHECK(weft_type_size(WEFT_TYPE_RANGE) == 0);
    CHECK(weft_type_size((weft_type)-1) == 0);
}

static void numbers(void) {
    long double longs[3] = {my_rank, 1.0L / 3, my_rank == 0 ? -0.0L : 0.0L};
    DONE(weft_allreduce(world, WEFT_IN_PLACE, longs, 2, WEFT_LONGDOUBLE, WEFT_SUM));
    CHECK(longs[0] == (long double)size * (size - 1) / 2);
    CHECK(size > 1 || longs[1] == 1.0L / 3);
    DONE(weft_allreduce(world, WEFT_IN_PLACE, longs + 2, 1, WEFT_LONGDOUBLE, WEFT_MIN));
    CHECK(longs[2] == 0 && 1 / longs[2] < 0);

    double complex turn = I;
    double complex all = 1;
    for (int rank = 0; rank < size; ++rank) all *= I;
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &turn, 1, WEFT_CDOUBLE, WEFT_PROD));
    CHECK(creal(turn) == creal(all) && cimag(turn) == cimag(all));
    float complex sum = (float)my_rank + 2 * I;
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &sum, 1, WEFT_CFLOAT, WEFT_SUM));
    CHECK(crealf(sum) == (float)(size * (size - 1)) / 2 && cimagf(sum) == (float)(2 * size));

    bool only_first = my_rank == 0;
    bool any = only_first;
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &any, 1, WEFT_BOOL, WEFT_LOR));
    CHECK(any);
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &only_first, 1, WEFT_BOOL, WEFT_BAND));
    CHECK(only_first == (size == 1));

    uint16_t half = 0x3c00; /* 1.0; 16 ranks are few enough for sums to be exact */
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &half, 1, WEFT_FLOAT16, WEFT_SUM));
    uint16_t brain = 0x3f80;
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &brain, 1, WEFT_BFLOAT16, WEFT_SUM));
    const uint32_t widened = (uint32_t)brain << 16;
    float value = 0;
    memcpy(&value, &widened, sizeof value);
    CHECK(value == (float)size);
    const float exact[] = {1, 2, 3, 4, 5};
    const uint16_t halves[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500};
    for (int i = 0; i < 5; ++i) CHECK((value == exact[i]) == (half == halves[i]));
}

/// Padding is the same on all ranks, whatever it was before.
static void same_bytes(const void* bytes, size_t count) {
    unsigned char least[64];
    unsigned char most[64];
    DONE(weft_allreduce(world, bytes, least, count, WEFT_UINT8, WEFT_MIN));
    DONE(weft_allreduce(world, bytes, most, count, WEFT_UINT8, WEFT_MAX));
    CHECK(memcmp(least, most, count) == 0);
}

static void located(void) {
    double_int pair;
    memset(&pair, 0x11 * (my_rank + 1), sizeof pair);
    pair.value = 5;
    pair.index = size - my_rank; /* equal values: the last rank has the lowest index */
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &pair, 1, WEFT_DOUBLE_INT, WEFT_MINLOC));
    CHECK(pair.value == 5 && pair.index == 1);
    if (size > 1) same_bytes(&pair, sizeof pair);

    longdouble_int large;
    memset(&large, 0x11 * (my_rank + 1), sizeof large);
    large.value = my_rank;
    large.index = my_rank + 40;
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &large, 1, WEFT_LONGDOUBLE_INT, WEFT_MAXLOC));
    CHECK(large.value == size - 1 && large.index == size + 39);
    if (size > 1) same_bytes(&large, sizeof large);

    int16_int small[3];
    memset(small, 0, sizeof small);
    for (int i = 0; i < 3; ++i) {
        small[i].value = (int16_t)(my_rank == size - 1 ? -i : 0);
        small[i].index = my_rank;
    }
    int16_int least[3];
    memset(least, 0, sizeof least);
    DONE(weft_reduce(world, small, least, 3, WEFT_INT16_INT, WEFT_MINLOC, 0));
    for (int i = 0; i < 3 && my_rank == 0; ++i)
        CHECK(least[i].value == -i && least[i].index == (i == 0 ? 0 : size - 1));

    int64_int wide = {INT64_MIN, my_rank};
    int64_int first = {0, -1};
    DONE(weft_scan(world, &wide, &first, 1, WEFT_INT64_INT, WEFT_MAXLOC));
    CHECK(first.value == INT64_MIN && first.index == 0);
}

/// A user's operation gets elements of the type of the call.
static void keep_later(const void* in, void* inout, size_t count, void* arg) {
    (void)in;
    (void)inout;
    *(size_t*)arg += count;
}

static void users(void) {
    size_t combined = 0;
    weft_op later = WEFT_OP_NONE;
    DONE(weft_op_create(keep_later, &combined, 0, &later));
    longdouble_int last;
    memset(&last, 0, sizeof last);
    last.value = 0.5L * my_rank;
    last.index = my_rank;
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &last, 1, WEFT_LONGDOUBLE_INT, later));
    CHECK(last.value == 0.5L * (size - 1) && last.index == size - 1);
    DONE(weft_op_free(&later));
}

static void refusals(void) {
    longdouble_int a[2];
    longdouble_int b[2];
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    REFUSED(weft_allreduce(world, a, b, 1, WEFT_CFLOAT, WEFT_MIN), WEFT_ERR_ARGUMENT,
            "min does not exist for cfloat, which has sum prod");
    REFUSED(weft_allreduce(world, a, b, 1, WEFT_BOOL, WEFT_SUM), WEFT_ERR_ARGUMENT,
            "sum does not exist for bool, which has land lor lxor band bor bxor");
    REFUSED(weft_allreduce(world, a, b, 1, WEFT_DOUBLE_INT, WEFT_SUM), WEFT_ERR_ARGUMENT,
            "sum does not exist for double_int, which has minloc maxloc");
    REFUSED(weft_allreduce(world, a, b, 1, WEFT_DOUBLE, WEFT_MAXLOC), WEFT_ERR_ARGUMENT,
            "maxloc does not exist for double, which has sum prod min max land lor lxor");
    REFUSED(weft_scan(world, a, b, 1, WEFT_FLOAT16, WEFT_BXOR), WEFT_ERR_ARGUMENT, "float16");
    char rank[16];
    snprintf(rank, sizeof rank, "rank %d", my_rank);
    REFUSED(weft_allreduce(world, a, b, 1, WEFT_INT8, WEFT_MINLOC), WEFT_ERR_ARGUMENT, rank);
}

int main(void) {
    weft_runtime* runtime = NULL;
    if (weft_init(&runtime) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_last_error());
        return 1;
    }
    world = weft_world(runtime);
    my_rank = weft_rank(world);
    size = weft_size(world);
    sizes();
    numbers();
    located();
    users();
    refusals();
    DONE(weft_finalize(runtime));
    if (my_rank == 0 && wrong == 0) printf("%d ranks: all types are right\n", size);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
