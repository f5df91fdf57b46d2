// SPDX-License-Identifier: BSD-3-Clause
// registered.c - puts, gets and atomic operations on memory that ranks have registered, and calls
// that must be refused.
//
// Ranks register different kinds of memory (memory_of_kind()), with different lengths. Control:
// with the argument `plant` a put changes a word that must be 0, and the program must fail.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"

enum { kWords = 40000, kKinds = 5 };
enum { kGuard = 8 };  // words before and after the registered memory, which must not change

static uint64_t fixed[kWords + 2 * kGuard];
static uint64_t* mine;     ///< this rank's registered words, between two guards
static size_t my_words;    ///< number of words at `mine`
static uint64_t* segment;  ///< address by which calls name the registered memory of all ranks
static uint64_t* flags;    ///< 4000 symmetric words

static const uint64_t kGuardValue = 0x5a5a5a5a5a5a5a5aULL;

/// Returns the index of the kind of memory that a rank registers, see memory_of_kind().
static int kind_of(int rank) {
    return rank % kKinds;
}
/// Returns the number of words that a rank registers.
static size_t words_of(int rank) {
    return kWords - 100 * (size_t)rank;
}

/// Returns memory of kWords words and two guards, of one of the kinds in `kinds`. Allocates all
/// kinds, because all ranks must call weft_alloc().
static void* memory_of_kind(int kind, uint64_t* on_stack) {
    void* symmetric = NULL;
    const size_t bytes = sizeof fixed;
    void* const heap = malloc(bytes);
    void* const pages =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    DONE(weft_alloc(world, bytes, &symmetric));
    void* const kinds[kKinds] = {on_stack, fixed, heap, symmetric, pages};
    return kinds[kind];
}

/// Completes all puts, then sets the registered memory of all ranks to 0.
static void clear(void) {
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    for (size_t i = 0; i < my_words; ++i) mine[i] = 0;
    DONE(weft_barrier(world));
}
/// Waits until the puts of all ranks are delivered.
static void complete_puts(void) {
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
}

/// Returns word i of the data that a rank puts.
static uint64_t value_of(int rank, size_t i) {
    return ((uint64_t)rank + 1) << 40 | i;
}

static void puts_and_gets(void) {
    static uint64_t out[kWords], in[kWords];
    static char odd[8192];
    const int next = (my_rank + 1) % size, previous = (my_rank + size - 1) % size;
    const size_t next_words = words_of(next);
    clear();
    for (size_t i = 0; i < kWords; ++i) out[i] = value_of(my_rank, i);
    DONE(weft_put(world, segment, out, 1000 * sizeof *out, next));
    DONE(weft_put_nbi(world, segment + 1000, out + 1000, (next_words - 1001) * sizeof *out, next));
    DONE(weft_put(world, segment + next_words - 1, out + next_words - 1, sizeof *out, next));
    DONE(weft_put(world, segment + next_words, NULL, 0, next));
    complete_puts();
    for (size_t i = 0; i < my_words; ++i) CHECK(mine[i] == value_of(previous, i));
    DONE(weft_get(world, in, segment, 3 * sizeof *in, next));
    DONE(weft_get_nbi(world, in + 3, segment + 3, (next_words - 3) * sizeof *in, next));
    DONE(weft_quiet(world));
    CHECK(memcmp(in, out, next_words * sizeof *in) == 0);
    // Puts of several lengths at odd offsets, to a peer's memory and to this rank's.
    clear();
    for (size_t i = 0; i < sizeof odd; ++i) odd[i] = (char)(i * 7 + (size_t)my_rank);
    const size_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 100, 4099};
    for (int to = 0; to < 2; ++to) {
        const int peer = to == 0 ? next : my_rank;
        char* at = (char*)segment + 1 + 16384 * to;
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
            DONE(weft_put(world, at, odd + i, lengths[i], peer));
            at += lengths[i] + 1;
        }
    }
    complete_puts();
    for (int from = 0; from < 2; ++from) {
        const int peer = from == 0 ? previous : my_rank;
        const char* at = (const char*)mine + 1 + 16384 * from;
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
            for (size_t k = 0; k < lengths[i]; ++k)
                CHECK(at[k] == (char)((i + k) * 7 + (size_t)peer));
            CHECK(at[lengths[i]] == 0);
            at += lengths[i] + 1;
        }
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        char got[4100] = {0};
        DONE(weft_get(world, got, (char*)segment + 1, lengths[i], my_rank));
        CHECK(memcmp(got, (char*)mine + 1, lengths[i]) == 0);
    }
}

