/* SPDX-License-Identifier: BSD-3-Clause */
/* instructions.c - repeats short calls, so that callgrind can count the
 * instructions of each (instructions_test.cpp). The job has two ranks. */
#include <stdio.h>
#include <weft/weft.h>

enum { kCalls = 40 }; /* of each function; instructions_test.cpp expects this number */

/* Prints the failed call and the library's last error. Returns the exit status. */
static int fail(const char* call) {
    fprintf(stderr, "%s: %s\n", call, weft_last_error());
    return 1;
}

/* Message handler. */
static void count(void* arg, const weft_am* message, const void* data, size_t bytes) {
    (void)message, (void)data, (void)bytes;
    ++*(int*)arg;
}

int main(void) {
    weft_runtime* runtime = NULL;
    double in = 1;
    double out = 0;
    if (weft_init(&runtime) != WEFT_OK) return fail("weft_init");
    weft_team* const world = weft_world(runtime);
    for (int call = 0; call < kCalls; ++call)
        if (weft_barrier(world) != WEFT_OK) return fail("weft_barrier");
    for (int call = 0; call < kCalls; ++call)
        if (weft_allreduce(world, &in, &out, 1, WEFT_DOUBLE, WEFT_SUM) != WEFT_OK)
            return fail("weft_allreduce");
    if (out != 2) return fail("the sum is wrong");
    int handled = 0;
    const int me = weft_rank(world);
    if (weft_am_register(runtime, 0, count, &handled) != WEFT_OK) return fail("weft_am_register");
    for (int call = 0; call < kCalls; ++call) {
        if (weft_am_request(world, me, 0, &in, sizeof in) != WEFT_OK)
            return fail("weft_am_request");
        while (handled <= call) weft_progress(runtime);
    }
    if (weft_finalize(runtime) != WEFT_OK) return fail("weft_finalize");
    return 0;
}
