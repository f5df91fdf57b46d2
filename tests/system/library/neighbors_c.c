// SPDX-License-Identifier: BSD-3-Clause
// neighbors_c.c - exchanges with neighbors in the C interface (weft/neighbors.h): graphs, grids and
// stencils, in blocking, started and persistent calls; and calls that must be refused.
#include <string.h>
#include <weft/neighbors.h>
#include <weft/weft.h>

#include "check.h"

// Elements of a block, and starts of a persistent call.
enum { kBlock = 40, kStarts = 3 };

/// Returns element i of the block that rank `from` sends to rank `to`.
static int64_t element(int from, int to, int i) {
    return ((int64_t)from * 1000 + to) * 1000 + i;
}

/// Checks the first `count` elements of the block that rank `from` has sent to rank `to`.
static void check_block(const int64_t* out, int from, int to, int count) {
    for (int i = 0; i < count; ++i) CHECK(out[i] == element(from, to, i));
}

static void fill_block(int64_t* in, int to, int count) {
    for (int i = 0; i < count; ++i) in[i] = element(my_rank, to, i);
}

/// Exchanges blocks on a ring: each rank sends to itself and to the next rank. In a job of one rank
/// both are the same rank, which may be named only once.
static void ring(void) {
    const int next = (my_rank + 1) % size, previous = (my_rank + size - 1) % size;
    const int count = size == 1 ? 1 : 2;
    const int sources[2] = {my_rank, previous}, destinations[2] = {my_rank, next};
    weft_neighbors* neighbors = NULL;
    DONE(weft_neighbors_create(world, sources, count, destinations, count, &neighbors));
    CHECK(weft_neighbors_sources(neighbors) == count);
    CHECK(weft_neighbors_destinations(neighbors) == count);
    int64_t in[2 * kBlock], out[2 * kBlock];
    for (int n = 0; n < count; ++n) fill_block(in + n * kBlock, destinations[n], kBlock);

    memset(out, 0, sizeof out);
    DONE(weft_neighbor_alltoall(neighbors, in, out, kBlock, WEFT_INT64));
    for (int n = 0; n < count; ++n) check_block(out + n * kBlock, sources[n], my_rank, kBlock);

    memset(out, 0, sizeof out);
    weft_request* request = NULL;
    DONE(weft_ineighbor_alltoall(neighbors, in, out, kBlock, WEFT_INT64, &request));
    DONE(weft_wait(&request));
    for (int n = 0; n < count; ++n) check_block(out + n * kBlock, sources[n], my_rank, kBlock);

    const size_t equal_counts[2] = {kBlock - 1, kBlock - 1};
    memset(out, 0, sizeof out);
    DONE(weft_neighbor_allgatherv(neighbors, in, kBlock - 1, out, equal_counts, NULL, WEFT_INT64));
    for (int n = 0; n < count; ++n)
        check_block(out + n * (kBlock - 1), sources[n], sources[n], kBlock - 1);

    memset(out, 0, sizeof out);
    DONE(weft_neighbor_allgather_init(neighbors, in, out, kBlock, WEFT_INT64, &request));
    for (int start = 0; start < kStarts; ++start) {
        DONE(weft_start(request));
        DONE(weft_wait(&request));
        for (int n = 0; n < count; ++n)
            check_block(out + n * kBlock, sources[n], sources[n], kBlock);
    }
    DONE(weft_request_free(&request));

    // The displacements leave a gap of one element between the two blocks.
    const size_t counts[2] = {kBlock, kBlock - 1}, displacements[2] = {0, kBlock + 1};
    memset(out, 0, sizeof out);
    DONE(weft_neighbor_alltoallv(neighbors, in, counts, NULL, out, counts, displacements,
                                 WEFT_INT64));
    check_block(out, my_rank, my_rank, kBlock);
    if (count == 2) {
        CHECK(out[kBlock] == 0);
        check_block(out + kBlock + 1, previous, my_rank, kBlock - 1);
    }
    DONE(weft_neighbors_free(&neighbors));
    CHECK(neighbors == NULL);
}

/// Exchanges on a grid of one dimension that is not periodic: each end has one neighbor.
static void line(void) {
    const int extents[1] = {size}, not_periodic[1] = {0};
    weft_neighbors* neighbors = NULL;
    DONE(weft_neighbors_on_grid(world, 1, extents, not_periodic, &neighbors));
    // Numbers of neighbors (0 or 1) with a lower and with a higher rank.
    const int before = my_rank > 0, after = my_rank + 1 < size;
    CHECK(weft_neighbors_sources(neighbors) == before + after);
    const int64_t own = element(my_rank, 0, 0);
    int64_t out[3] = {-1, -1, -1};
    DONE(weft_neighbor_allgather(neighbors, &own, out, 1, WEFT_INT64));
    if (before) CHECK(out[0] == element(my_rank - 1, 0, 0));
    if (after) CHECK(out[before] == element(my_rank + 1, 0, 0));
    CHECK(out[before + after] == -1);
    DONE(weft_neighbors_free(&neighbors));
}

