// SPDX-License-Identifier: BSD-3-Clause
/* survivors.c - a job whose last rank dies, and whose other ranks go on (failures.h).
 *
 * Idea     Calls that involve the dead rank must fail with WEFT_ERR_PEER and name it. Other calls
 *          must succeed, and the survivors must agree. With the argument `ends`, the job does not
 *          continue after deaths, and no rank dies. With `nodes`, the ranks are on several nodes,
 *          where table entries of teams with dead members are not used again. */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

/* The table of teams has fewer entries than the sum of both numbers of teams. */
enum { kMessages = 300, kTeamsOfAll = 12, kTeamsOfSurvivors = 24 };

static uint64_t* memory; /* symmetric: 4 words */
static weft_team* teams_of_all[kTeamsOfAll];
static int handled = 0; /* messages */

static void count_message(void* arg, const weft_am* message, const void* data, size_t bytes) {
    (void)arg, (void)message, (void)data, (void)bytes;
    ++handled;
}

/* Checks that a call fails because of the dead rank, whose number is in the message. */
#define FAILED_BY(call, rank)                                    \
    do {                                                         \
        char text_[32];                                          \
        snprintf(text_, sizeof text_, "rank %d has died", rank); \
        CHECK((call) == WEFT_ERR_PEER);                          \
        CHECK(strstr(weft_last_error(), text_) != NULL);         \
    } while (0)

static void refuse_without_survival(void) {
    uint64_t word = 1;
    weft_team* team = NULL;
    REFUSED_AS(weft_agree(world, &word, NULL), WEFT_ERR_UNSUPPORTED, "WEFT_ON_FAILURE=continue");
    REFUSED_AS(weft_team_shrink(world, &team), WEFT_ERR_UNSUPPORTED, "WEFT_ON_FAILURE=continue");
    REFUSED_AS(weft_team_revoke(world), WEFT_ERR_UNSUPPORTED, "WEFT_ON_FAILURE=continue");
    CHECK(word == 1 && team == NULL);
    DONE(weft_barrier(world));
}

static void refuse_arguments(void) {
    int count = 0;
    REFUSED_AS(weft_agree(world, NULL, NULL), WEFT_ERR_ARGUMENT, "word");
    REFUSED_AS(weft_team_shrink(world, NULL), WEFT_ERR_ARGUMENT, "out");
    REFUSED_AS(weft_team_dead(world, NULL, 1, &count), WEFT_ERR_ARGUMENT, "ranks");
    REFUSED_AS(weft_team_dead(world, NULL, 0, NULL), WEFT_ERR_ARGUMENT, "count");
    REFUSED_AS(weft_team_revoke(NULL), WEFT_ERR_ARGUMENT, "team");
}

static void check_failures(int dead, weft_team* others) {
    const int next = (my_rank + 1) % dead;
    uint64_t value = 7;
    int ranks[2] = {-1, -1};
    int count = 0;
    FAILED_BY(weft_barrier(world), dead);
    FAILED_BY(weft_barrier(world), dead);
    FAILED_BY(weft_put(world, memory, &value, sizeof value, dead), dead);
    FAILED_BY(weft_get(world, &value, memory, sizeof value, dead), dead);
    FAILED_BY(weft_fetch_add(world, memory, 1, dead, &value), dead);
    FAILED_BY(weft_wait_until(world, memory + 1, WEFT_EQ, 99), dead);
    FAILED_BY(weft_am_request(world, dead, 1, &value, sizeof value), dead);
    /* Survivors reach each other, and teams without the dead rank work. */
    value = 7;
    DONE(weft_put(world, memory, &value, sizeof value, next));
    DONE(weft_quiet(world));
    DONE(weft_barrier(others));
    CHECK(memory[0] == 7);
    DONE(weft_team_dead(world, ranks, 2, &count));
    CHECK(count == 1 && ranks[0] == dead && ranks[1] == -1);
    DONE(weft_team_dead(others, NULL, 0, &count));
    CHECK(count == 0);
}

/* Returns the team of the survivors. */
static weft_team* shrink(int dead) {
    uint64_t word = ~(UINT64_C(1) << my_rank);
    uint64_t sum = 1;
    int count = 0;
    weft_team* team = NULL;
    DONE(weft_agree(world, &word, &count));
    CHECK(word == ~((UINT64_C(1) << dead) - 1) && count == 1);
    DONE(weft_team_shrink(world, &team));
    CHECK(weft_size(team) == dead && weft_rank(team) == my_rank);
    DONE(weft_allreduce(team, WEFT_IN_PLACE, &sum, 1, WEFT_UINT64, WEFT_SUM));
    CHECK(sum == (uint64_t)dead);
    return team;
}

