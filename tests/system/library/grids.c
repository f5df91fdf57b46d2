// SPDX-License-Identifier: BSD-3-Clause
// grids.c - puts with a request, blocks in several dimensions, strided puts with a signal, sums of
// floating-point words: all work in symmetric and registered memory, and refuse invalid arguments.
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

#include "check.h"

enum { kX = 3, kY = 4, kZ = 5, kLarge = 1 << 17 };

/// Symmetric memory of the tests.
struct field {
    double cells[kX][kY][kZ];  ///< row-major
    double transposed[kZ][kY][kX];
    uint64_t signal, count;
    double sum;
    float narrow;
    unsigned char large[kLarge];
};
static struct field* field;

static int next_rank(void) {
    return (my_rank + 1) % size;
}
static int previous_rank(void) {
    return (my_rank + size - 1) % size;
}
static void clear(void) {
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    memset(field, 0, sizeof *field);
    DONE(weft_barrier(world));
}
static double value(int rank, int x, int y, int z) {
    return 1000 * rank + 100 * x + 10 * y + z + 1;
}

// Members of a weft_block_grid, in order: bytes of a block, dimensions, counts, strides in the
// destination and in the source.
static const size_t counts[3] = {kX, kY, kZ};
static const ptrdiff_t row_major_strides[3] = {kY * kZ * 8, kZ * 8, 8};
static const ptrdiff_t transposed_strides[3] = {8, kX * 8, kY* kX * 8};

/// Puts a box, transposed, into the next rank's memory with the name `at`, and gets it back.
/// `stored`: this rank's memory with the name `at`.
static void transpose(double* at, const double* stored, uint64_t* signal) {
    static double box[kX][kY][kZ], back[kX][kY][kZ];
    const weft_block_grid out = {8, 3, counts, transposed_strides, row_major_strides};
    const weft_block_grid in = {8, 3, counts, row_major_strides, transposed_strides};
    for (int x = 0; x < kX; ++x)
        for (int y = 0; y < kY; ++y)
            for (int z = 0; z < kZ; ++z) box[x][y][z] = value(my_rank, x, y, z);
    DONE(weft_put_grid_signal(world, at, box, &out, signal, 3, 1, next_rank()));
    DONE(weft_wait_until(world, &field->signal, WEFT_EQ, 3));
    for (int x = 0; x < kX; ++x)
        for (int y = 0; y < kY; ++y)
            for (int z = 0; z < kZ; ++z)
                CHECK(stored[(z * kY + y) * kX + x] == value(previous_rank(), x, y, z));
    memset(back, 0, sizeof back);
    DONE(weft_get_grid(world, back, at, &in, next_rank()));
    CHECK(memcmp(back, box, sizeof box) == 0);
}

static void boxes(void) {
    clear();
    transpose(&field->transposed[0][0][0], &field->transposed[0][0][0], &field->signal);
    clear();
    static double own[kX * kY * kZ];
    void* name = NULL;
    DONE(weft_register(world, WEFT_KIND_HOST, own, sizeof own, &name));
    transpose(name, own, &field->signal);
    DONE(weft_barrier(world));
    DONE(weft_unregister(world, name));
}