/// Puts and gets with strides of both signs.
static void strides(void) {
    uint64_t out[64], in[64];
    const int next = (my_rank + 1) % size, previous = (my_rank + size - 1) % size;
    clear();
    for (size_t i = 0; i < 64; ++i) out[i] = value_of(my_rank, i);
    DONE(weft_put_strided(world, segment + 5, 24, out, 16, 8, 30, next));
    DONE(weft_put_strided(world, segment + 500, -40, out, 32, 32, 16, next));
    DONE(weft_get_strided(world, in, 8, segment + 5, 24, 8, 0, next));
    complete_puts();
    for (size_t i = 0; i < 30; ++i) CHECK(mine[5 + 3 * i] == value_of(previous, 2 * i));
    for (size_t i = 0; i < 64; ++i) CHECK(mine[500 - 5 * (i / 4) + i % 4] == value_of(previous, i));
    DONE(weft_get_strided(world, in, 8, segment + 5 + 3 * 29, -24, 8, 30, next));
    for (size_t i = 0; i < 30; ++i) CHECK(in[i] == value_of(my_rank, 2 * (29 - i)));
    const ptrdiff_t over = (ptrdiff_t)(words_of(next) * sizeof *segment);
    REFUSED(weft_put_strided(world, segment, over, out, 8, 8, 2, next), "registered");
    REFUSED(weft_put_strided(world, segment, INT64_MAX / 2, out, 8, 8, 9, next), "stride");
    DONE(weft_barrier(world));
}

/// Sends data and a flag: variants 0 to 2 by a put with a signal, 3 to 5 by two puts and a fence.
/// In variants 1 and 4 the data is in symmetric memory, in 2 and 5 the flag; else both are in
/// registered memory.
static void signals(void) {
    static uint64_t out[3000];
    const int next = (my_rank + 1) % size, previous = (my_rank + size - 1) % size;
    const size_t counts[] = {0, 1, 2, 3, 100, 3000};
    for (int variant = 0; variant < 6; ++variant) {
        uint64_t* const remote_data = variant % 3 == 1 ? flags + 8 : segment + 8;
        const uint64_t* const data = variant % 3 == 1 ? flags + 8 : mine + 8;
        uint64_t* const remote_flag = variant % 3 == 2 ? flags : segment;
        const uint64_t* const flag = variant % 3 == 2 ? flags : mine;
        clear();
        flags[0] = 0;
        DONE(weft_barrier(world));
        for (uint64_t round = 1; round <= 6; ++round) {
            const size_t count = counts[round - 1];
            for (size_t i = 0; i < count; ++i) out[i] = round << 32 | (uint64_t)my_rank;
            if (variant < 3) {
                DONE(weft_put_signal(world, remote_data, out, count * sizeof *out, remote_flag,
                                     round % 2 ? round : 1, round % 2 == 0, next));
            } else {
                DONE(weft_put(world, remote_data, out, count * sizeof *out, next));
                DONE(weft_fence(world));
                DONE(weft_put(world, remote_flag, &round, sizeof round, next));
            }
            DONE(weft_wait_until(world, flag, WEFT_GE, round));
            for (size_t i = 0; i < count; ++i) CHECK(data[i] == (round << 32 | (uint64_t)previous));
            complete_puts();
        }
    }
    // Puts to registered and symmetric memory with a fence between them: the second is not visible
    // before the first.
    clear();
    flags[0] = flags[1] = 0;
    DONE(weft_barrier(world));
    for (uint64_t round = 1; round <= 50; ++round) {
        DONE(weft_put(world, segment + round % 7, &round, sizeof round, next));
        DONE(weft_fence(world));
        DONE(weft_put(world, flags, &round, sizeof round, next));
        DONE(weft_wait_until(world, flags, WEFT_GE, round));
        CHECK(mine[round % 7] >= round);
        DONE(weft_put(world, flags + 1, &round, sizeof round, previous));
        DONE(weft_wait_until(world, flags + 1, WEFT_GE, round));
    }
    complete_puts();
}