static void use_memory(weft_team* team, int members) {
    uint64_t* own = NULL;
    const uint64_t value = 100 + (uint64_t)my_rank;
    const int next = (my_rank + 1) % members;
    const int previous = (my_rank + members - 1) % members;
    DONE(weft_put_signal(team, memory + 2, &value, sizeof value, memory + 3, 1, 0, next));
    DONE(weft_wait_until(team, memory + 3, WEFT_EQ, 1));
    CHECK(memory[2] == 100 + (uint64_t)previous);
    DONE(weft_alloc(team, sizeof *own, (void**)&own));
    DONE(weft_put(team, own, &value, sizeof value, next));
    DONE(weft_quiet(team));
    DONE(weft_barrier(team));
    CHECK(*own == 100 + (uint64_t)previous);
    DONE(weft_free(team, own));
}

/* Rank 0 revokes the team while the others wait in a barrier. */
static void revoke_and_shrink(weft_team* team) {
    uint64_t word = 3;
    weft_team* again = NULL;
    if (my_rank == 0) DONE(weft_team_revoke(team));
    CHECK(weft_barrier(team) == WEFT_ERR_PEER);
    CHECK(strstr(weft_last_error(), "was revoked by rank 0") != NULL);
    DONE(weft_agree(team, &word, NULL));
    CHECK(word == 3);
    DONE(weft_team_shrink(team, &again));
    CHECK(weft_size(again) == weft_size(team));
    DONE(weft_barrier(again));
    DONE(weft_team_free(again));
    DONE(weft_team_free(team));
}

/* Rank 0 revokes two teams at once. The others wait for words, not in calls of the teams. */
static void revoke_two(weft_team* team) {
    weft_team* two[2];
    int i;
    for (i = 0; i < 2; ++i) DONE(weft_team_split(team, 0, 0, &two[i]));
    DONE(weft_barrier(team));
    for (i = 0; i < 2 && my_rank == 0; ++i) DONE(weft_team_revoke(two[i]));
    for (i = 0; i < 2; ++i) {
        CHECK(weft_wait_until(two[i], memory + 1, WEFT_EQ, 99) == WEFT_ERR_PEER);
        CHECK(strstr(weft_last_error(), "was revoked by rank 0") != NULL);
        DONE(weft_team_free(two[i]));
    }
}

/* Frees the teams with the dead rank. The new teams need their table entries. */
static void reuse_table_entries(weft_team* team) {
    weft_team* later[kTeamsOfSurvivors];
    int i;
    for (i = 0; i < kTeamsOfAll; ++i) DONE(weft_team_free(teams_of_all[i]));
    DONE(weft_barrier(team));
    for (i = 0; i < kTeamsOfSurvivors; ++i) DONE(weft_team_split(team, 0, 0, &later[i]));
    for (i = 0; i < kTeamsOfSurvivors; ++i) DONE(weft_team_free(later[i]));
}

int main(int argc, char** argv) {
    const int ends = argc > 1 && strcmp(argv[1], "ends") == 0;
    const int nodes = argc > 1 && strcmp(argv[1], "nodes") == 0;
    int i;
    weft_team* others = NULL;
    int dead;
    if (!join_job()) return 1;
    dead = size - 1;
    refuse_arguments();
    if (ends) {
        refuse_without_survival();
        DONE(weft_finalize(runtime));
        return verdict("no rank may die");
    }
    DONE(weft_alloc(world, 4 * sizeof *memory, (void**)&memory));
    memset(memory, 0, 4 * sizeof *memory);
    DONE(weft_team_split(world, my_rank == dead ? -1 : 0, 0, &others));
    for (i = 0; i < kTeamsOfAll; ++i) DONE(weft_team_split(world, 0, 0, &teams_of_all[i]));
    DONE(weft_am_register(runtime, 1, count_message, NULL));
    DONE(weft_barrier(world));
    if (my_rank == dead) raise(SIGKILL);
    check_failures(dead, others);
    weft_team* const team = shrink(dead);
    use_memory(team, dead);
    revoke_two(team);
    if (!nodes) reuse_table_entries(team);
    for (i = 0; i < kMessages && my_rank == 0 && dead > 1; ++i)
        DONE(weft_am_request(team, 1, 1, &i, sizeof i));
    revoke_and_shrink(team);
    DONE(weft_finalize(runtime));
    CHECK(handled == (my_rank == 1 ? kMessages : 0));
    return verdict("the survivors are right");
}
