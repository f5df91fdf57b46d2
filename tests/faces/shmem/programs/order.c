/* SPDX-License-Identifier: BSD-3-Clause */
// order.c - fence and quiet, contexts, signals, locks.
#include "program.h"

// A PE that sees the flag also sees data that was put before the fence.
void fence_orders(void) {
    static long data[64];
    static volatile long flag;
    for (long round = 1; round <= 50; ++round) {
        long values[64];
        for (int i = 0; i < 64; ++i) values[i] = round * 100 + i;
        shmem_long_put(data, values, 64, next_pe());
        shmem_fence();
        shmem_long_p((long*)&flag, round, next_pe());
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        for (int i = 0; i < 64; ++i) CHECK(data[i] == round * 100 + i);
        shmem_barrier_all();
    }
    flag = 0;
    shmem_barrier_all();
}

void quiet_completes(void) {
    static int data[512];
    int values[512], read_back[512];
    for (int i = 0; i < 512; ++i) values[i] = me() * 1000 + i;
    for (int i = 0; i < 512; i += 8) shmem_int_put_nbi(data + i, values + i, 8, next_pe());
    shmem_quiet();
    shmem_int_get(read_back, data, 512, next_pe());
    CHECK(memcmp(read_back, values, sizeof read_back) == 0);
    shmem_barrier_all();
}

void contexts(void) {
    static const long options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED,
                                   SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
    static long words[4], read_back[4];
    shmem_ctx_t ctx[4];
    for (int i = 0; i < 4; ++i) CHECK(shmem_ctx_create(options[i], &ctx[i]) == 0);
    for (int i = 0; i < 4; ++i) {
        shmem_ctx_long_p(ctx[i], &words[i], 10 * i + me(), next_pe());
        shmem_ctx_fence(ctx[i]);
        shmem_ctx_long_atomic_add(ctx[i], &words[i], 1000, next_pe());
    }
    for (int i = 0; i < 4; ++i) {
        shmem_ctx_quiet(ctx[i]);
        shmem_ctx_long_get_nbi(ctx[i], &read_back[i], &words[i], 1, next_pe());
    }
    for (int i = 0; i < 4; ++i) {
        shmem_ctx_quiet(ctx[i]);
        CHECK(read_back[i] == 1000 + 10 * i + me());
        shmem_ctx_destroy(ctx[i]);
    }
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    shmem_barrier_all();
}

// PE numbers in calls on a team's context are those of the team.
void contexts_of_teams(void) {
    static int word;
    shmem_team_t odd = SHMEM_TEAM_INVALID, owner;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    const int size = pes() / 2;
    word = -1;
    shmem_barrier_all();
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, size, NULL, 0, &odd) == 0);
    if (odd != SHMEM_TEAM_INVALID) {
        CHECK(shmem_team_create_ctx(odd, 0, &ctx) == 0);
        CHECK(shmem_ctx_get_team(ctx, &owner) == 0 && owner == odd);
        const int to = (shmem_team_my_pe(odd) + 1) % size;
        shmem_ctx_int_p(ctx, &word, me(), to);
        shmem_ctx_quiet(ctx);
        CHECK(shmem_ctx_int_g(ctx, &word, to) == me());
        shmem_team_sync(odd);
        shmem_ctx_destroy(ctx);
        CHECK(word == 1 + 2 * ((shmem_team_my_pe(odd) + size - 1) % size));
        shmem_team_destroy(odd);
    } else {
        CHECK(shmem_team_create_ctx(odd, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
        CHECK(word == -1);
    }
    CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &owner) == 0 && owner == SHMEM_TEAM_WORLD);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &owner) != 0 && owner == SHMEM_TEAM_INVALID);
    shmem_barrier_all();
}

#define SIGNAL_TYPE(N, T)                                                                         \
    {                                                                                             \
        static T dest[5];                                                                         \
        T source[5];                                                                              \
        for (int i = 0; i < 5; ++i) source[i] = (T)(me() % 50 + i);                               \
        ++round;                                                                                  \
        shmem_##N##_put_signal(dest, source, 5, &signal, round, SHMEM_SIGNAL_SET, next_pe());     \
        CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_GE, round) == round);                    \
        for (int i = 0; i < 5; ++i) CHECK(dest[i] == (T)(previous_pe() % 50 + i));                \
        shmem_barrier_all();                                                                      \
        ++round;                                                                                  \
        shmem_##N##_put_signal_nbi(dest, source + 1, 4, &signal, 1, SHMEM_SIGNAL_ADD, next_pe()); \
        CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_GE, round) == round);                    \
        CHECK(dest[0] == (T)(previous_pe() % 50 + 1));                                            \
        shmem_barrier_all();                                                                      \
    }
void signals_of_types(void) {
    static uint64_t signal;
    uint64_t round = 0;
    WEFT_SHMEM_RMA(SIGNAL_TYPE)
    signal = 0;
    shmem_barrier_all();
}

