/* SPDX-License-Identifier: BSD-3-Clause */
// transfers.c - puts and gets of every type and size, blocks, strides, single elements.
#include "program.h"

enum { kCount = 9, kUntouched = 120 };  // kUntouched exceeds every VALUE and fits every type

// Value that depends on PE and index and fits a signed char.
#define VALUE(T, pe, i) ((T)((pe)*11 % 50 + (i)))

#define PUT_TYPE(N, T)                                                                 \
    {                                                                                  \
        static T dest[kCount], source[kCount];                                         \
        for (int i = 0; i < kCount; ++i) source[i] = VALUE(T, me(), i);                \
        shmem_##N##_put(dest, source, kCount, next_pe());                              \
        shmem_barrier_all();                                                           \
        for (int i = 0; i < kCount; ++i) CHECK(dest[i] == VALUE(T, previous_pe(), i)); \
        shmem_barrier_all();                                                           \
    }
void put_types(void) {
    WEFT_SHMEM_RMA(PUT_TYPE)
}

#define PUT_NBI_TYPE(N, T)                                                                        \
    {                                                                                             \
        static T dest[kCount], source[kCount];                                                    \
        for (int i = 0; i < kCount; ++i) source[i] = VALUE(T, me(), i);                           \
        for (int i = 0; i < kCount; ++i) shmem_##N##_put_nbi(dest + i, source + i, 1, next_pe()); \
        shmem_barrier_all();                                                                      \
        for (int i = 0; i < kCount; ++i) CHECK(dest[i] == VALUE(T, previous_pe(), i));            \
        shmem_barrier_all();                                                                      \
    }
void put_nbi_types(void) {
    WEFT_SHMEM_RMA(PUT_NBI_TYPE)
}

#define GET_TYPE(N, T)                                                  \
    {                                                                   \
        static T source[kCount];                                        \
        T dest[kCount] = {0}, later[kCount] = {0};                      \
        for (int i = 0; i < kCount; ++i) source[i] = VALUE(T, me(), i); \
        shmem_barrier_all();                                            \
        shmem_##N##_get(dest, source, kCount, next_pe());               \
        shmem_##N##_get_nbi(later, source, kCount, previous_pe());      \
        shmem_quiet();                                                  \
        for (int i = 0; i < kCount; ++i) {                              \
            CHECK(dest[i] == VALUE(T, next_pe(), i));                   \
            CHECK(later[i] == VALUE(T, previous_pe(), i));              \
        }                                                               \
        shmem_barrier_all();                                            \
    }
void get_types(void) {
    WEFT_SHMEM_RMA(GET_TYPE)
}

