/* SPDX-License-Identifier: BSD-3-Clause */
// memory.c - queries of PEs and the library, symmetric variables, and the symmetric heap.
#include <stdint.h>

#include "program.h"

void identity(void) {
    static long number, sum;
    CHECK(me() >= 0 && me() < pes());
    number = me() + 1;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &number, 1);
    CHECK(sum == (long)pes() * (pes() + 1) / 2);
    shmem_barrier_all();
}

void information(void) {
    int major = 0, minor = 0, level = -1;
    char name[SHMEM_MAX_NAME_LEN] = "";
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    shmem_query_thread(&level);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);
    CHECK(level >= SHMEM_THREAD_SINGLE && level <= SHMEM_THREAD_MULTIPLE);
    shmem_pcontrol(1);
}

static int in_bss[3000];
static int in_data[5] = {1, 2, 3, 4, 5};
double in_program = 0.5;

void accessible(void) {
    int on_stack = 0;
    int* private_memory = malloc(sizeof *private_memory);
    int* heap = shmem_malloc(sizeof *heap);
    for (int pe = 0; pe < pes(); ++pe) {
        CHECK(shmem_pe_accessible(pe));
        CHECK(shmem_addr_accessible(heap, pe));
        CHECK(shmem_addr_accessible(in_bss + 2999, pe));
        CHECK(shmem_addr_accessible(in_data, pe));
        CHECK(!shmem_addr_accessible(&on_stack, pe));
        CHECK(!shmem_addr_accessible(private_memory, pe));
    }
    CHECK(!shmem_pe_accessible(-1) && !shmem_pe_accessible(pes()));
    shmem_free(heap);
    free(private_memory);
}

void pointers(void) {
    int* heap = shmem_malloc(4 * sizeof *heap);
    heap[3] = in_bss[7] = 100 + me();
    shmem_barrier_all();
    CHECK(shmem_ptr(heap, me()) == heap && shmem_ptr(in_bss, me()) == in_bss);
    for (int pe = 0; pe < pes(); ++pe) {
        const int* remote_heap = shmem_ptr(heap, pe);
        const int* variable = shmem_ptr(in_bss, pe);
        CHECK((remote_heap == NULL) == (variable == NULL));
        if (remote_heap != NULL) CHECK(remote_heap[3] == 100 + pe && variable[7] == 100 + pe);
    }
    CHECK(shmem_ptr(heap, pes()) == NULL);
    shmem_barrier_all();
    in_bss[7] = 0;
    shmem_free(heap);
}

// Variables have their initial values; a put into one is visible under its name.
void variables(void) {
    static int in_function = 17;
    static char three_bytes[3] = "ab";
    CHECK(in_data[0] == 1 && in_data[4] == 5 && in_program == 0.5 && in_function == 17);
    CHECK(in_bss[2999] == 0);
    shmem_barrier_all();
    shmem_int_p(&in_data[2], 1000 + me(), next_pe());
    shmem_int_p(&in_function, 2000 + me(), next_pe());
    shmem_double_p(&in_program, 3.5 + me(), next_pe());
    shmem_char_p(&three_bytes[1], (char)('A' + me()), next_pe());
    shmem_int_p(&in_bss[2998], 4000 + me(), next_pe());
    shmem_barrier_all();
    CHECK(in_data[2] == 1000 + previous_pe() && in_data[1] == 2 && in_data[3] == 4);
    CHECK(in_function == 2000 + previous_pe());
    CHECK(in_program == 3.5 + previous_pe());
    CHECK(three_bytes[0] == 'a' && three_bytes[1] == 'A' + previous_pe() && three_bytes[2] == 0);
    CHECK(in_bss[2998] == 4000 + previous_pe() && in_bss[2997] == 0 && in_bss[2999] == 0);
    shmem_barrier_all();
    in_function = 17;
}