#define SIGNAL_SIZE(N, BYTES)                                                                 \
    {                                                                                         \
        static unsigned char dest[16 * 40];                                                   \
        unsigned char source[16 * 40];                                                        \
        for (size_t i = 0; i < sizeof source; ++i) source[i] = (unsigned char)(i * 3 + me()); \
        ++round;                                                                              \
        shmem_put##N##_signal(dest, source, 40, &signal, round, SHMEM_SIGNAL_SET, next_pe()); \
        shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, round);                                \
        for (size_t i = 0; i < 40 * (BYTES); ++i)                                             \
            CHECK(dest[i] == (unsigned char)(i * 3 + previous_pe()));                         \
        shmem_barrier_all();                                                                  \
    }
void signals_of_sizes(void) {
    static uint64_t signal;
    uint64_t round = 0;
    WEFT_SHMEM_SIZES(SIGNAL_SIZE)
    SIGNAL_SIZE(mem, 1)
    signal = 0;
    shmem_barrier_all();
}

// Every PE adds to one signal. A PE that sees the sum also sees the data of all puts.
void signals_add_up(void) {
    static uint64_t signal;
    long* slots = shmem_calloc((size_t)pes(), sizeof *slots);
    const long value = me() * 7 + 1;
    for (int pe = 0; pe < pes(); ++pe)
        shmem_long_put_signal(&slots[me()], &value, 1, &signal, 2, SHMEM_SIGNAL_ADD, pe);
    shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 2 * (uint64_t)pes());
    for (int pe = 0; pe < pes(); ++pe) CHECK(slots[pe] == pe * 7 + 1);
    CHECK(shmem_signal_fetch(&signal) == 2 * (uint64_t)pes());
    shmem_barrier_all();
    signal = 0;
    shmem_free(slots);
}

// Signals without data, and signals by the generic routines with and without a context.
void generic_signals(void) {
    static uint64_t signal;
    static float dest[2];
    const float source[2] = {1.5F, (float)me()};
    shmem_putmem_signal(NULL, NULL, 0, &signal, 1, SHMEM_SIGNAL_SET, next_pe());
    shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    shmem_put_signal(SHMEM_CTX_DEFAULT, dest, source, 2, &signal, 5, SHMEM_SIGNAL_ADD, next_pe());
    shmem_signal_wait_until(&signal, SHMEM_CMP_GT, 5);
    CHECK(dest[0] == 1.5F && dest[1] == (float)previous_pe());
    shmem_barrier_all();
    shmem_put_signal_nbi(dest, source, 1, &signal, 0, SHMEM_SIGNAL_SET, next_pe());
    shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 0);
    shmem_barrier_all();
}

// A wait returns a value that met the condition, although other PEs change the signal again.
void waits_return_what_they_saw(void) {
    static uint64_t signal;
    const int sender = me() != 0 || pes() == 1;
    for (int i = 1; sender && i < 20000; ++i)
        shmem_uint64_atomic_set(&signal, (uint64_t)i % 2, 0);  // the last value is 1
    shmem_quiet();
    for (int i = 0; me() == 0 && i < 20000; ++i)
        CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1) == 1);
    shmem_barrier_all();
    signal = 0;
    shmem_barrier_all();
}

// A lock protects a counter that is read and written in two steps.
void lock_protects(void) {
    static long lock;
    static long counter;
    const int rounds = 40;
    for (int i = 0; i < rounds; ++i) {
        shmem_set_lock(&lock);
        const long seen = shmem_long_g(&counter, 0);
        shmem_long_p(&counter, seen + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECK(shmem_long_g(&counter, 0) == (long)rounds * pes());
    CHECK(lock == 0);
    shmem_barrier_all();
    counter = 0;
    shmem_barrier_all();
}

void lock_is_tested(void) {
    static long lock;
    static int holders, holders_max;
    int got = 0;
    shmem_barrier_all();
    while (got < 5) {
        if (shmem_test_lock(&lock) != 0) continue;
        ++got;
        const int now = shmem_int_atomic_fetch_inc(&holders, 0) + 1;
        if (now > shmem_int_g(&holders_max, 0)) shmem_int_p(&holders_max, now, 0);
        shmem_int_atomic_add(&holders, -1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECK(shmem_int_g(&holders_max, 0) == 1 && shmem_int_g(&holders, 0) == 0 && lock == 0);
    shmem_barrier_all();
}

// Different locks do not block each other. These locks are in the symmetric heap.
void locks_are_independent(void) {
    long* locks = shmem_calloc((size_t)pes() + 1, sizeof *locks);
    shmem_set_lock(&locks[me()]);
    shmem_barrier_all();  // every PE holds one lock
    CHECK(shmem_test_lock(&locks[next_pe()]) == 1);
    shmem_barrier_all();
    shmem_clear_lock(&locks[me()]);
    shmem_barrier_all();
    shmem_set_lock(&locks[pes()]);
    shmem_clear_lock(&locks[pes()]);
    shmem_barrier_all();
    for (int i = 0; i <= pes(); ++i) CHECK(locks[i] == 0);
    shmem_free(locks);
}
