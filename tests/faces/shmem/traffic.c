/* SPDX-License-Identifier: BSD-3-Clause */
// traffic.c - random one-sided traffic of all PEs, compared with a serial model of their memory.
//
// usage: weft_shmem_traffic SEED OPERATIONS [wrong]
//
// Idea     All PEs draw the same operations, with origin and target, from the seed. A PE executes
//          the operations of which it is the origin, and applies all operations to its model of
//          the PEs' memory. After each round its memory must equal the model.
// Why      The result must not depend on timing. Therefore, in a round, one PE writes a word with
//          a fence before each write, or several PEs change it by commutative operations, or PEs
//          only read it. The signal counts 3 for each put with a signal.
// Control  `wrong`: PE 0 adds a value that differs from the model; the job must report it.
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/traffic_draw.h"

enum {
    kCells = 48,   // words of each PE
    kBlock = 96,   // bytes that each PE writes in each PE's memory
    kRound = 600,  // operations of a round
    kPesMax = 16,
    kContexts = 3
};

typedef struct {
    uint64_t cells[kCells];
    unsigned char blocks[kPesMax][kBlock];  // by writing PE
    uint64_t signal;
} memory;

static memory mine;            // symmetric: target of the operations
static memory* model;          // expected memory, by PE
static uint64_t held[kRound];  // operands and results of nbi operations, kept until the quiet
static int n, self, failures;  // number of PEs, this PE, differences
static int wrong;              // 1: the next addition differs from the model (`wrong`)
static shmem_ctx_t contexts[kContexts];

static uint64_t role(int round, int pe, int cell) {
    return role_of_cell(round, pe * kCells + cell);
}

static void expect(int holds, const char* what, int round, int pe, int cell) {
    if (!holds && failures++ < 5)
        fprintf(stderr,
                "traffic: seed %llu: round %d: PE %d: %s of PE %d, cell %d: not as expected\n",
                (unsigned long long)seed, round, self, what, pe, cell);
}

// Returns the number of a PE in a context. The team of the last context has the PEs in reverse.
static int pe_in_context(int context, int pe) {
    return context == kContexts - 1 ? n - 1 - pe : pe;
}

// Writes a cell by one of five routines, selected by `how`.
static void write_cell(int how, int context, int pe, int cell, uint64_t value, int slot) {
    const shmem_ctx_t ctx = contexts[context];
    uint64_t* const at = &mine.cells[cell];
    const int to = pe_in_context(context, pe);
    held[slot] = value;
    shmem_ctx_fence(ctx);  // after this PE's earlier puts to the cell
    switch (how) {
        case 0:
            shmem_ctx_uint64_p(ctx, at, value, to);
            break;
        case 1:
            shmem_ctx_put64(ctx, at, &value, 1, to);
            break;
        case 2:
            shmem_ctx_uint64_put_nbi(ctx, at, &held[slot], 1, to);
            break;
        case 3:
            shmem_ctx_iput32(ctx, at, &value, 1, 1, 2, to);
            break;
        default:
            shmem_ctx_uint64_atomic_set(ctx, at, value, to);
    }
}

// Changes a cell by a commutative operation: `use` is its role, `how` selects the routine.
static void change_cell(int use, int how, int context, int pe, int cell, uint64_t value, int slot) {
    const shmem_ctx_t ctx = contexts[context];
    uint64_t* const at = &mine.cells[cell];
    int32_t* const half = (int32_t*)at + how % 2;
    const int to = pe_in_context(context, pe);
    if (use == kAdded && how < 2) shmem_ctx_uint64_atomic_add(ctx, at, value, to);
    if (use == kAdded && how == 2) shmem_ctx_uint64_atomic_fetch_add(ctx, at, value, to);
    if (use == kAdded && how > 2)
        shmem_ctx_uint64_atomic_fetch_add_nbi(ctx, &held[slot], at, value, to);
    if (use == kMixed && how < 3) shmem_ctx_uint64_atomic_xor(ctx, at, value, to);
    if (use == kMixed && how > 2) shmem_ctx_uint64_atomic_fetch_xor(ctx, at, value, to);
    if (use == kHalves) shmem_ctx_int32_atomic_add(ctx, half, (int32_t)value, to);
    if (use == kSwapped) {  // adds by compare-and-swap until it succeeds
        uint64_t seen = shmem_ctx_uint64_atomic_fetch(ctx, at, to);
        for (uint64_t found; (found = shmem_ctx_uint64_atomic_compare_swap(
                                  ctx, at, seen, seen + value, to)) != seen;)
            seen = found;
    }
}