#define ELEMENT_TYPE(N, T)                                                                   \
    {                                                                                        \
        static T word, other;                                                                \
        shmem_##N##_p(&word, VALUE(T, me(), 3), next_pe());                                  \
        shmem_ctx_##N##_p(SHMEM_CTX_DEFAULT, &other, VALUE(T, me(), 4), next_pe());          \
        shmem_barrier_all();                                                                 \
        CHECK(word == VALUE(T, previous_pe(), 3));                                           \
        CHECK(shmem_##N##_g(&word, next_pe()) == VALUE(T, me(), 3));                         \
        CHECK(shmem_ctx_##N##_g(SHMEM_CTX_DEFAULT, &other, next_pe()) == VALUE(T, me(), 4)); \
        shmem_barrier_all();                                                                 \
    }
void elements(void) {
    WEFT_SHMEM_RMA(ELEMENT_TYPE)
}

// Puts every second element to every third element; the elements between do not change.
#define STRIDED_TYPE(N, T)                                                                  \
    {                                                                                       \
        static T dest[3 * kCount], source[2 * kCount];                                      \
        T got[3 * kCount];                                                                  \
        for (int i = 0; i < 3 * kCount; ++i) dest[i] = got[i] = (T)kUntouched;              \
        for (int i = 0; i < 2 * kCount; ++i) source[i] = VALUE(T, me(), i);                 \
        shmem_barrier_all();                                                                \
        shmem_##N##_iput(dest, source, 3, 2, kCount, next_pe());                            \
        shmem_##N##_iget(got, source, 3, 2, kCount, next_pe());                             \
        shmem_barrier_all();                                                                \
        for (int i = 0; i < 3 * kCount; ++i) {                                              \
            CHECK(dest[i] == (i % 3 ? (T)kUntouched : VALUE(T, previous_pe(), i / 3 * 2))); \
            CHECK(got[i] == (i % 3 ? (T)kUntouched : VALUE(T, next_pe(), i / 3 * 2)));      \
        }                                                                                   \
        shmem_barrier_all();                                                                \
    }
void strided_types(void) {
    WEFT_SHMEM_RMA(STRIDED_TYPE)
}

static unsigned char source_bytes[1 << 12], dest_bytes[1 << 12];

static unsigned char byte_of(int pe, size_t i) {
    return (unsigned char)(31 * pe + 7 * i + i / 256);
}
static void fill_bytes(void) {
    for (size_t i = 0; i < sizeof source_bytes; ++i) source_bytes[i] = byte_of(me(), i);
    memset(dest_bytes, 0, sizeof dest_bytes);
    shmem_barrier_all();
}
static int bytes_are(const unsigned char* bytes, int pe, size_t count) {
    for (size_t i = 0; i < sizeof dest_bytes; ++i)
        if (bytes[i] != (i < count ? byte_of(pe, i) : 0)) return 0;
    return 1;
}

#define PUT_SIZE(N, BYTES)                                           \
    fill_bytes();                                                    \
    shmem_put##N(dest_bytes, source_bytes, kCount, next_pe());       \
    shmem_barrier_all();                                             \
    CHECK(bytes_are(dest_bytes, previous_pe(), kCount*(BYTES)));     \
    fill_bytes();                                                    \
    shmem_put##N##_nbi(dest_bytes, source_bytes, kCount, next_pe()); \
    shmem_barrier_all();                                             \
    CHECK(bytes_are(dest_bytes, previous_pe(), kCount*(BYTES)));
void put_sizes(void) {
    WEFT_SHMEM_SIZES(PUT_SIZE)
    PUT_SIZE(mem, 1)
    shmem_barrier_all();
}

#define GET_SIZE(N, BYTES)                                           \
    fill_bytes();                                                    \
    shmem_get##N(dest_bytes, source_bytes, kCount, next_pe());       \
    CHECK(bytes_are(dest_bytes, next_pe(), kCount*(BYTES)));         \
    shmem_barrier_all();                                             \
    fill_bytes();                                                    \
    shmem_get##N##_nbi(dest_bytes, source_bytes, kCount, next_pe()); \
    shmem_quiet();                                                   \
    CHECK(bytes_are(dest_bytes, next_pe(), kCount*(BYTES)));         \
    shmem_barrier_all();
void get_sizes(void) {
    WEFT_SHMEM_SIZES(GET_SIZE)
    GET_SIZE(mem, 1)
}

#define STRIDED_SIZE(N, BYTES)                                                                 \
    fill_bytes();                                                                              \
    shmem_iput##N(dest_bytes, source_bytes, 1, 2, kCount, next_pe());                          \
    shmem_barrier_all();                                                                       \
    for (size_t i = 0; i < kCount; ++i)                                                        \
        for (size_t b = 0; b < (BYTES); ++b)                                                   \
            CHECK(dest_bytes[i * (BYTES) + b] == byte_of(previous_pe(), 2 * i * (BYTES) + b)); \
    CHECK(dest_bytes[kCount * (BYTES)] == 0);                                                  \
    fill_bytes();                                                                              \
    shmem_iget##N(dest_bytes, source_bytes, 2, 1, kCount, next_pe());                          \
    for (size_t i = 0; i < kCount; ++i)                                                        \
        for (size_t b = 0; b < (BYTES); ++b) {                                                 \
            CHECK(dest_bytes[2 * i * (BYTES) + b] == byte_of(next_pe(), i * (BYTES) + b));     \
            CHECK(dest_bytes[(2 * i + 1) * (BYTES) + b] == 0);                                 \
        }                                                                                      \
    shmem_barrier_all();
void strided_sizes(void) {
    WEFT_SHMEM_SIZES(STRIDED_SIZE)
}

void put_large(void) {
    const size_t count = 1 << 18;
    int* dest = shmem_malloc(count * sizeof *dest);
    int* source = malloc(count * sizeof *source);
    for (int round = 0; round < 3; ++round) {
        for (size_t i = 0; i < count; ++i) source[i] = (int)i * 3 + me() + round;
        shmem_barrier_all();
        shmem_int_put(dest, source, count, next_pe());
        memset(source, 0, count * sizeof *source);  // after a put, its source may change
        shmem_barrier_all();
        size_t wrong = 0;
        for (size_t i = 0; i < count; ++i) wrong += dest[i] != (int)i * 3 + previous_pe() + round;
        CHECK(wrong == 0);
    }
    shmem_barrier_all();
    shmem_int_get(source, dest, count, next_pe());
    // The next PE still has this PE's put of round 2.
    CHECK(source[5] == 5 * 3 + me() + 2 && source[count - 1] == (int)(count - 1) * 3 + me() + 2);
    free(source);
    shmem_free(dest);
}

// Puts bytes from any address to any address; other bytes do not change.
void put_unaligned(void) {
    for (size_t at = 0; at < 9; ++at)
        for (size_t length = 1; length < 40; length += 6) {
            fill_bytes();
            shmem_putmem(dest_bytes + at, source_bytes + 2 * at, length, next_pe());
            shmem_barrier_all();
            for (size_t i = 0; i < 64; ++i) {
                const int inside = i >= at && i < at + length;
                CHECK(dest_bytes[i] == (inside ? byte_of(previous_pe(), i + at) : 0));
            }
            shmem_barrier_all();
        }
}

void put_nothing(void) {
    static int word = 8;
    shmem_int_put(&word, &word, 0, next_pe());
    shmem_int_get(&word, &word, 0, next_pe());
    shmem_int_iput(&word, &word, 1, 1, 0, next_pe());
    shmem_putmem(NULL, NULL, 0, next_pe());
    shmem_getmem_nbi(NULL, NULL, 0, next_pe());
    shmem_barrier_all();
    CHECK(word == 8);
}

void put_to_self(void) {
    static long dest[4];
    const long source[4] = {1, 2, 3, 4 + me()};
    shmem_long_put(dest, source, 4, me());
    shmem_quiet();
    CHECK(dest[0] == 1 && dest[3] == 4 + me());
    CHECK(shmem_long_g(&dest[3], me()) == 4 + me());
}

// Each PE writes its own element in the array of every PE.
void put_from_all(void) {
    long* table = shmem_calloc((size_t)pes(), sizeof *table);
    for (int pe = 0; pe < pes(); ++pe) shmem_long_p(&table[me()], 1000 * me() + pe, pe);
    shmem_barrier_all();
    for (int pe = 0; pe < pes(); ++pe) CHECK(table[pe] == 1000 * pe + me());
    shmem_free(table);
}

void generic_transfers(void) {
    static double dest[4], flags[4];
    static short words[4];
    const double source[4] = {me() + 0.25, 2, 3, 4};
    const short part[2] = {7, 8};
    double got = 0;
    shmem_put(dest, source, 4, next_pe());
    shmem_put_nbi(SHMEM_CTX_DEFAULT, words, part, 2, next_pe());
    shmem_p(&flags[1], 5.5, next_pe());
    shmem_iput(SHMEM_CTX_DEFAULT, &flags[2], source, 1, 2, 2, next_pe());
    shmem_barrier_all();
    CHECK(dest[0] == previous_pe() + 0.25 && dest[3] == 4);
    CHECK(words[1] == 8 && flags[1] == 5.5 && flags[2] == previous_pe() + 0.25 && flags[3] == 3);
    CHECK(shmem_g((const double*)dest, next_pe()) == me() + 0.25);
    CHECK(shmem_g(SHMEM_CTX_DEFAULT, words + 1, next_pe()) == 8);
    shmem_get(&got, dest, 1, next_pe());
    CHECK(got == me() + 0.25);
    shmem_get_nbi(SHMEM_CTX_DEFAULT, &got, dest + 3, 1, next_pe());
    shmem_quiet();
    CHECK(got == 4);
    shmem_barrier_all();
}
