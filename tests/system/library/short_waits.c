/* SPDX-License-Identifier: BSD-3-Clause */
// short_waits.c - the last rank starts an allreduce with another count than the other ranks, and
// all ranks wait for the call in slices of a millisecond.
//
// Exit status: 40 if a wait fails with WEFT_ERR_ARGUMENT, as expected; 41 after another failure; 0
// if the call completes. The message is on stderr.
#include <stdio.h>
#include <weft/weft.h>

int main(void) {
    weft_runtime* runtime = NULL;
    if (weft_init(&runtime) != WEFT_OK) return 41;
    weft_team* const world = weft_world(runtime);
    const int differs = weft_rank(world) == weft_size(world) - 1;
    const double in[4] = {0};
    double out[4];
    weft_request* request = NULL;
    weft_status status =
        weft_iallreduce(world, in, out, differs ? 3 : 4, WEFT_DOUBLE, WEFT_SUM, &request);
    while (status == WEFT_OK && request != NULL) {
        status = weft_wait_for(&request, 1000000); /* nanoseconds */
        if (status == WEFT_ERR_TIMEOUT) status = WEFT_OK;
    }
    if (status == WEFT_OK) return 0;
    fprintf(stderr, "caught: %s\n", weft_last_error());
    return status == WEFT_ERR_ARGUMENT ? 40 : 41;
}
