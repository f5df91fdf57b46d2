// SPDX-License-Identifier: BSD-3-Clause
/* callers_job.c - tests weft_init_with(), by which a program starts ranks without a launcher, and
 * weft_team_create(), which only the members of the new team call.
 *
 * Idea     The program forks its ranks. They exchange start-up data by the functions barrier_*()
 *          and allgather() below, in shared memory.
 * Checks   weft_init_with() does not wait for a rank that could not start. Freeing a team does not
 *          wait for other members, and frees its table entry. A team needs no other ranks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kRanks = 4, kBytesMax = 1 << 16, kGroups = 1 << kRanks };

/* Shared memory in which a group of ranks exchanges data. A group is a bit set of ranks. */
struct exchange {
    int entered; /* barriers entered, summed over all members */
    char bytes[kRanks][kBytesMax];
};
static struct exchange* exchanges;

/* A group as its members see it: the argument of the functions below. */
struct group {
    unsigned members; /* bit set; 0 for the exchange at start-up */
    int rank;         /* of this process in the group */
    int size;
    int barriers; /* barriers that this process has started */
};

static int barrier_start(void* arg) {
    struct group* group = arg;
    ++group->barriers;
    __atomic_fetch_add(&exchanges[group->members].entered, 1, __ATOMIC_ACQ_REL);
    return 0;
}

static int barrier_test(void* arg, int* done) {
    const struct group* group = arg;
    const int entered = __atomic_load_n(&exchanges[group->members].entered, __ATOMIC_ACQUIRE);
    *done = entered >= group->barriers * group->size;
    if (!*done) sched_yield();
    return 0;
}

static void barrier(struct group* group) {
    int done = 0;
    barrier_start(group);
    while (!done) barrier_test(group, &done);
}

static int allgather(void* arg, const void* mine, void* all, size_t bytes) {
    struct group* group = arg;
    struct exchange* memory = &exchanges[group->members];
    if (bytes > kBytesMax) return 1;
    memcpy(memory->bytes[group->rank], mine, bytes);
    barrier(group);
    for (int r = 0; r < group->size; ++r)
        memcpy((char*)all + (size_t)r * bytes, memory->bytes[r], bytes);
    barrier(group);
    return 0;
}

/* Makes the group of these ranks and lists them in ascending order. Returns 1 if this process is a
 * member. */
static int make_group(unsigned members, struct group* group, int ranks[kRanks]) {
    static int barriers[kGroups]; /* barriers of earlier groups of the same ranks */
    group->members = members;
    group->size = 0;
    for (int r = 0; r < kRanks; ++r) {
        if ((members >> r & 1U) == 0) continue;
        if (r == my_rank) group->rank = group->size;
        ranks[group->size++] = r;
    }
    group->barriers = barriers[members];
    barriers[members] += 2; /* weft_team_create() makes one allgather, of two barriers */
    return (int)(members >> my_rank & 1U);
}

static void check_sum(weft_team* team, unsigned members) {
    double mine = 1 << my_rank, sum = 0;
    DONE(weft_allreduce(team, &mine, &sum, 1, WEFT_DOUBLE, WEFT_SUM));
    CHECK(sum == members);
}

/* Makes and drops more teams than can exist at once. Members drop teams in different orders while a
 * barrier of each team is in flight. */
static void check_teams(void) {
    weft_team* teams[8];
    weft_request* started[8];
    for (int round = 0; round < 40; ++round) {
        int made = 0;
        /* All groups of rank 0 and at least one other rank. */
        for (unsigned members = 3; members < kGroups; members += 2) {
            struct group group;
            int ranks[kRanks];
            if (!make_group(members, &group, ranks)) continue;
            DONE(weft_team_create(runtime, ranks, group.size, allgather, &group, &teams[made]));
            if (wrong != 0) return;
            CHECK(weft_rank(teams[made]) == group.rank && weft_size(teams[made]) == group.size);
            check_sum(teams[made], members);
            DONE(weft_ibarrier(teams[made], &started[made]));
            ++made;
        }
        for (int t = 0; t < made; ++t)
            DONE(weft_team_drop(teams[my_rank % 2 == 0 ? t : made - 1 - t]));
        for (int t = 0, done = 0; t < made; ++t, done = 0) {
            while (!done && wrong == 0) {
                weft_progress(runtime);
                DONE(weft_request_ended(started[t], &done));
            }
            DONE(weft_wait(&started[t]));
        }
        check_sum(world, kGroups - 1);
    }
}

