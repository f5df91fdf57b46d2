/* SPDX-License-Identifier: BSD-3-Clause */
// main.c - runs test programs, which are functions, one after another in one job.
//
// usage: weft_shmem_programs [PROGRAM...|--list]     default: all programs of PROGRAMS below
#include "programs/program.h"

int failures = 0;
const char* running = "";

// clang-format off
#define PROGRAMS(X)                                                                                \
    X(identity) X(information) X(accessible) X(pointers) X(variables) X(allocate)                  \
    X(allocate_zeroed) X(allocate_aligned) X(reallocate) X(allocate_with_hints)                    \
    X(deprecated_names) X(put_types) X(put_nbi_types) X(get_types) X(elements) X(strided_types)    \
    X(put_sizes) X(get_sizes) X(strided_sizes) X(put_large) X(put_unaligned) X(put_nothing)        \
    X(put_to_self) X(put_from_all) X(generic_transfers) X(fence_orders) X(quiet_completes)         \
    X(contexts) X(contexts_of_teams) X(signals_of_types) X(signals_of_sizes) X(signals_add_up)     \
    X(generic_signals) X(waits_return_what_they_saw) X(lock_protects) X(lock_is_tested)       \
    X(locks_are_independent)                                                                       \
    X(atomic_adds) X(atomic_tickets) X(atomic_compare_swaps) X(atomic_swaps) X(atomic_sets)        \
    X(atomic_bits) X(nonblocking_atomics) X(atomic_neighbours) X(deprecated_atomics)               \
    X(generic_atomics) X(wait_types) X(wait_signed) X(wait_all_types) X(wait_any_types)            \
    X(wait_some_types) X(wait_skips_excluded) X(test_in_loop) X(deprecated_waits)                  \
    X(generic_waits) X(barriers) X(broadcasts) X(collects) X(alltoalls) X(collectives_of_bytes)    \
    X(reduce_sums) X(reduce_extremes) X(reduce_bits) X(reduce_complex) X(reduce_in_place)          \
    X(reduce_exactly)                                                                             \
    X(generic_collectives) X(sets_synchronize) X(sets_broadcast) X(sets_collect) X(sets_alltoall)  \
    X(sets_reduce_sums) X(sets_reduce_extremes) X(sets_reduce_bits) X(team_of_all)                 \
    X(team_of_node) X(split_by_stride) X(split_special_cases) X(split_in_two_dimensions)           \
    X(teams_of_teams) X(destroyed_teams_free_places) X(collectives_in_teams) X(ring) X(histogram)  \
    X(transpose) X(work_queue) X(halo) X(bucket_sort) X(children_end) X(polls_own_word)            \
    X(blocks_of_types) X(blocks_of_sizes) X(blocks_of_one_element) X(signals_alone) X(scan_types)  \
    X(ctx_puts_of_types) X(ctx_gets_of_types) X(ctx_transfers_of_sizes) X(ctx_atomics_of_types)    \
    X(scan_in_teams) X(pointers_in_teams) X(quiet_for_some_pes) X(sessions) X(starts_several_times)

// Programs that fail, end the job or need settings. They only run if the command names them.
#define MISTAKES(X)                                                                                \
    X(fails_on_last_pe) X(puts_outside) X(puts_to_unknown_pe) X(clears_lock_twice)                 \
    X(clears_lock_of_another_pe) X(frees_inner_pointer) X(allocates_six_mebibytes)                 \
    X(allocates_at_small_alignments) X(overlapping_blocks) X(exits_with_7) X(exits_with_0)         \
    X(exits_with_255)
// clang-format on

#define DECLARE(name) void name(void);
PROGRAMS(DECLARE)
MISTAKES(DECLARE)

struct program {
    const char* name;
    void (*call)(void);
    int by_name_only;
};
#define ENTRY(name) {#name, name, 0},
#define MISTAKE(name) {#name, name, 1},
static const struct program programs[] = {PROGRAMS(ENTRY) MISTAKES(MISTAKE)};
enum { kPrograms = sizeof programs / sizeof programs[0] };

static int is_selected(int argc, char** argv, const struct program* program) {
    for (int i = 1; i < argc; ++i)
        if (strcmp(argv[i], program->name) == 0) return 1;
    return argc == 1 && !program->by_name_only;
}

int main(int argc, char** argv) {
    static int failed, failed_of_all;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < kPrograms; ++i) puts(programs[i].name);
        return 0;
    }
    int done = 0;
    shmem_init();
    for (int i = 0; i < kPrograms; ++i) {
        if (!is_selected(argc, argv, &programs[i])) continue;
        running = programs[i].name;
        programs[i].call();
        shmem_barrier_all();
        ++done;
    }
    failed = failures;
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &failed_of_all, &failed, 1);
    if (shmem_my_pe() == 0)
        printf("%d programs, %d PEs: %d checks failed\n", done, shmem_n_pes(), failed_of_all);
    fflush(stdout);  // before a PE ends with status 1: the launcher then ends all other PEs
    shmem_finalize();
    return failed_of_all == 0 && done > 0 ? 0 : 1;
}
