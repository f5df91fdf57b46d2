/* SPDX-License-Identifier: BSD-3-Clause */
// progress.c - calls of a PE complete while their target makes no call.
//
// Idea     The last PE polls its own variable, which PE 0 sets after a put, an addition and a
//          get have completed. If the last PE makes no progress, PE 0 waits for it, and the poll
//          reaches its limit.
#include <time.h>

#include "program.h"

enum { kSecondsMax = 10 };

void polls_own_word(void) {
    static char block[1 << 16], sent[1 << 16];
    static long sum, word;
    const int last = pes() - 1;
    memset(block, 0, sizeof block);
    memset(sent, 5, sizeof sent);
    sum = word = 0;
    shmem_barrier_all();
    if (me() == 0 && last != 0) {
        shmem_putmem(block, sent, sizeof block, last);
        shmem_quiet();
        shmem_long_atomic_add(&sum, 3, last);
        shmem_quiet();
        CHECK(shmem_long_g(&sum, last) == 3);
        shmem_long_p(&word, 1, last);
        shmem_quiet();
    } else if (me() == last && last != 0) {
        const volatile long* const polled = &word;
        const time_t limit = time(NULL) + kSecondsMax;
        while (*polled == 0 && time(NULL) < limit) {
        }
        CHECK(*polled == 1 && sum == 3 && block[0] == 5 && block[sizeof block - 1] == 5);
    }
    shmem_barrier_all();
}
