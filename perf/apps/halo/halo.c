/* SPDX-License-Identifier: BSD-3-Clause */
// halo.c - a cellular automaton on a torus, in blocks on a grid of ranks, in C.
//
// usage: halo [ROWS COLUMNS STEPS]      cells of each rank's block; default 12 20 10
//
// Idea     A block has a frame for the edges of its neighbors: north and south in the team of the
//          rank's column, west and east in the team of its row. Before each step a rank puts its
//          edges into the frames of the neighbors. Columns are put with a stride. A signal for each
//          side counts the steps.
// Why      Two copies of the block, for even and odd steps, suffice without a barrier. A neighbor
//          puts the edges of step t + 2 after it has received this rank's edges of step t + 1. This
//          rank put these when it no longer read the copy of step t.
// Holds    Rank 0 computes the torus alone and compares all cells. Exit status: 0 right, 1 wrong, 3
//          a call of weft failed.
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { kNorth, kSouth, kWest, kEast, kSides };

typedef struct cell_block {
    size_t height, width;  // without the frame
    uint32_t* cells;       // two copies with frames, for even and odd steps
} cell_block;

static void need(weft_status status) {
    if (status == WEFT_OK) return;
    fprintf(stderr, "halo: %s\n", weft_last_error());
    exit(3);
}

static uint32_t* cell(const cell_block* block, uint64_t step, size_t row, size_t column) {
    return block->cells + ((step % 2 * (block->height + 2) + row) * (block->width + 2) + column);
}

// Fills a block of the torus whose first cell has these coordinates.
static void fill(const cell_block* block, size_t row, size_t column) {
    for (size_t y = 0; y < block->height; ++y)
        for (size_t x = 0; x < block->width; ++x)
            *cell(block, 0, y + 1, x + 1) = (uint32_t)((row + y) * 40503 + (column + x) * 977);
}

static void compute(const cell_block* block, uint64_t step) {
    for (size_t y = 1; y <= block->height; ++y)
        for (size_t x = 1; x <= block->width; ++x)
            *cell(block, step + 1, y, x) =
                2654435761U * *cell(block, step, y, x) + *cell(block, step, y - 1, x) +
                3 * *cell(block, step, y + 1, x) + 5 * *cell(block, step, y, x - 1) +
                7 * *cell(block, step, y, x + 1);
}

// Puts the edges of this step to the neighbors, and waits for their edges.
static void exchange(const cell_block* block, uint64_t step, weft_team* row, weft_team* column,
                     uint64_t* signals) {
    const uint64_t sent = step + 1;
    const size_t height = block->height, width = block->width, bytes = width * sizeof(uint32_t);
    const ptrdiff_t stride = (ptrdiff_t)((width + 2) * sizeof(uint32_t));
    const int x = weft_rank(row), columns = weft_size(row);
    const int y = weft_rank(column), rows = weft_size(column);
    const int north = (y + rows - 1) % rows, south = (y + 1) % rows;
    const int west = (x + columns - 1) % columns, east = (x + 1) % columns;
    need(weft_put_signal(column, cell(block, step, height + 1, 1), cell(block, step, 1, 1), bytes,
                         &signals[kSouth], sent, 0, north));
    need(weft_put_signal(column, cell(block, step, 0, 1), cell(block, step, height, 1), bytes,
                         &signals[kNorth], sent, 0, south));
    need(weft_put_strided_signal(row, cell(block, step, 1, width + 1), stride,
                                 cell(block, step, 1, 1), stride, sizeof(uint32_t), height,
                                 &signals[kEast], sent, 0, west));
    need(weft_put_strided_signal(row, cell(block, step, 1, 0), stride, cell(block, step, 1, width),
                                 stride, sizeof(uint32_t), height, &signals[kWest], sent, 0, east));
    const weft_words arrived = {signals, kSides, WEFT_UINT64, WEFT_GE, &sent, 0, NULL};
    need(weft_wait_all(row, &arrived, WEFT_FOREVER));
}

// Computes the whole torus on this rank. Returns the number of cells in which the ranks differ.
static size_t differences(weft_team* world, const cell_block* own, size_t columns, uint64_t steps) {
    const size_t ranks = (size_t)weft_size(world), rows = ranks / columns;
    cell_block whole = {rows * own->height, columns * own->width, NULL};
    whole.cells = calloc(2 * (whole.height + 2) * (whole.width + 2), sizeof(uint32_t));
    uint32_t* const line = malloc(own->width * sizeof(uint32_t));
    if (whole.cells == NULL || line == NULL) exit(3);
    fill(&whole, 0, 0);
    for (uint64_t step = 0; step < steps; ++step) {
        for (size_t y = 1; y <= whole.height; ++y) {
            *cell(&whole, step, y, 0) = *cell(&whole, step, y, whole.width);
            *cell(&whole, step, y, whole.width + 1) = *cell(&whole, step, y, 1);
        }
        for (size_t x = 1; x <= whole.width; ++x) {
            *cell(&whole, step, 0, x) = *cell(&whole, step, whole.height, x);
            *cell(&whole, step, whole.height + 1, x) = *cell(&whole, step, 1, x);
        }
        compute(&whole, step);
    }
    size_t found = 0;
    for (size_t y = 0; y < whole.height; ++y)
        for (size_t x = 0; x < whole.width; ++x) {
            const size_t rank = y / own->height * columns + x / own->width;
            if (x % own->width == 0)
                need(weft_get(world, line, cell(own, steps, y % own->height + 1, 1),
                              own->width * sizeof(uint32_t), (int)rank));
            found += line[x % own->width] != *cell(&whole, steps, y + 1, x + 1);
        }
    free(line);
    free(whole.cells);
    return found;
}

int main(int argc, char** argv) {
    cell_block block = {argc > 1 ? strtoul(argv[1], NULL, 10) : 12,
                        argc > 2 ? strtoul(argv[2], NULL, 10) : 20, NULL};
    const uint64_t steps = argc > 3 ? strtoul(argv[3], NULL, 10) : 10;
    weft_runtime* runtime;
    weft_team *row, *column;
    void *cells, *signals;
    need(weft_init(&runtime));
    weft_team* const world = weft_world(runtime);
    const int ranks = weft_size(world);
    int columns = 1;
    for (int i = 1; i * i <= ranks; ++i)
        if (ranks % i == 0) columns = i;

    need(weft_team_split_2d(world, columns, &row, &column));
    need(weft_calloc(world, 2 * (block.height + 2) * (block.width + 2), sizeof(uint32_t), &cells));
    need(weft_calloc(world, kSides, sizeof(uint64_t), &signals));
    block.cells = cells;
    fill(&block, (size_t)weft_rank(column) * block.height, (size_t)weft_rank(row) * block.width);
    for (uint64_t step = 0; step < steps; ++step) {
        exchange(&block, step, row, column, signals);
        compute(&block, step);
    }
    need(weft_barrier(world));
    size_t wrong = 0;
    if (weft_rank(world) == 0) {
        wrong = differences(world, &block, (size_t)columns, steps);
        printf("%d ranks in %d columns, %lu steps: %zu cells differ\n", ranks, columns,
               (unsigned long)steps, wrong);
    }
    need(weft_finalize(runtime));
    return wrong != 0;
}
