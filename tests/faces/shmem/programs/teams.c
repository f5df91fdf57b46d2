/* SPDX-License-Identifier: BSD-3-Clause */
// teams.c - teams by stride and by rows and columns, teams of teams, collectives in teams.
#include "program.h"

void team_of_all(void) {
    shmem_team_config_t config = {9};
    CHECK(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me());
    CHECK(shmem_team_n_pes(SHMEM_TEAM_WORLD) == pes());
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0);
    CHECK(config.num_contexts == 0);
    CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, 0, &config) != 0);
    shmem_barrier_all();
}

// Checks the team of PEs whose memory this PE can load from.
void team_of_node(void) {
    static int word;
    const int size = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    int reached = 0;
    for (int pe = 0; pe < pes(); ++pe) reached += shmem_ptr(&word, pe) != NULL;
    CHECK(size == reached && shmem_team_my_pe(SHMEM_TEAM_SHARED) < size);
    for (int i = 0; i < size; ++i) {
        const int pe = shmem_team_translate_pe(SHMEM_TEAM_SHARED, i, SHMEM_TEAM_WORLD);
        CHECK(pe >= 0 && shmem_ptr(&word, pe) != NULL);
    }
    shmem_team_sync(SHMEM_TEAM_SHARED);
    shmem_barrier_all();
}

void split_by_stride(void) {
    static long sum, one = 1;
    for (int stride = 1; stride <= 3; ++stride) {
        for (int start = 0; start < 2; ++start) {
            shmem_team_t team = SHMEM_TEAM_WORLD;
            const shmem_team_config_t requested = {stride};
            shmem_team_config_t config = {0};
            const int size = (pes() - start + stride - 1) / stride;
            CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, &requested,
                                           SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
            const int inside = me() >= start && (me() - start) % stride == 0;
            CHECK((team != SHMEM_TEAM_INVALID) == inside);
            if (!inside) continue;
            CHECK(shmem_team_n_pes(team) == size);
            CHECK(shmem_team_my_pe(team) == (me() - start) / stride);
            CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0);
            CHECK(config.num_contexts == stride);
            shmem_long_sum_reduce(team, &sum, &one, 1);
            CHECK(sum == size);
            shmem_team_destroy(team);
        }
        shmem_barrier_all();
    }
}

// Splits in reverse order, with one PE, and with invalid arguments.
void split_special_cases(void) {
    static int dest[64], source;
    shmem_team_t team;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, pes() - 1, -1, pes(), NULL, 0, &team) == 0);
    CHECK(shmem_team_my_pe(team) == pes() - 1 - me());
    source = me();
    shmem_int_fcollect(team, dest, &source, 1);
    for (int i = 0; i < pes(); ++i) CHECK(dest[i] == pes() - 1 - i);
    shmem_team_destroy(team);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, 1, NULL, 0, &team) == 0);
    CHECK((team != SHMEM_TEAM_INVALID) == (me() == 1));
    if (me() == 1) CHECK(shmem_team_n_pes(team) == 1 && shmem_team_sync(team) == 0);
    shmem_team_destroy(team);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes() + 1, NULL, 0, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0);
    shmem_barrier_all();
}

void split_in_two_dimensions(void) {
    static int row[64], column[64], own;
    for (int width = 1; width <= 3; ++width) {
        shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &x, NULL, 0, &y) == 0);
        CHECK(shmem_team_my_pe(x) == me() % width && shmem_team_my_pe(y) == me() / width);
        own = me();
        shmem_int_fcollect(x, row, &own, 1);
        shmem_int_fcollect(y, column, &own, 1);
        for (int i = 0; i < shmem_team_n_pes(x); ++i) CHECK(row[i] == me() / width * width + i);
        for (int i = 0; i < shmem_team_n_pes(y); ++i) CHECK(column[i] == me() % width + i * width);
        shmem_team_destroy(x);
        shmem_team_destroy(y);
        shmem_barrier_all();
    }
}

void teams_of_teams(void) {
    shmem_team_t half = SHMEM_TEAM_INVALID, part = SHMEM_TEAM_INVALID;
    const int size = (pes() + 1) / 2;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, size, NULL, 0, &half) == 0);
    if (half != SHMEM_TEAM_INVALID) {
        // `part` has all even PEs except PE 0.
        const int others = size - 1;
        if (others > 0) CHECK(shmem_team_split_strided(half, 1, 1, others, NULL, 0, &part) == 0);
        if (part != SHMEM_TEAM_INVALID) {
            CHECK(shmem_team_translate_pe(part, 0, half) == 1);
            CHECK(shmem_team_translate_pe(part, 0, SHMEM_TEAM_WORLD) == 2);
            CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 1, part) == -1);
            CHECK(shmem_team_translate_pe(half, 0, part) == -1);
            shmem_team_destroy(part);
        }
        shmem_team_destroy(half);
    }
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pes(), SHMEM_TEAM_WORLD) == -1);
    shmem_barrier_all();
}

// Makes and destroys 70 teams in turn, more than may exist at once (32).
void destroyed_teams_free_places(void) {
    static int sum, one = 1;
    for (int round = 0; round < 70; ++round) {
        shmem_team_t team;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes(), NULL, 0, &team) == 0);
        if (team == SHMEM_TEAM_INVALID) break;
        shmem_int_sum_reduce(team, &sum, &one, 1);
        CHECK(sum == pes());
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
}

void collectives_in_teams(void) {
    static long dest[64], source[64], sum;
    shmem_team_t team;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (pes() + 1) / 2, NULL, 0, &team) == 0);
    for (int i = 0; i < 64; ++i) source[i] = me() * 100 + i;
    shmem_barrier_all();
    if (team != SHMEM_TEAM_INVALID) {
        const int size = shmem_team_n_pes(team), rank = shmem_team_my_pe(team);
        shmem_long_broadcast(team, dest, source, 2, size - 1);
        CHECK(dest[1] == (size - 1) * 200 + 1);
        shmem_team_sync(team);
        shmem_long_alltoall(team, dest, source, 1);
        for (int i = 0; i < size; ++i) CHECK(dest[i] == 200 * i + rank);
        shmem_team_sync(team);
        shmem_long_collect(team, dest, source, (size_t)rank);
        if (size > 1) CHECK(dest[0] == 200);
        shmem_long_max_reduce(team, &sum, source, 1);
        CHECK(sum == (size - 1) * 200);
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
}