/// Puts the corners of a box: negative strides, and a block of several elements.
static void corners(void) {
    clear();
    const double pairs[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    const size_t two[2] = {2, 2};
    const ptrdiff_t to[2] = {-(kX - 1) * kY * kZ * 8, -(kY - 1) * kZ * 8}, from[2] = {32, 16};
    const weft_block_grid grid = {16, 2, two, to, from};
    DONE(weft_put_grid(world, &field->cells[kX - 1][kY - 1][0], pairs, &grid, next_rank()));
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    CHECK(field->cells[kX - 1][kY - 1][1] == 2 && field->cells[kX - 1][0][0] == 3);
    CHECK(field->cells[0][kY - 1][0] == 5 && field->cells[0][0][1] == 8);
    double total = 0;
    for (int x = 0; x < kX; ++x)
        for (int y = 0; y < kY; ++y)
            for (int z = 0; z < kZ; ++z) total += field->cells[x][y][z];
    CHECK(total == 36);
}

static void eight_dimensions(void) {
    clear();
    size_t twos[8];
    ptrdiff_t strides[8];
    unsigned char bits[256];
    for (int i = 0; i < 8; ++i) {
        twos[i] = 2;
        strides[i] = 1 << i;
    }
    for (int i = 0; i < 256; ++i) bits[i] = (unsigned char)(i + my_rank);
    ptrdiff_t reversed[8];
    for (int i = 0; i < 8; ++i) reversed[i] = strides[7 - i];
    const weft_block_grid grid = {1, 8, twos, strides, reversed};
    DONE(weft_put_grid(world, field->large, bits, &grid, next_rank()));
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    for (int i = 0; i < 256; ++i) {
        int mirrored = 0;
        for (int bit = 0; bit < 8; ++bit) mirrored |= (i >> bit & 1) << (7 - bit);
        CHECK(field->large[i] == (unsigned char)(mirrored + previous_rank()));
    }
}

static void strided_signals(void) {
    clear();
    double column[kY];
    for (int round = 1; round <= 20; ++round) {
        for (int y = 0; y < kY; ++y) column[y] = 100.0 * round + y;
        DONE(weft_put_strided_signal(world, &field->cells[0][0][2], kZ * 8, column, 8, 8, kY,
                                     &field->signal, (uint64_t)round, 0, next_rank()));
        DONE(weft_wait_until(world, &field->signal, WEFT_EQ, (uint64_t)round));
        for (int y = 0; y < kY; ++y) CHECK(field->cells[0][y][2] == 100.0 * round + y);
        DONE(weft_barrier(world));
    }
    DONE(weft_put_strided_signal(world, NULL, 8, NULL, 8, 8, 0, &field->count, 5, 1, next_rank()));
    DONE(weft_wait_until(world, &field->count, WEFT_EQ, 5));
}

static void started_puts(void) {
    clear();
    unsigned char* const bytes = malloc(kLarge);
    for (int round = 0; round < 5; ++round) {
        const size_t sizes[4] = {0, 8, 300, kLarge - 308};
        weft_request* requests[4];
        size_t at = 0;
        for (int i = 0; i < kLarge; ++i) bytes[i] = (unsigned char)(i + my_rank + round);
        for (int i = 0; i < 4; ++i) {
            DONE(weft_iput(world, field->large + at, bytes + at, sizes[i], next_rank(),
                           &requests[i]));
            at += sizes[i];
        }
        for (int i = 3; i > 0; --i) {
            int done = 0;
            while (!done) DONE(weft_test(&requests[i], &done));
            CHECK(requests[i] == NULL);
        }
        DONE(weft_wait(&requests[0]));
        DONE(weft_barrier(world));  // without a quiet: the requests were complete
        int right = 1;
        for (int i = 0; i < kLarge; ++i)
            right &= field->large[i] == (unsigned char)(i + previous_rank() + round);
        CHECK(right);
        DONE(weft_barrier(world));
    }
    weft_team* context = NULL;
    weft_request* put = NULL;
    DONE(weft_context_create(world, 0, &context));
    bytes[0] = 77;
    DONE(weft_iput(context, field->large, bytes, kLarge, next_rank(), &put));
    DONE(weft_context_free(context));
    DONE(weft_wait_for(&put, 0));
    DONE(weft_barrier(world));
    CHECK(field->large[0] == 77);
    DONE(weft_barrier(world));
    free(bytes);
}

static void sums(void) {
    clear();
    const double half = 0.5;
    const float quarter = 0.25F;
    double before = -1;
    for (int i = 0; i < 40; ++i) {
        DONE(weft_atomic(world, WEFT_ATOMIC_ADD, WEFT_DOUBLE, &field->sum, &half, NULL,
                         i % 2 ? &before : NULL, 0));
        DONE(weft_atomic(world, WEFT_ATOMIC_ADD, WEFT_FLOAT, &field->narrow, &quarter, NULL, NULL,
                         size - 1));
    }
    CHECK(before >= 19.5 && before < 20.0 * size);
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    if (my_rank == 0) CHECK(field->sum == 20.0 * size);
    if (my_rank == size - 1) CHECK(field->narrow == 10.0F * (float)size);
    DONE(weft_barrier(world));
    DONE(weft_atomic_nbi(world, WEFT_ATOMIC_ADD, WEFT_DOUBLE, &field->sum, &half, NULL, &before,
                         my_rank));
    DONE(weft_quiet(world));
    CHECK(before == (my_rank == 0 ? 20.0 * size : 0));
}

static void refusals(void) {
    const weft_block_grid none = {8, 0, counts, row_major_strides, row_major_strides};
    const weft_block_grid nine = {8, 9, counts, row_major_strides, row_major_strides};
    const weft_block_grid no_counts = {8, 3, NULL, row_major_strides, row_major_strides};
    const ptrdiff_t far[3] = {row_major_strides[0], row_major_strides[1], 1 << 30};
    const ptrdiff_t back[3] = {row_major_strides[0], -(ptrdiff_t)sizeof *field * 1000000, 8};
    const weft_block_grid beyond = {8, 3, counts, far, row_major_strides};
    const weft_block_grid before = {8, 3, counts, back, row_major_strides};
    const size_t many[2] = {SIZE_MAX / 4, SIZE_MAX / 4};
    const weft_block_grid wraps = {8, 2, many, row_major_strides, row_major_strides};
    static double box[kX * kY * kZ];
    weft_request* request = NULL;
    REFUSED(weft_put_grid(world, field->cells, box, NULL, 0), "grid is NULL");
    REFUSED(weft_put_grid(world, field->cells, box, &none, 0), "dimensions is 0, expected 1 to 8");
    REFUSED(weft_put_grid(world, field->cells, box, &nine, 0), "dimensions is 9, expected 1 to 8");
    REFUSED(weft_get_grid(world, box, field->cells, &no_counts, 0), "counts");
    REFUSED(weft_put_grid(world, field->cells, box, &beyond, 0), "not in symmetric memory");
    REFUSED(weft_put_grid(world, field->cells, box, &before, 0), "not in symmetric memory");
    REFUSED(weft_put_grid(world, field->cells, box, &wraps, 0), "exceed the address space");
    const weft_block_grid right = {8, 3, counts, row_major_strides, row_major_strides};
    REFUSED(weft_put_grid(world, field->cells, NULL, &right, 0), "src is null");
    REFUSED(weft_put_grid(world, field->cells, box, &right, size), "not a rank of the team");
    REFUSED(weft_put_grid_signal(world, field->cells, box, &right, NULL, 1, 0, 0), "signal");
    REFUSED(weft_put_strided_signal(world, field->cells, 8, box, 8, 8, 2,
                                    (uint64_t*)((char*)&field->signal + 4), 1, 0, 0),
            "not aligned");
    REFUSED(weft_iput(world, box, box, 8, 0, &request), "not in symmetric memory");
    REFUSED(weft_iput(world, field->cells, box, 8, 0, NULL), "request is NULL");
    const double one = 1;
    REFUSED(weft_atomic(world, WEFT_ATOMIC_AND, WEFT_DOUBLE, &field->sum, &one, NULL, NULL, 0),
            "floating-point words can only be fetched, set and added to");
    DONE(weft_free(world, NULL));
}

int main(void) {
    if (!join_job()) return 1;
    void* memory;
    DONE(weft_alloc(world, sizeof *field, &memory));
    field = memory;
    clear();
    boxes();
    corners();
    eight_dimensions();
    strided_signals();
    started_puts();
    sums();
    clear();
    refusals();
    DONE(weft_free(world, memory));
    DONE(weft_finalize(runtime));
    return verdict("all grids are right");
}