static void atomics(void) {
    enum { kAdds = 20 };
    uint64_t old = 0, later[kAdds];
    int32_t minus = -3, was = 0;
    clear();
    for (int peer = 0; peer < size; ++peer) {
        for (int i = 0; i < kAdds; ++i) {
            DONE(weft_fetch_add(world, segment + 1, 2, peer, NULL));
            DONE(weft_atomic_nbi(world, WEFT_ATOMIC_ADD, WEFT_UINT64, segment + 2, &(uint64_t){1},
                                 NULL, later + i, peer));
        }
        DONE(weft_quiet(world));
        for (int i = 1; i < kAdds; ++i) CHECK(later[i] > later[i - 1]);
        DONE(
            weft_atomic(world, WEFT_ATOMIC_ADD, WEFT_INT32, segment + 3, &minus, NULL, &was, peer));
        CHECK(was % 3 == 0 && was <= 0);
        DONE(weft_signal(world, segment + 4, 5, 1, peer));
    }
    complete_puts();
    CHECK(mine[1] == 2 * kAdds * (uint64_t)size);
    CHECK(mine[2] == kAdds * (uint64_t)size);
    CHECK((int32_t)mine[3] == -3 * size && mine[3] >> 32 == 0);
    CHECK(mine[4] == 5 * (uint64_t)size);
    // The swap of one rank succeeds; the other ranks get the value that it has written.
    DONE(weft_compare_swap(world, segment + 5, 0, 1 + (uint64_t)my_rank, size - 1, &old));
    const uint64_t won = old == 0;
    DONE(weft_fetch_add(world, segment + 6, won, 0, &old));
    complete_puts();
    CHECK(my_rank != 0 || mine[6] == 1);
    if (won) DONE(weft_swap(world, segment + 5, 77, size - 1, &old));
    CHECK(!won || old == 1 + (uint64_t)my_rank);
    complete_puts();
    CHECK(my_rank != size - 1 || mine[5] == 77);
    REFUSED(weft_fetch_add(world, (uint64_t*)((char*)segment + 4), 1, 0, &old), "aligned");
    DONE(weft_barrier(world));
}

static void contexts(void) {
    const int next = (my_rank + 1) % size;
    weft_team* context = NULL;
    weft_request* request = NULL;
    uint64_t got = 0, value = value_of(my_rank, 9);
    clear();
    DONE(weft_context_create(world, 0, &context));
    DONE(weft_put(context, segment + 9, &value, sizeof value, next));
    DONE(weft_quiet(context));
    DONE(weft_iget(context, &got, segment + 9, sizeof got, next, &request));
    DONE(weft_wait(&request));
    CHECK(got == value);
    DONE(weft_context_free(context));
    DONE(weft_barrier(world));
}

/// Checks that a team has registrations of its own, which end with the team.
static void teams(void) {
    weft_team *half = NULL, *again = NULL;
    void *word = NULL, *other = NULL;
    uint64_t target = 0, me = 1 + (uint64_t)my_rank;
    DONE(weft_team_split(world, my_rank % 2, my_rank, &half));
    // The last member registers nothing.
    const int last = weft_size(half) - 1, registers = weft_rank(half) != last;
    DONE(weft_register(half, WEFT_KIND_HOST, registers ? &target : NULL,
                       registers ? sizeof target : 0, &word));
    CHECK(weft_registered_bytes(half, word, last) == 0);
    CHECK(last == 0 || weft_registered_bytes(half, word, 0) == sizeof target);
    REFUSED(weft_put(half, word, &me, sizeof me, last), "are not in the 0 bytes");
    REFUSED(weft_put(world, word, &me, sizeof me, 0), "another team");
    if (last > 0) DONE(weft_fetch_add(half, word, me, 0, NULL));
    DONE(weft_quiet(half));
    DONE(weft_barrier(half));
    uint64_t sum = 0;
    for (int rank = my_rank % 2; rank < size; rank += 2) sum += 1 + (uint64_t)rank;
    CHECK(target == (last > 0 && weft_rank(half) == 0 ? sum : 0));
    DONE(weft_team_free(half));
    DONE(weft_team_split(world, 0, -my_rank, &again));
    REFUSED(weft_put(again, word, &me, sizeof me, 0), "not registered any more");
    for (int round = 0; round < 100; ++round) {
        DONE(weft_register(again, WEFT_KIND_HOST, &target, sizeof target, &word));
        DONE(weft_register(again, WEFT_KIND_HOST, &me, sizeof me, &other));
        DONE(weft_put_nbi(again, word, &me, sizeof me, (weft_rank(again) + 1) % size));
        DONE(weft_unregister(again, round % 2 ? word : other));
        DONE(weft_unregister(again, round % 2 ? other : word));
        const int previous = (weft_rank(again) + size - 1) % size;
        // weft_unregister() has completed the put. Ranks of the team are in reverse order.
        CHECK(target == 1 + (uint64_t)(size - 1 - previous));
    }
    DONE(weft_team_free(again));
}

