// SPDX-License-Identifier: BSD-3-Clause
// messages.c - active messages and views of local peers' memory (weft_near) in the C interface.
#include <string.h>
#include <weft/near.h>
#include <weft/weft.h>

#include "check.h"

enum { kPing = 3, kPong = 4, kFan = 5, kLate = 200 };  // numbers of message handlers
enum { kRounds = 200, kLong = 2000 };                  // rounds of pings; bytes of a long message

static uint64_t pings, pongs, fans, lates;  // messages handled, by handler
static uint64_t refused;                    // calls that were refused within a handler
static uint64_t received_from[64];          // pings, by sender

/// The data with which each message starts.
struct head {
    int32_t from;     ///< sender
    int32_t rest;     ///< fans only: number of later generations
    uint64_t number;  ///< round of a ping; for a fan, distance to the second receiver
};

/// Replies with the ping's own bytes. Checks that the pings of a sender arrive in order, and that
/// a handler must not wait: weft_quiet() and collectives are refused.
static void ping(void* arg, const weft_am* message, const void* data, size_t bytes) {
    struct head head;
    memcpy(&head, data, sizeof head);
    CHECK(arg == &pings && weft_am_peer(message) == head.from);
    CHECK(head.number == received_from[head.from]++);
    ++pings;
    DONE(weft_am_reply(message, kPong, data, bytes));
    if (weft_quiet(world) == WEFT_ERR_ARGUMENT && weft_barrier(world) == WEFT_ERR_ARGUMENT)
        ++refused;
}

static void pong(void* arg, const weft_am* message, const void* data, size_t bytes) {
    struct head head;
    memcpy(&head, data, sizeof head);
    CHECK(arg == &pongs && head.from == my_rank && weft_am_peer(message) >= 0);
    CHECK(bytes == sizeof head || bytes == kLong);
    const unsigned char* rest = (const unsigned char*)data + sizeof head;
    for (size_t i = 0; i < bytes - sizeof head; ++i) CHECK(rest[i] == (unsigned char)head.number);
    ++pongs;
}

/// Sends two messages of the next generation, unless this is the last generation.
static void fan(void* arg, const weft_am* message, const void* data, size_t bytes) {
    struct head head;
    (void)arg;
    (void)message;
    memcpy(&head, data, sizeof head);
    ++fans;
    if (head.rest == 0) return;
    --head.rest;
    DONE(weft_am_request(world, (my_rank + 1) % size, kFan, &head, bytes));
    DONE(weft_am_request(world, (my_rank + (int)head.number) % size, kFan, &head, bytes));
}

static void late(void* arg, const weft_am* message, const void* data, size_t bytes) {
    (void)arg;
    (void)message;
    (void)data;
    CHECK(bytes == 0);
    ++lates;
}

static void requests_and_replies(void) {
    unsigned char bytes[kLong];
    for (uint64_t round = 0; round < kRounds; ++round) {
        for (int peer = 0; peer < size; ++peer) {
            const struct head head = {my_rank, 0, round};
            memset(bytes, (int)(unsigned char)round, sizeof bytes);
            memcpy(bytes, &head, sizeof head);
            DONE(weft_am_request(world, peer, kPing, bytes, round % 3 == 0 ? kLong : sizeof head));
        }
    }
    const uint64_t all = kRounds * (uint64_t)size;
    DONE(weft_wait_until(world, &pongs, WEFT_EQ, all));
    DONE(weft_wait_until(world, &pings, WEFT_EQ, all));
    CHECK(refused == all);
    DONE(weft_barrier(world));
}

/// Starts a tree of 1023 messages (10 generations) at each rank, and counts them over all ranks.
static void nested_requests(void) {
    const struct head head = {my_rank, 9, (uint64_t)my_rank + 2};
    DONE(weft_am_request(world, my_rank, kFan, &head, sizeof head));
    uint64_t total = 0;
    while (total != (uint64_t)size * 1023) {
        weft_progress(runtime);
        const uint64_t mine = fans;
        DONE(weft_allreduce(world, &mine, &total, 1, WEFT_UINT64, WEFT_SUM));
        if (total > (uint64_t)size * 1023) break;
    }
    CHECK(total == (uint64_t)size * 1023);
    DONE(weft_barrier(world));
}

/// Checks that messages wait until a handler is registered for their number. Rank 0 sends 20 of
/// them to itself, each other rank sends 6.
static void late_handlers(void) {
    for (int i = 0; i < 20; ++i)
        if (i < 6 || my_rank == 0) DONE(weft_am_request(world, 0, kLate, NULL, 0));
    DONE(weft_barrier(world));
    CHECK(lates == 0);
    if (my_rank == 0) {
        DONE(weft_am_register(runtime, kLate, late, NULL));
        DONE(weft_wait_until(world, &lates, WEFT_EQ, 20 + 6 * (uint64_t)(size - 1)));
    }
    DONE(weft_barrier(world));
}