void allocate(void) {
    char* blocks[40];
    for (int i = 0; i < 40; ++i) {
        blocks[i] = shmem_malloc((size_t)(i * i + 1));
        CHECK(blocks[i] != NULL);
        memset(blocks[i], i, (size_t)(i * i + 1));
    }
    for (int i = 0; i < 40; i += 2) shmem_free(blocks[i]);
    for (int i = 0; i < 40; i += 2) {
        blocks[i] = shmem_malloc(777);
        memset(blocks[i], 100 + i, 777);
    }
    for (int i = 1; i < 40; i += 2) CHECK(blocks[i][0] == i && blocks[i][i * i] == i);
    shmem_barrier_all();
    shmem_char_p(blocks[39] + 1521, 'x', next_pe());  // the last byte of the block
    shmem_barrier_all();
    CHECK(blocks[39][1521] == 'x' && blocks[39][1520] == 39);
    for (int i = 0; i < 40; ++i) shmem_free(blocks[i]);
    CHECK(shmem_malloc(0) == NULL);
    shmem_free(NULL);
}

void allocate_zeroed(void) {
    for (int round = 0; round < 3; ++round) {
        long* block = shmem_calloc(500, sizeof *block);
        long sum = 0;
        for (int i = 0; i < 500; ++i) sum |= block[i];
        CHECK(sum == 0);
        shmem_barrier_all();
        memset(block, 0xff, 500 * sizeof *block);
        shmem_free(block);
    }
    CHECK(shmem_calloc(0, 8) == NULL);
}

void allocate_aligned(void) {
    for (size_t alignment = sizeof(void*); alignment <= 65536; alignment *= 4) {
        long* block = shmem_align(alignment, 100 * sizeof *block);
        CHECK(block != NULL && (uintptr_t)block % alignment == 0);
        block[99] = -1;
        shmem_barrier_all();
        shmem_long_p(&block[99], 5, next_pe());
        shmem_barrier_all();
        CHECK(block[99] == 5);
        shmem_free(block);
    }
    CHECK(shmem_align(24, 8) == NULL);
}

void reallocate(void) {
    int* block = shmem_realloc(NULL, 10 * sizeof *block);
    for (int i = 0; i < 10; ++i) block[i] = 10 * me() + i;
    int* larger = shmem_realloc(block, 100000 * sizeof *larger);
    for (int i = 0; i < 10; ++i) CHECK(larger[i] == 10 * me() + i);
    shmem_barrier_all();
    shmem_int_p(&larger[99999], me(), next_pe());
    shmem_barrier_all();
    CHECK(larger[99999] == previous_pe());
    int* smaller = shmem_realloc(larger, 3 * sizeof *smaller);
    CHECK(smaller[0] == 10 * me() && smaller[2] == 10 * me() + 2);
    CHECK(shmem_realloc(smaller, 0) == NULL);
}

void allocate_with_hints(void) {
    uint64_t* words = shmem_malloc_with_hints(
        8 * sizeof *words, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    int* plain = shmem_malloc_with_hints(sizeof *plain, 0);
    words[5] = 0;
    shmem_barrier_all();
    shmem_uint64_atomic_add(&words[5], 3, next_pe());
    shmem_barrier_all();
    CHECK(words[5] == 3);
    shmem_free(plain);
    shmem_free(words);
}

void deprecated_names(void) {
    start_pes(0);  // a second call has no effect
    CHECK(_my_pe() == me() && _num_pes() == pes());
    long* block = shmalloc(2 * sizeof *block);
    block = shrealloc(block, 4 * sizeof *block);
    long* aligned = shmemalign(4096, 8);
    CHECK(block != NULL && (uintptr_t)aligned % 4096 == 0);
    shfree(aligned);
    shfree(block);
    shmem_set_cache_inv();
    shmem_clear_cache_inv();
    shmem_set_cache_line_inv(in_data);
    shmem_clear_cache_line_inv(in_data);
    shmem_udcflush();
    shmem_udcflush_line(in_data);
}