/// Exchanges by a stencil on a periodic grid of one row. The rows above and below wrap to the same
/// row, so the previous and the next rank are neighbors three times each, and a rank is its own
/// neighbor twice.
static void stencil(weft_way way) {
    const int extents[2] = {1, size}, periodic[2] = {1, 1}, half_periodic[2] = {1, 0};
    weft_stencil* box = NULL;
    DONE(weft_stencil_create(world, 2, extents, periodic, 0, 1, &box));
    DONE(weft_stencil_set_way(box, way));
    CHECK(weft_stencil_blocks(box) == 8);
    const int previous = (my_rank + size - 1) % size, next = (my_rank + 1) % size;
    CHECK(weft_stencil_neighbor(box, 0) == previous && weft_stencil_neighbor(box, 7) == next);
    CHECK(weft_stencil_neighbor(box, 1) == my_rank && weft_stencil_neighbor(box, 8) == -1);
    int64_t in[8], out[8];
    for (int n = 0; n < 8; ++n) in[n] = element(my_rank, n, 0);
    DONE(weft_stencil_alltoall(box, in, out, 1, WEFT_INT64));
    // Neighbors n and 7 - n are opposite, so neighbor n sends its block 7 - n to this rank.
    for (int n = 0; n < 8; ++n) CHECK(out[n] == element(weft_stencil_neighbor(box, n), 7 - n, 0));
    DONE(weft_stencil_allgather(box, in, out, 1, WEFT_INT64));
    for (int n = 0; n < 8; ++n) CHECK(out[n] == element(weft_stencil_neighbor(box, n), 0, 0));
    DONE(weft_stencil_free(&box));
    CHECK(box == NULL);
    // A star has no diagonal neighbors. The second dimension ends at rank 0.
    DONE(weft_stencil_create(world, 2, extents, half_periodic, 1, 1, &box));
    CHECK(weft_stencil_blocks(box) == 4);
    CHECK(weft_stencil_neighbor(box, 2) == my_rank - 1);
    DONE(weft_stencil_free(&box));
    REFUSED(weft_stencil_create(world, 0, extents, periodic, 0, 1, &box), "dimension");
    REFUSED(weft_stencil_create(world, 1, extents, periodic, 0, 0, &box), "reach is 0");
    REFUSED(weft_stencil_alltoall(NULL, in, out, 1, WEFT_INT64), "stencil is NULL");
    REFUSED(weft_stencil_free(NULL), "stencil is NULL");
    CHECK(weft_stencil_blocks(NULL) == -1);
}

static void refusals(void) {
    const int no_member[1] = {-1}, twice[2] = {0, 0}, extents[1] = {size + 1},
              not_periodic[1] = {0};
    weft_neighbors* neighbors = NULL;
    REFUSED(weft_neighbors_create(world, no_member, 1, NULL, 0, &neighbors),
            "sources: -1 is not a member of the team");
    REFUSED(weft_neighbors_create(world, NULL, 0, twice, 2, &neighbors), "named twice");
    REFUSED(weft_neighbors_create(world, NULL, 1, NULL, 0, &neighbors),
            "sources is NULL, expected 1 ranks");
    REFUSED(weft_neighbors_create(world, NULL, 0, NULL, 0, NULL), "out is NULL");
    REFUSED(weft_neighbors_on_grid(world, 1, extents, not_periodic, &neighbors), "extents");
    REFUSED(weft_neighbors_on_grid(world, 0, extents, not_periodic, &neighbors), "dimension");
    CHECK(neighbors == NULL);
    REFUSED(weft_neighbor_alltoall(NULL, NULL, NULL, 0, WEFT_INT64), "neighbors is NULL");
    CHECK(weft_neighbors_sources(NULL) == -1);
    REFUSED(weft_neighbors_free(NULL), "neighbors is NULL");
    const int own[1] = {my_rank};
    DONE(weft_neighbors_create(world, own, 1, own, 1, &neighbors));
    REFUSED(weft_neighbor_alltoall(neighbors, WEFT_IN_PLACE, &wrong, 1, WEFT_INT32), "in");
    REFUSED(weft_neighbor_alltoallv(neighbors, NULL, NULL, NULL, NULL, NULL, NULL, WEFT_INT64),
            "expected a block for each of 1 neighbors");
    DONE(weft_neighbors_free(&neighbors));
}

int main(void) {
    if (!join_job()) return 3;
    ring();
    line();
    stencil(WEFT_WAY_PREDICTED);
    stencil(WEFT_WAY_DIRECT);
    stencil(WEFT_WAY_COMBINED);
    refusals();
    DONE(weft_barrier(world));
    DONE(weft_finalize(runtime));
    return verdict("all neighbors are right");
}
