/* SPDX-License-Identifier: BSD-3-Clause */
// waits.c - waits for words that other PEs change, and tests of such words.
#include "program.h"

enum { kWords = 12 };

// Waits with each comparison, which must be true when the wait ends.
#define WAIT_TYPE(N, T)                                                     \
    {                                                                       \
        static volatile T word;                                             \
        word = 0;                                                           \
        shmem_barrier_all();                                                \
        shmem_##N##_wait_until(&word, SHMEM_CMP_EQ, 0);                     \
        shmem_##N##_wait_until(&word, SHMEM_CMP_LE, 0);                     \
        shmem_barrier_all();                                                \
        for (int step = 1; step <= 3; ++step) {                             \
            shmem_##N##_p((T*)&word, (T)(10 * step), next_pe());            \
            if (step == 1) shmem_##N##_wait_until(&word, SHMEM_CMP_NE, 0);  \
            if (step == 2) shmem_##N##_wait_until(&word, SHMEM_CMP_GT, 10); \
            if (step == 3) shmem_##N##_wait_until(&word, SHMEM_CMP_GE, 30); \
            CHECK(word == (T)(10 * step));                                  \
            shmem_barrier_all();                                            \
        }                                                                   \
        shmem_##N##_p((T*)&word, 5, next_pe());                             \
        shmem_##N##_wait_until(&word, SHMEM_CMP_LT, 30);                    \
        CHECK(word == 5 && shmem_##N##_test(&word, SHMEM_CMP_EQ, 5));       \
        CHECK(!shmem_##N##_test(&word, SHMEM_CMP_NE, 5));                   \
        shmem_barrier_all();                                                \
    }
void wait_types(void) {
    WEFT_SHMEM_SYNC(WAIT_TYPE)
}

// Negative values are less than zero.
void wait_signed(void) {
    static int word32;
    static long word64;
    static short word16;
    word32 = 0;
    word64 = 0;
    word16 = 0;
    shmem_barrier_all();
    shmem_int_p(&word32, -3, next_pe());
    shmem_int_wait_until(&word32, SHMEM_CMP_LT, 0);
    shmem_long_p(&word64, -3, next_pe());
    shmem_long_wait_until(&word64, SHMEM_CMP_LE, -1);
    shmem_short_p(&word16, -3, next_pe());
    shmem_short_wait_until(&word16, SHMEM_CMP_LT, -2);
    CHECK(word32 == -3 && word64 == -3 && word16 == -3);
    CHECK(!shmem_int_test(&word32, SHMEM_CMP_GT, 0) && shmem_long_test(&word64, SHMEM_CMP_LT, 0));
    shmem_barrier_all();
}

#define ALL_TYPE(N, T)                                                                  \
    {                                                                                   \
        static T words[kWords];                                                         \
        T values[kWords];                                                               \
        memset(words, 0, sizeof words);                                                 \
        shmem_barrier_all();                                                            \
        for (int i = kWords; i-- > 0;) shmem_##N##_p(&words[i], (T)(i + 1), next_pe()); \
        shmem_##N##_wait_until_all(words, kWords, NULL, SHMEM_CMP_GT, 0);               \
        for (int i = 0; i < kWords; ++i) {                                              \
            CHECK(words[i] == (T)(i + 1));                                              \
            values[i] = (T)(i + 1);                                                     \
        }                                                                               \
        shmem_##N##_wait_until_all_vector(words, kWords, NULL, SHMEM_CMP_EQ, values);   \
        CHECK(shmem_##N##_test_all(words, kWords, NULL, SHMEM_CMP_NE, 0));              \
        CHECK(shmem_##N##_test_all_vector(words, kWords, NULL, SHMEM_CMP_EQ, values));  \
        values[3] = 0;                                                                  \
        CHECK(!shmem_##N##_test_all_vector(words, kWords, NULL, SHMEM_CMP_EQ, values)); \
        CHECK(!shmem_##N##_test_all(words, kWords, NULL, SHMEM_CMP_GT, 1));             \
        shmem_barrier_all();                                                            \
    }
void wait_all_types(void) {
    WEFT_SHMEM_SYNC(ALL_TYPE)
}

// Words become nonzero one after another; each call returns another word.
#define ANY_TYPE(N, T)                                                                          \
    {                                                                                           \
        static T words[kWords];                                                                 \
        T values[kWords];                                                                       \
        int status[kWords] = {0};                                                               \
        memset(words, 0, sizeof words);                                                         \
        for (int i = 0; i < kWords; ++i) values[i] = (T)(i + 1);                                \
        shmem_barrier_all();                                                                    \
        CHECK(shmem_##N##_test_any(words, kWords, status, SHMEM_CMP_NE, 0) == SIZE_MAX);        \
        shmem_barrier_all();                                                                    \
        for (int i = 0; i < kWords; ++i)                                                        \
            shmem_##N##_p(&words[(i * 5) % kWords], (T)((i * 5) % kWords + 1), next_pe());      \
        for (int i = 0; i < kWords; ++i) {                                                      \
            const size_t found =                                                                \
                i % 2 ? shmem_##N##_wait_until_any(words, kWords, status, SHMEM_CMP_NE, 0)      \
                      : shmem_##N##_wait_until_any_vector(words, kWords, status, SHMEM_CMP_EQ,  \
                                                          values);                              \
            CHECK(found < kWords && words[found] == (T)(found + 1) && !status[found]);          \
            if (found < kWords) status[found] = 1;                                              \
        }                                                                                       \
        CHECK(shmem_##N##_wait_until_any(words, kWords, status, SHMEM_CMP_NE, 0) == SIZE_MAX);  \
        CHECK(shmem_##N##_test_any_vector(words, kWords, status, SHMEM_CMP_EQ, values) ==       \
              SIZE_MAX);                                                                        \
        CHECK(shmem_##N##_test_any_vector(words, kWords, NULL, SHMEM_CMP_EQ, values) < kWords); \
        shmem_barrier_all();                                                                    \
    }
void wait_any_types(void) {
    WEFT_SHMEM_SYNC(ANY_TYPE)
}

#define SOME_TYPE(N, T)                                                                            \
    {                                                                                              \
        static T words[kWords];                                                                    \
        T values[kWords];                                                                          \
        int status[kWords] = {0};                                                                  \
        size_t indices[kWords];                                                                    \
        size_t left = kWords;                                                                      \
        memset(words, 0, sizeof words);                                                            \
        for (int i = 0; i < kWords; ++i) values[i] = (T)(i + 1);                                   \
        shmem_barrier_all();                                                                       \
        CHECK(shmem_##N##_test_some(words, kWords, indices, NULL, SHMEM_CMP_NE, 0) == 0);          \
        shmem_barrier_all();                                                                       \
        for (int i = 0; i < kWords; ++i) shmem_##N##_p(&words[i], (T)(i + 1), next_pe());          \
        for (int round = 0; left > 0; ++round) {                                                   \
            const size_t found =                                                                   \
                round % 2                                                                          \
                    ? shmem_##N##_wait_until_some(words, kWords, indices, status, SHMEM_CMP_NE, 0) \
                    : shmem_##N##_wait_until_some_vector(words, kWords, indices, status,           \
                                                         SHMEM_CMP_EQ, values);                    \
            CHECK(found > 0 && found <= left);                                                     \
            for (size_t i = 0; i < found; ++i) {                                                   \
                CHECK(!status[indices[i]] && words[indices[i]] == (T)(indices[i] + 1));            \
                status[indices[i]] = 1;                                                            \
            }                                                                                      \
            left -= found;                                                                         \
        }                                                                                          \
        CHECK(shmem_##N##_test_some_vector(words, kWords, indices, NULL, SHMEM_CMP_EQ, values) ==  \
              kWords);                                                                             \
        CHECK(shmem_##N##_wait_until_some(words, kWords, indices, status, SHMEM_CMP_NE, 0) == 0);  \
        shmem_barrier_all();                                                                       \
    }
void wait_some_types(void) {
    WEFT_SHMEM_SYNC(SOME_TYPE)
}

// Waits and tests ignore words whose entry in the status array is not 0.
void wait_skips_excluded(void) {
    static int words[6];
    const int status[6] = {1, 0, 1, 0, 1, 1};
    size_t indices[6];
    memset(words, 0, sizeof words);
    shmem_barrier_all();
    CHECK(shmem_int_test_all(words, 0, NULL, SHMEM_CMP_EQ, 1) == 1);
    shmem_int_p(&words[1], 7, next_pe());
    shmem_int_p(&words[3], 7, next_pe());
    shmem_int_wait_until_all(words, 6, status, SHMEM_CMP_EQ, 7);
    CHECK(words[1] == 7 && words[3] == 7 && words[0] == 0);
    CHECK(shmem_int_test_some(words, 6, indices, status, SHMEM_CMP_EQ, 7) == 2);
    CHECK(indices[0] + indices[1] == 1 + 3);  // in any order
    CHECK(shmem_int_test_any(words, 6, status, SHMEM_CMP_EQ, 0) == SIZE_MAX);
    shmem_barrier_all();
}

// A loop of tests ends, even with more PEs than cores.
void test_in_loop(void) {
    static long flag;
    flag = 0;
    shmem_barrier_all();
    for (int round = 1; round <= 20; ++round) {
        if (me() == 0) {
            shmem_long_p(&flag, round, next_pe());
            while (!shmem_long_test(&flag, SHMEM_CMP_EQ, round)) {
            }
        } else {
            while (!shmem_long_test(&flag, SHMEM_CMP_EQ, round)) {
            }
            shmem_long_p(&flag, round, next_pe());
        }
    }
    CHECK(flag == 20);
    shmem_barrier_all();
}

#define OLD_WAIT(N, T)                          \
    {                                           \
        static volatile T word;                 \
        word = 0;                               \
        shmem_barrier_all();                    \
        shmem_##N##_p((T*)&word, 4, next_pe()); \
        shmem_##N##_wait(&word, 0);             \
        CHECK(word == 4);                       \
        shmem_barrier_all();                    \
    }
void deprecated_waits(void) {
    static long word;
    WEFT_SHMEM_SYNC_OLD(OLD_WAIT)
    word = 0;
    shmem_barrier_all();
    shmem_long_p(&word, 9, next_pe());
    shmem_wait(&word, 0);
    (shmem_wait_until)(&word, SHMEM_CMP_EQ, 9);  // the function, not the generic macro
    CHECK(word == 9);
    shmem_barrier_all();
}

void generic_waits(void) {
    static unsigned long words[2];
    static volatile int flag;
    unsigned long values[2] = {3, 4};
    size_t indices[2];
    words[0] = words[1] = 0;
    flag = 0;
    shmem_barrier_all();
    shmem_put(words, values, 2, next_pe());
    shmem_wait_until(&words[1], SHMEM_CMP_EQ, 4);
    shmem_wait_until_all(words, 2, NULL, SHMEM_CMP_GE, 3);
    shmem_wait_until_all_vector(words, 2, NULL, SHMEM_CMP_EQ, values);
    CHECK(shmem_wait_until_any(words, 2, NULL, SHMEM_CMP_EQ, 3) == 0);
    CHECK(shmem_wait_until_some(words, 2, indices, NULL, SHMEM_CMP_GT, 0) == 2);
    CHECK(shmem_wait_until_any_vector(words, 2, NULL, SHMEM_CMP_EQ, values) < 2);
    CHECK(shmem_wait_until_some_vector(words, 2, indices, NULL, SHMEM_CMP_EQ, values) == 2);
    CHECK(shmem_test(&words[0], SHMEM_CMP_EQ, 3) &&
          shmem_test_all(words, 2, NULL, SHMEM_CMP_GT, 2));
    CHECK(shmem_test_any(words, 2, NULL, SHMEM_CMP_EQ, 4) == 1);
    CHECK(shmem_test_some(words, 2, indices, NULL, SHMEM_CMP_EQ, 4) == 1 && indices[0] == 1);
    CHECK(shmem_test_all_vector(words, 2, NULL, SHMEM_CMP_EQ, values));
    CHECK(shmem_test_any_vector(words, 2, NULL, SHMEM_CMP_LT, values) == SIZE_MAX);
    CHECK(shmem_test_some_vector(words, 2, indices, NULL, SHMEM_CMP_EQ, values) == 2);
    shmem_p((int*)&flag, 1, next_pe());
    shmem_wait_until(&flag, SHMEM_CMP_NE, 0);
    CHECK(flag == 1);
    shmem_barrier_all();
}