static void refusals(void) {
    uint64_t here = 0, old = 5;
    void* name = &here;
    const int last = size - 1, is_invalid = my_rank == last;
    char rank[32];
    snprintf(rank, sizeof rank, "rank %d", last);
    REFUSED(weft_register(NULL, WEFT_KIND_HOST, &here, 8, &name), "team is NULL");
    REFUSED(weft_register(world, WEFT_KIND_HOST, &here, 8, NULL), "segment is NULL");
    REFUSED_AS(weft_register(world, (weft_memory_kind)7, &here, 8, &name), WEFT_ERR_UNSUPPORTED,
               "kind: 7");
    // The arguments of one member are invalid: the error of all members names it.
    REFUSED(weft_register(world, WEFT_KIND_HOST, is_invalid ? NULL : &here, 8, &name), rank);
    REFUSED(weft_register(world, WEFT_KIND_HOST, is_invalid ? NULL : &here, 8, &name), "NULL");
    REFUSED(weft_register(world, WEFT_KIND_HOST, &here, is_invalid ? SIZE_MAX / 2 : 8, &name),
            "less than");
    // Three pages, of which the second is not mapped.
    void* const hole = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap((char*)hole + 4096, 4096);
    REFUSED(weft_register(world, WEFT_KIND_HOST, is_invalid ? hole : &here,
                          is_invalid ? 3 * 4096 : 8, &name),
            "not all of the memory is mapped");
    CHECK(name == &here);
    REFUSED(weft_unregister(world, &here), "not the name");
    REFUSED(weft_unregister(world, segment + 1), "not the name");
    REFUSED(weft_unregister(NULL, segment), "team is NULL");
    // Accesses after the end or before the begin of the peer's memory.
    for (int peer = 0; peer < size; ++peer) {
        uint64_t* const end = segment + words_of(peer);
        REFUSED(weft_put(world, end, &here, 8, peer), "are not in the");
        REFUSED(weft_get(world, &here, end - 1, 9, peer), "are not in the");
        REFUSED(weft_put(world, (char*)segment - 1, &here, 1, peer), "symmetric memory");
        REFUSED(weft_put_signal(world, segment, &here, 8, end, 1, 0, peer), "are not in the");
        REFUSED(weft_fetch_add(world, end, 1, peer, &old), "are not in the");
        CHECK(weft_registered_bytes(world, end - 1, peer) == words_of(peer) * sizeof *end);
        CHECK(weft_registered_bytes(world, &here, peer) == 0);
    }
    CHECK(weft_registered_bytes(world, segment, size) == 0);
    REFUSED(weft_lock_set(world, segment), "symmetric");
    REFUSED(weft_free(world, segment), "heap");
    CHECK(old == 5 && here == 0);
    // weft_ptr() finds memory of this rank, but memory of other ranks only if it is in the heap.
    CHECK(weft_ptr(world, segment + 3, my_rank) == mine + 3);
    const int next = (my_rank + 1) % size;
    CHECK(next == my_rank || kind_of(next) == 3 /* symmetric */ ||
          weft_ptr(world, segment, next) == NULL);
    DONE(weft_barrier(world));
}

int main(int argc, char** argv) {
    uint64_t on_stack[kWords + 2 * kGuard];
    if (!join_job()) return 1;
    const int is_control = argc > 1 && strcmp(argv[1], "plant") == 0;
    void* found = NULL;
    DONE(weft_alloc(world, 4000 * sizeof *flags, &found));
    flags = memset(found, 0, 4000 * sizeof *flags);
    uint64_t* const whole = memory_of_kind(kind_of(my_rank), on_stack);
    my_words = words_of(my_rank);
    mine = whole + kGuard;
    for (size_t i = 0; i < my_words + 2 * kGuard; ++i) whole[i] = kGuardValue;
    void* name = NULL;
    DONE(weft_register(world, WEFT_KIND_HOST, mine, my_words * sizeof *mine, &name));
    segment = name;
    puts_and_gets();
    strides();
    signals();
    atomics();
    contexts();
    teams();
    refusals();
    if (is_control) DONE(weft_put(world, segment + my_words - 1, &(uint64_t){1}, 4, my_rank));
    const uint64_t last = mine[my_words - 1];
    // weft_unregister() waits until the last put is delivered.
    const uint64_t value = value_of(my_rank, 1);
    DONE(weft_put_nbi(world, segment + 1, &value, sizeof value, (my_rank + 1) % size));
    DONE(weft_unregister(world, segment));
    CHECK(mine[1] == value_of((my_rank + size - 1) % size, 1));
    CHECK(last == 0);
    REFUSED(weft_put(world, segment, &value, sizeof value, my_rank), "not registered any more");
    REFUSED(weft_unregister(world, segment), "not the name");
    CHECK(weft_ptr(world, segment, my_rank) == NULL);
    for (size_t i = 0; i < kGuard; ++i)
        CHECK(whole[i] == kGuardValue && whole[kGuard + my_words + i] == kGuardValue);
    DONE(weft_finalize(runtime));
    return verdict("all registered memory is right");
}
