/* SPDX-License-Identifier: BSD-3-Clause */
// traffic_draw.h - random numbers for programs that make random puts, gets and atomic operations on
// cells (words), and the model of a cell.
//
// Holds    Ranks that begin with the same state draw the same numbers. The role of a cell in a
//          round depends only on the seed, the round and the cell, not on earlier draws.
#ifndef TESTS_SUPPORT_TRAFFIC_DRAW_H
#define TESTS_SUPPORT_TRAFFIC_DRAW_H

#include <stdint.h>
#include <string.h>

// Uses of a cell in a round: written by one rank, changed by atomic add, by atomic xor, by atomic
// add to one half, by compare-and-swap, or only read. kUses is their number.
enum { kWritten, kAdded, kMixed, kHalves, kSwapped, kRead, kUses };

static uint64_t state, seed = 1;  // state and seed of the random numbers

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

// Returns a random number that determines a cell's use, its writer, and the handle or context of
// the writer. `cell` is the cell's index among the cells of all ranks.
static uint64_t role_of_cell(int round, int cell) {
    const uint64_t saved = state;
    state = seed * 31 + (uint64_t)round * 1009 + (uint64_t)cell;
    draw();
    const uint64_t drawn = draw();
    state = saved;
    return drawn;
}

// Changes a cell of the model as an operation with `value` changes the real cell. `how` is the
// index of the operation's form; its lowest bit selects the half for kHalves.
static void model_change(int use, int how, uint64_t* at, uint64_t value) {
    uint32_t halves[2];
    if (use == kAdded || use == kSwapped) *at += value;
    if (use == kMixed) *at ^= value;
    if (use != kHalves) return;
    memcpy(halves, at, sizeof halves);
    halves[how % 2] += (uint32_t)value;
    memcpy(at, halves, sizeof halves);
}

#endif