/* Replaces pthread_create() of the process: fails if `threads_fail` is set. */
static int threads_fail;
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* arg) {
    int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    *(void**)&create = dlsym(RTLD_NEXT, "pthread_create");
    return threads_fail ? EAGAIN : create(thread, attributes, start, arg);
}

/* Rank 2 cannot start its progress thread. With a trace, ranks that start make a collective call,
 * and must not make it before all have started. */
static void check_missing_thread(weft_bootstrap given) {
    const char* const traced[] = {"WEFT_TRACE=/tmp", "WEFT_PROGRESS=thread", NULL};
    given.settings = traced;
    threads_fail = my_rank == 2;
    const weft_status refused = weft_init_with(&given, &runtime);
    threads_fail = 0;
    CHECK(refused == (my_rank == 2 ? WEFT_ERR_ENVIRONMENT : WEFT_ERR_PEER));
    CHECK(strstr(weft_last_error(), my_rank == 2 ? "the progress thread of WEFT_PROGRESS"
                                                 : "rank 2 could not start") != NULL);
}

static int run_rank(struct group* all) {
    const char* const invalid[] = {"WEFT_BANKS=3", NULL};
    weft_bootstrap given = {.struct_bytes = sizeof given,
                            .rank = my_rank,
                            .size = kRanks,
                            .arg = all,
                            .allgather = allgather,
                            .barrier_start = barrier_start,
                            .barrier_test = barrier_test};
    /* Rank 2 cannot start with 3 banks. The error of each rank names it, and all may try again. */
    given.settings = my_rank == 2 ? invalid : NULL;
    const weft_status refused = weft_init_with(&given, &runtime);
    CHECK(refused == (my_rank == 2 ? WEFT_ERR_ARGUMENT : WEFT_ERR_PEER));
    CHECK(my_rank == 2 || strstr(weft_last_error(), "rank 2 could not start") != NULL);
    CHECK(strstr(weft_last_error(), "WEFT_BANKS") != NULL);
    check_missing_thread(given);
    given.settings = NULL;
    given.struct_bytes = 1;
    REFUSED(weft_init_with(&given, &runtime), "struct_bytes");
    given.struct_bytes = sizeof given;
    DONE(weft_init_with(&given, &runtime));
    if (wrong != 0) return 1;
    world = weft_world(runtime);
    size = weft_size(world);
    CHECK(weft_rank(world) == my_rank && size == kRanks);
    REFUSED(weft_team_drop(world), "world");
    const int twice[2] = {my_rank, my_rank};
    weft_team* team = NULL;
    REFUSED(weft_team_create(runtime, twice, 2, allgather, all, &team), "twice");
    check_teams();
    DONE(weft_finalize(runtime));
    return verdict("teams made by their members work");
}

int main(void) {
    exchanges = mmap(NULL, sizeof(struct exchange) * kGroups, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (exchanges == MAP_FAILED) return 3;
    /* The program must not join the job of a launcher that runs the tests. */
    unsetenv("PMIX_NAMESPACE");
    unsetenv("PMIX_RANK");
    for (my_rank = 0; my_rank < kRanks; ++my_rank) {
        struct group all = {.members = 0, .rank = my_rank, .size = kRanks};
        if (fork() == 0) {
            alarm(60); /* seconds: ends a rank that hangs */
            return run_rank(&all);
        }
    }
    int failed = 0, status = 0;
    while (wait(&status) > 0) failed |= status;
    return failed == 0 ? 0 : 1;
}