static void do_cell(int round, int slot) {
    const int pe = below(n), cell = below(kCells), how = below(5), signalled = below(4) == 0;
    int origin = below(n), context = below(kContexts);
    const uint64_t value = draw(), drawn = role(round, pe, cell);
    const int use = (int)(drawn % kUses);
    memory* const modeled = &model[pe];
    if (use == kWritten) {
        origin = (int)((drawn >> 8) % (unsigned)n);
        context = (int)((drawn >> 20) % kContexts);
    }
    if (use == kRead) {
        if (origin != self) return;
        uint64_t got = 0;
        if (how < 2)
            got = shmem_ctx_uint64_g(contexts[context], &mine.cells[cell],
                                     pe_in_context(context, pe));
        if (how > 1)
            shmem_ctx_get64(contexts[context], &got, &mine.cells[cell], 1,
                            pe_in_context(context, pe));
        expect(got == modeled->cells[cell], "the value read", round, pe, cell);
        return;
    }
    if (use == kWritten && signalled) {
        modeled->signal += 3;
        modeled->cells[cell] = value;
        if (origin != self) return;
        shmem_ctx_fence(contexts[context]);
        shmem_ctx_uint64_put_signal(contexts[context], &mine.cells[cell], &value, 1, &mine.signal,
                                    3, SHMEM_SIGNAL_ADD, pe_in_context(context, pe));
        return;
    }
    uint64_t sent = value;
    if (wrong && origin == self && round == 1 && use == kAdded) {
        wrong = 0;
        sent += 1;
    }
    if (use == kWritten) {
        modeled->cells[cell] = value;
        if (origin == self) write_cell(how, context, pe, cell, sent, slot);
    } else {
        model_change(use, how, &modeled->cells[cell], value);
        if (origin == self) change_cell(use, how, context, pe, cell, sent, slot);
    }
}

static void do_block(void) {
    const int pe = below(n), origin = below(n), from = below(kBlock), strided = below(2);
    const int length = strided ? 1 + below((kBlock - from + 2) / 3) : 1 + below(kBlock - from);
    const int step = strided ? 3 : 1;
    const uint64_t value = draw();
    unsigned char bytes[kBlock];
    for (int i = 0; i < length; ++i) {
        bytes[i] = (unsigned char)(value >> i % 8 * 8);
        model[pe].blocks[origin][from + i * step] = bytes[i];
    }
    if (origin != self) return;
    shmem_fence();
    if (strided)
        shmem_iput8(&mine.blocks[self][from], bytes, step, 1, (size_t)length, pe);
    else
        shmem_putmem(&mine.blocks[self][from], bytes, (size_t)length, pe);
}

static void check_round(int round) {
    static long sum, all;
    shmem_signal_wait_until(&mine.signal, SHMEM_CMP_EQ, model[self].signal);
    for (int i = 0; i < kContexts; ++i) shmem_ctx_quiet(contexts[i]);
    shmem_barrier_all();
    for (int cell = 0; cell < kCells; ++cell)
        expect(mine.cells[cell] == model[self].cells[cell], "memory", round, self, cell);
    for (int pe = 0; pe < n; ++pe)
        expect(memcmp(mine.blocks[pe], model[self].blocks[pe], kBlock) == 0, "a block", round, pe,
               -1);
    sum = self + round;
    shmem_long_sum_reduce(round % 2 ? SHMEM_TEAM_WORLD : SHMEM_TEAM_SHARED, &all, &sum, 1);
    if (round % 2) expect(all == (long)n * (n - 1) / 2 + (long)n * round, "a sum", round, -1, -1);
    shmem_barrier_all();
}

int main(int argc, char** argv) {
    static int failed, failed_of_all;
    if (argc < 3) return 2;
    shmem_team_t reversed;
    seed = strtoull(argv[1], NULL, 0);
    const long operations = strtol(argv[2], NULL, 0);
    shmem_init();
    n = shmem_n_pes();
    self = shmem_my_pe();
    wrong = argc > 3 && self == 0;
    if (n > kPesMax) shmem_global_exit(2);
    model = calloc((size_t)n, sizeof *model);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reversed);
    contexts[0] = SHMEM_CTX_DEFAULT;
    shmem_ctx_create(SHMEM_CTX_PRIVATE, &contexts[1]);
    shmem_team_create_ctx(reversed, 0, &contexts[2]);
    state = seed;
    long done = 0;
    for (int round = 0; done < operations; ++round) {
        for (int slot = 0; slot < kRound; ++slot) below(4) == 0 ? do_block() : do_cell(round, slot);
        done += kRound;
        check_round(round);
    }
    failed = failures;
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &failed_of_all, &failed, 1);
    if (self == 0)
        printf("seed %llu: %ld operations, %d PEs: %d differences\n", (unsigned long long)seed,
               done, n, failed_of_all);
    fflush(stdout);
    shmem_ctx_destroy(contexts[1]);
    shmem_ctx_destroy(contexts[2]);
    shmem_team_destroy(reversed);
    free(model);
    shmem_finalize();
    return failed_of_all == 0 ? 0 : 1;
}
