// SPDX-License-Identifier: BSD-3-Clause
// collectives.c - makes every collective in its blocking, started and persistent form, with every
// type and operation, in place or not.
//
// c_trial.h supplies arguments and checks results. The program overwrites the arrays of counts and
// displacements as soon as a call has started, because the library must have copied them.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "c_trial.h"
#include "check.h"

static weft_team* team;

// ---- The calls ----------------------------------------------------------------------------------

enum form { kBlocking, kStarted, kPersistent };

/// Names and arguments (in `a`) of all collectives except the barrier, in the order of c_trial.h.
#define FOR_EACH_COLLECTIVE(CALL)                                                                 \
    CALL(broadcast, a->out, a->count, a->type, a->root)                                           \
    CALL(reduce, a->in, a->out, a->count, a->type, a->op, a->root)                                \
    CALL(allreduce, a->in, a->out, a->count, a->type, a->op)                                      \
    CALL(gather, a->in, a->out, a->count, a->type, a->root)                                       \
    CALL(scatter, a->in, a->out, a->count, a->type, a->root)                                      \
    CALL(allgather, a->in, a->out, a->count, a->type)                                             \
    CALL(alltoall, a->in, a->out, a->count, a->type)                                              \
    CALL(reduce_scatter, a->in, a->out, a->count, a->type, a->op)                                 \
    CALL(scan, a->in, a->out, a->count, a->type, a->op)                                           \
    CALL(exscan, a->in, a->out, a->count, a->type, a->op)                                         \
    CALL(gatherv, a->in, a->count, a->out, a->out_counts, a->out_displacements, a->type, a->root) \
    CALL(scatterv, a->in, a->in_counts, a->in_displacements, a->out, a->count, a->type, a->root)  \
    CALL(allgatherv, a->in, a->out, a->out_counts, a->out_displacements, a->type)                 \
    CALL(alltoallv, a->in, a->in_counts, a->in_displacements, a->out, a->out_counts,              \
         a->out_displacements, a->type)                                                           \
    CALL(reduce_scatterv, a->in, a->out, a->in_counts, a->type, a->op)

#define DEFINE(name, ...)                                                           \
    static weft_status call_##name(enum form form, const struct trial_arguments* a, \
                                   weft_request** request) {                        \
        switch (form) {                                                             \
            case kBlocking:                                                         \
                return weft_##name(team, __VA_ARGS__);                              \
            case kStarted:                                                          \
                return weft_i##name(team, __VA_ARGS__, request);                    \
            default:                                                                \
                return weft_##name##_init(team, __VA_ARGS__, request);              \
        }                                                                           \
    }
FOR_EACH_COLLECTIVE(DEFINE)

#define NAME_AND_CALL(name, ...) {#name, call_##name},
static const struct {
    const char* name;
    weft_status (*call)(enum form, const struct trial_arguments*, weft_request**);
} kCalls[kCollectives] = {{"barrier", NULL}, FOR_EACH_COLLECTIVE(NAME_AND_CALL)};

// ---- One trial ----------------------------------------------------------------------------------

static int batch;  ///< number of calls; selects the values of the inputs

/// Counts and prints a wrong result.
static void check(struct trial* trial, const struct trial_facts* facts, const char* form) {
    const char* const complaint = trial_check(trial);
    if (complaint[0] == 0) return;
    ++wrong;
    fprintf(stderr,
            "rank %d: %s %s, type %d, op %d, count %zu, pattern %d, root %d, in place %d: %s\n",
            my_rank, form, kCalls[facts->collective].name, (int)facts->type, (int)facts->op,
            facts->count, facts->pattern, facts->root, facts->in_place, complaint);
}

/// Checks that results are equal on all ranks, including padding: the maximum of the hashes and of
/// their complements must be this rank's.
static void check_bytes(struct trial* trial) {
    uint64_t hashes[2] = {trial_hash(trial), 0};
    hashes[1] = ~hashes[0];
    const uint64_t mine = hashes[0];
    DONE(weft_allreduce(team, WEFT_IN_PLACE, hashes, 2, WEFT_UINT64, WEFT_MAX));
    CHECK(hashes[0] == mine && hashes[1] == ~mine);
}

/// Makes the call in its three forms; starts the persistent call twice.
static void try_forms(const struct trial_facts* facts) {
    struct trial* const trial = trial_open(facts, my_rank, size);
    weft_request* request = NULL;
    DONE(kCalls[facts->collective].call(kBlocking, trial_prepare(trial, ++batch), NULL));
    check(trial, facts, "blocking");
    if (facts->collective == kAllreduce && size > 1) check_bytes(trial);
    DONE(kCalls[facts->collective].call(kStarted, trial_prepare(trial, ++batch), &request));
    trial_overwrite_arguments(trial);
    DONE(weft_wait(&request));
    CHECK(request == NULL);
    check(trial, facts, "started");
    DONE(kCalls[facts->collective].call(kPersistent, trial_prepare(trial, ++batch), &request));
    trial_overwrite_arguments(trial);
    for (int start = 0; start < 2; ++start) {
        if (start > 0) {
            trial_prepare(trial, ++batch);
            trial_overwrite_arguments(trial);
        }
        DONE(weft_start(request));
        DONE(weft_wait(&request));
        check(trial, facts, "persistent");
    }
    DONE(weft_request_free(&request));
    trial_close(trial);
}

