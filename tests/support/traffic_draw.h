/* SPDX-License-Identifier: BSD-3-Clause */
// traffic_draw.h - what the programs of random traffic draw from: one stream for all ranks.
//
// Holds    All ranks that begin with the same state draw the same. What a cell is for in a round
//          follows from the seed, the round and the cell alone, whatever was drawn before.
#ifndef TESTS_SUPPORT_TRAFFIC_DRAW_H
#define TESTS_SUPPORT_TRAFFIC_DRAW_H

#include <stdint.h>

static uint64_t state, seed = 1;  // of the drawing

static uint64_t draw(void) {
    state += 0x9e3779b97f4a7c15ULL;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}
static int below(int bound) {
    return (int)(draw() % (unsigned)bound);
}

// Of the cell with that number, counted over all ranks: its use, and who writes it by which handle.
static uint64_t role_of_cell(int round, int cell) {
    const uint64_t kept = state;
    state = seed * 31 + (uint64_t)round * 1009 + (uint64_t)cell;
    draw();
    const uint64_t drawn = draw();
    state = kept;
    return drawn;
}

#endif