/// Writes and reads words of the next rank by the functions of weft_near, the view of a team's
/// symmetric memory.
static void local_views(void) {
    weft_near* near = NULL;
    void* found = NULL;
    uint64_t old = 9;
    double real = 0;
    const int next = (my_rank + 1) % size;
    char bytes[100], back[100];
    DONE(weft_calloc(world, 64, sizeof(uint64_t), &found));
    uint64_t* words = found;
    DONE(weft_near_open(world, sizeof(weft_near), &near));
    CHECK(near->ranks == (uint32_t)size);
    DONE(weft_near_put_u64(near, words, 100 + (uint64_t)my_rank, next));
    DONE(weft_near_put_double(near, (double*)words + 1, 0.5 * my_rank, next));
    DONE(weft_near_put_i8(near, (int8_t*)(words + 2) + 3, (int8_t)-my_rank, next));
    for (int i = 0; i < 50; ++i) DONE(weft_near_add_u64(near, words + 3, 2, 0));
    for (int i = 0; i < 50; ++i)
        DONE(weft_near_fetch_add_i32(near, (int32_t*)(words + 4), -1, &(int32_t){0}, 0));
    memset(bytes, my_rank, sizeof bytes);
    DONE(weft_near_put(near, words + 8, bytes, sizeof bytes, next));
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    const int previous = (my_rank + size - 1) % size;
    CHECK(words[0] == 100 + (uint64_t)previous);
    CHECK(((int8_t*)(words + 2))[3] == (int8_t)-previous);
    CHECK(my_rank != 0 || (words[3] == 100 * (uint64_t)size && (int32_t)words[4] == -50 * size));
    DONE(weft_barrier(world));
    DONE(weft_near_get_u64(near, &old, words, next));
    CHECK(old == 100 + (uint64_t)my_rank);
    DONE(weft_near_get_double(near, &real, (double*)words + 1, next));
    CHECK(real == 0.5 * my_rank);
    DONE(weft_near_get(near, back, words + 8, sizeof back, next));
    CHECK(memcmp(back, bytes, sizeof back) == 0);
    DONE(weft_near_fetch_u64(near, words, &old, next));
    CHECK(old == 100 + (uint64_t)my_rank);
    DONE(weft_near_swap_u64(near, words, 7, &old, next));
    CHECK(old == 100 + (uint64_t)my_rank);
    DONE(weft_near_compare_swap_u64(near, words, 8, 9, &old, next));
    CHECK(old == 7);
    DONE(weft_near_compare_swap_u64(near, words, 7, 9, &old, next));
    DONE(weft_near_set_u64(near, words + 5, 77, next));
    DONE(weft_near_fetch_or_u64(near, words + 6, 6, &old, next));
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    CHECK(words[0] == 9 && words[5] == 77 && words[6] == 6);
    REFUSED(weft_near_put_u64(near, words, 1, size), "peer");
    REFUSED(weft_near_put_u64(near, &old, 1, 0), "symmetric memory");
    REFUSED(weft_near_add_u64(near, (uint64_t*)((char*)words + 4), 1, 0), "aligned");
    REFUSED(weft_near_open(world, 3, &near), "struct_bytes");
    weft_team* half = NULL;
    DONE(weft_team_split(world, my_rank % 2, my_rank, &half));
    weft_near* view = NULL;
    DONE(weft_near_open(half, sizeof(weft_near), &view));
    CHECK(view != near && view->ranks == (uint32_t)weft_size(half));
    DONE(weft_team_free(half));
    REFUSED(weft_near_put_u64(view, words, 1, 0), "freed");
    DONE(weft_barrier(world));
    DONE(weft_free(world, found));
}

int main(void) {
    if (!join_job()) return 1;
    DONE(weft_am_register(runtime, kPing, ping, &pings));
    DONE(weft_am_register(runtime, kPong, pong, &pongs));
    DONE(weft_am_register(runtime, kFan, fan, NULL));
    CHECK(weft_am_bytes_max(runtime) == 2048);
    requests_and_replies();
    nested_requests();
    late_handlers();
    local_views();
    REFUSED(weft_am_register(runtime, 256, ping, NULL), "handler");
    REFUSED(weft_am_request(world, size, kPing, NULL, 0), "peer");
    REFUSED(weft_am_request(world, 0, -1, NULL, 0), "handler");
    REFUSED(weft_am_request(world, 0, kPing, NULL, 2049), "bytes");
    REFUSED(weft_am_request(world, 0, kPing, NULL, 8), "data");
    // Sizes that wrap when the header of a message is added.
    for (size_t bytes = SIZE_MAX; bytes > SIZE_MAX - 9; --bytes)
        REFUSED(weft_am_request(world, 0, kPing, &world, bytes), "bytes");
    DONE(weft_barrier(world));
    DONE(weft_finalize(runtime));
    return verdict("all messages are right");
}