// ---- All trials ---------------------------------------------------------------------------------

static int variant;  ///< number of calls of try_next_variant()

/// Makes a call with the next root, placement, shift, count, pattern and spacing.
static void try_next_variant(struct trial_facts facts) {
    static const size_t kCounts[] = {5, 70, 1, 1500};
    ++variant;
    facts.root = variant % size;
    facts.in_place = variant % 2;
    facts.shift = (size_t)(variant % 3 == 0);
    facts.count = kCounts[variant / 2 % 4];
    facts.pattern = variant % trial_patterns();
    facts.spacing = variant % 3;
    try_forms(&facts);
}

/// Makes a call for each type and, of reductions, for each operation of the type.
static void try_types(int collective) {
    for (int type = 0; type < kTypes; ++type) {
        struct trial_facts facts = {.collective = collective, .type = (weft_type)type};
        if (!trial_reduces(collective)) try_next_variant(facts);
        for (int op = 0; op < kOps && trial_reduces(collective); ++op) {
            facts.op = (weft_op)op;
            if (trial_has_operation(facts.type, facts.op)) try_next_variant(facts);
        }
    }
}

/// Makes calls with every root, pattern and spacing, in place or not. Calls with one count use 0
/// and 3000.
static void try_arrangements(int collective, weft_op user) {
    const int patterns = trial_has_counts(collective) ? trial_patterns() : 2;
    const int spacings = trial_has_counts(collective) ? 3 : 1;
    const int roots = trial_is_rooted(collective) ? size : 1;
    for (int i = 0; i < patterns * spacings * roots * 2; ++i) {
        const int pattern = i / 2 / roots % patterns;
        const struct trial_facts facts = {
            .collective = collective,
            .type = trial_reduces(collective) ? WEFT_INT64_INT64 : WEFT_DOUBLE_INT,
            .op = user,
            .user = trial_reduces(collective),
            .count = pattern == 0 ? 0 : 3000,
            .pattern = pattern,
            .root = i / 2 % roots,
            .in_place = i % 2,
            .spacing = i / 2 / roots / patterns};
        try_forms(&facts);
    }
}

/// Makes calls of all collectives, of all types only if `with_types`.
static void all_calls(int with_types) {
    size_t combined = 0;
    weft_op user = WEFT_OP_NONE;
    DONE(weft_op_create(trial_compose, &combined, 0, &user));
    for (int collective = 1; collective < kCollectives; ++collective) {
        CHECK(strcmp(kCalls[collective].name, trial_name(collective)) == 0);
        if (with_types) try_types(collective);
        try_arrangements(collective, user);
    }
    DONE(weft_allreduce(team, WEFT_IN_PLACE, &combined, 1, WEFT_UINT64, WEFT_SUM));
    CHECK((combined > 0) == (size > 1));  // a single rank applies no operation
    DONE(weft_op_free(&user));
}

/// Starts one call of each collective and waits for them in the reverse order.
static void all_in_flight(void) {
    struct trial_facts facts[kCollectives];
    struct trial* trials[kCollectives];
    weft_request* requests[kCollectives];
    for (int i = 1; i < kCollectives; ++i) {
        facts[i] = (struct trial_facts){
            .collective = i, .type = WEFT_INT32, .count = 40, .root = i % size, .spacing = i % 3};
        trials[i] = trial_open(&facts[i], my_rank, size);
        DONE(kCalls[i].call(kStarted, trial_prepare(trials[i], ++batch), &requests[i]));
        trial_overwrite_arguments(trials[i]);
    }
    for (int i = kCollectives - 1; i > 0; --i) {
        DONE(weft_wait(&requests[i]));
        check(trials[i], &facts[i], "outstanding");
        trial_close(trials[i]);
    }
}

int main(void) {
    if (!join_job()) return 1;
    team = world;
    all_calls(1);
    all_in_flight();
    // A team of the same ranks in reverse order.
    weft_team* reversed = NULL;
    DONE(weft_team_split(team, 0, -my_rank, &reversed));
    team = reversed;
    my_rank = weft_rank(team);
    all_calls(0);
    DONE(weft_team_free(reversed));
    DONE(weft_finalize(runtime));
    return verdict("all collectives are right");
}
