/* SPDX-License-Identifier: BSD-3-Clause */
// walk.c - calls every routine of shmem.h with arguments that the library must refuse.
//
// usage: walk child    a forked child of PE 0 calls each routine
//        walk count    passes element counts whose product with the element size overflows
//        walk past     passes ranges of 1 MiB that start at a variable of 64 bytes
//        walk end      passes the address after the last variable
//
// Idea     walk.py writes one function for each routine (walk_calls.inc). After an invalid call
//          the library calls _Exit(). This program defines _Exit(), which continues with the next
//          routine. PE 0 prints each name with `refused`, `returned -1` or `done`.
#include <complex.h>
#include <setjmp.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMiB = 1 << 20, kSeconds = 20 };

static char small[64];
extern char _end[];  // defined by the linker: end of the last variable

// Arguments of the calls.
static void* address;
static void* private_memory;
static int peer;
static shmem_ctx_t context;
static shmem_ctx_t made_context;
static shmem_team_t team = SHMEM_TEAM_WORLD;
static shmem_team_t made_team;
static shmem_team_config_t config;
static int overflows;  // 1: counts overflow (mode `count`)
static size_t bytes;   // size of ranges; 0: one element

// Returns the count argument for a routine with elements of `size` bytes.
static size_t count_for(size_t size) {
    if (!overflows) return bytes == 0 ? 1 : bytes / size;
    return size == 1 ? SIZE_MAX : SIZE_MAX / size + 2;  // the product wraps to one element
}

// Status of the last call; 0 for routines without a status.
static int result;

// Kinds of routines: with a count that may overflow, with a range, with a symmetric address.
enum { kAll = 0, kCounted = 1, kRanged = 2, kAddressed = 4 };
struct routine {
    const char* name;
    void (*call)(void);
    int kind;
};
#include <walk_calls.inc>

// State of the walk in private memory, because a forked child shares symmetric variables with PE 0.
struct walk {
    jmp_buf next;
    volatile int calling;  // 1: a routine is called, so _Exit() continues at `next`
};
static struct walk* walk;

void _Exit(int status) {
    if (!walk->calling) _exit(status);
    longjmp(walk->next, 1);
}

// Calls the routines of a kind, or of all kinds. If `prints`, prints the outcome of each call.
static void call_all(int kind, int prints) {
    for (volatile size_t i = 0; i < sizeof routines / sizeof routines[0]; ++i) {
        if (kind != kAll && (routines[i].kind & kind) == 0) continue;
        const char* outcome = "refused";
        result = 0;
        walk->calling = 1;
        if (setjmp(walk->next) == 0) {
            routines[i].call();
            outcome = result == -1 ? "returned -1" : "done";
        }
        walk->calling = 0;
        if (prints) printf("%s: %s\n", routines[i].name, outcome);
    }
    fflush(stdout);
}

static void call_in_child(void) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(kSeconds);
        call_all(kAll, /*prints=*/1);
        exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("the child: %d\n", status);
}

int main(int argc, char** argv) {
    const char* mode = argc == 2 ? argv[1] : "";
    shmem_init();
    walk = calloc(1, sizeof *walk);
    private_memory = calloc(1, 4096);
    const int me = shmem_my_pe();
    peer = (me + 1) % shmem_n_pes();
    unsigned char* heap = shmem_malloc(2 * kMiB);
    memset(heap, 1, 2 * kMiB);
    if (shmem_ctx_create(0, &context) != 0) return 2;
    shmem_barrier_all();
    address = heap;
    if (strcmp(mode, "child") == 0) {
        if (me == 0) call_in_child();
    } else if (strcmp(mode, "count") == 0) {
        overflows = 1;
        call_all(kCounted, /*prints=*/me == 0);
    } else if (strcmp(mode, "past") == 0) {
        address = small;
        bytes = kMiB;
        call_all(kRanged, /*prints=*/me == 0);
    } else if (strcmp(mode, "end") == 0) {
        address = _end;
        call_all(kAddressed, /*prints=*/me == 0);
    } else {
        return 2;
    }
    shmem_barrier_all();
    long changed = 0;
    for (int i = 0; i < 2 * kMiB; ++i) changed += heap[i] != 1;
    static long changed_here, changed_in_all;
    changed_here = changed;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &changed_in_all, &changed_here, 1);
    if (me == 0) printf("the job continues, %ld bytes of the heap changed\n", changed_in_all);
    fflush(stdout);
    shmem_finalize();
    return 0;
}
