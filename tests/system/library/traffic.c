// SPDX-License-Identifier: BSD-3-Clause
// traffic.c - random puts, gets, atomic operations, signals and messages of all ranks over teams
// and contexts, compared with a serial model of all ranks' memory.
//
// usage: weft_traffic OPERATIONS [SEED [word | message]]
//
// Idea     All ranks draw the same operations from the seed. Each rank executes the operations
//          whose origin it is, and applies all operations to its model of every rank's memory.
//          After each round its own memory must equal the model.
// Why      The result must not depend on the timing of the ranks. So in each round, a word is
//          either written by one rank with fences of one handle, or changed by commutative
//          operations, or only read. Messages between two ranks arrive in order, so a handler folds
//          the messages of each sender into a digest that depends on their order.
// Control  `word`, `message`: one rank puts or sends a value that differs from the model, and the
//          program must fail.
#include <stdlib.h>
#include <weft/near.h>
#include <weft/weft.h>

#include "check.h"
#include "tests/support/traffic_draw.h"

enum { kRanksMax = 16, kCells = 48, kBlock = 96 };         // words and bytes of struct memory
enum { kWordsMax = 256 };                                  // words of a message
enum { kRoundOperations = 400 };                           // operations of a round
enum { kTeamRounds = 8 };                                  // rounds of a team
enum { kWorld, kContext, kTeam, kTeamContext, kHandles };  // indices of `handles`
// Numbers of message handlers. The receiver of kAsk replies by kReply. The receiver of kPass sends
// the data to a third rank by kPassed. kMarked follows a put that must be visible.
enum { kPost = 1, kAsk, kPass, kMarked, kReply, kPassed };

struct memory {
    uint64_t cells[kCells];
    unsigned char blocks[kRanksMax][kBlock];  // by writing rank
    uint64_t signal;                          // each put with a signal adds 3
    uint64_t marks[kRanksMax];                // by writing rank; a kMarked message follows each
    // Written only by handlers.
    uint64_t requests[kRanksMax], replies[kRanksMax];  // digests of messages, by sender
    uint64_t passed;                                   // sum of the digests passed on to this rank
    uint64_t handled;                                  // number of messages
};

// A random operation. Each kind uses some of the fields.
struct operation {
    int kind;                   // block, message or word (do_round())
    int origin, target, third;  // ranks; `third` receives a message that is passed on
    int handle, cell;           // indices of a handle and of a word
    int variant;                // function or form of the operation
    int offset, length;         // of a block; a message uses them for its handler and length
    uint64_t value;
};

static struct memory *mine, *model;         // model: by rank
static uint64_t started[kRoundOperations];  // operands and results of started operations
static int plant_word, plant_message;       // 1 on rank 0 until the fault is planted
static int round_number;
static int colors[kRanksMax];             // ranks of equal color form the team handles[kTeam]
static int marked[kRanksMax][kRanksMax];  // round of the last mark plus 1, by origin and target
static weft_team* handles[kHandles];
static weft_near* near_view;

/// Returns the digest of one more value, which depends on the order of the values.
static uint64_t folded(uint64_t digest, uint64_t value) {
    return (digest ^ value) * 0x9e3779b97f4a7c15ULL + 1;
}

static struct operation draw_operation(void) {
    struct operation op;
    op.kind = below(8);
    op.origin = below(size);
    op.target = below(size);
    op.third = below(size);
    op.handle = below(kHandles);
    op.cell = below(kCells);
    op.variant = below(6);
    op.offset = below(kBlock);
    op.length = below(kWordsMax);
    op.value = draw();
    return op;
}

static uint64_t role_of(const struct operation* op) {
    return role_of_cell(round_number, op->target * kCells + op->cell);
}

// --- handles -------------------------------------------------------------------------------------

// Returns the handle, or the world if the handle's team does not have both ranks.
static weft_team* handle_for(const struct operation* op) {
    return handles[op->handle < kTeam || colors[op->origin] == colors[op->target] ? op->handle
                                                                                  : kWorld];
}
static int rank_in(weft_team* handle, int rank) {
    return weft_team_translate(world, rank, handle);
}

static void free_team(void) {
    DONE(weft_context_free(handles[kTeamContext]));
    DONE(weft_team_free(handles[kTeam]));
}
/// Splits the world into one or two teams, with random order of the ranks.
static void make_team(void) {
    int keys[kRanksMax];
    for (int rank = 0; rank < size; ++rank) {
        colors[rank] = below(2);
        keys[rank] = below(100);
    }
    DONE(weft_team_split(world, colors[my_rank], keys[my_rank], &handles[kTeam]));
    DONE(weft_context_create(handles[kTeam], 0, &handles[kTeamContext]));
}

// --- words ---------------------------------------------------------------------------------------

static void write_cell(const struct operation* op, uint64_t value, int slot) {
    weft_team* const handle = handle_for(op);
    const int peer = rank_in(handle, op->target);
    uint64_t* const at = &mine->cells[op->cell];
    started[slot] = value;
    DONE(weft_fence(handle));  // after this rank's earlier puts to the cell
    switch (op->variant) {
        case 0:
            DONE(weft_put(handle, at, &value, sizeof value, peer));
            break;
        case 1:
            DONE(weft_put_nbi(handle, at, &started[slot], sizeof value, peer));
            break;
        case 2:
            DONE(weft_put_strided(handle, at, 4, &value, 4, 4, 2, peer));
            break;
        case 3:
            DONE(weft_atomic(handle, WEFT_ATOMIC_SET, WEFT_UINT64, at, &value, NULL, NULL, peer));
            break;
        default:
            DONE(weft_put_signal(handle, at, &value, sizeof value, &mine->signal, 3, 1, peer));
    }
}

/// Adds by compare-and-swap; repeats until no other change intervenes.
static void swap_cell(weft_team* handle, uint64_t* at, uint64_t value, int peer) {
    uint64_t seen = 0, found = 0;
    DONE(weft_atomic(handle, WEFT_ATOMIC_FETCH, WEFT_UINT64, at, NULL, NULL, &seen, peer));
    for (;; seen = found) {
        DONE(weft_compare_swap(handle, at, seen, seen + value, peer, &found));
        if (found == seen || wrong != 0) return;
    }
}

static void change_cell(int use, const struct operation* op, uint64_t value, int slot) {
    weft_team* const handle = handle_for(op);
    const int peer = rank_in(handle, op->target);
    uint64_t* const at = &mine->cells[op->cell];
    const int32_t half = (int32_t)value;
    uint64_t old = 0;
    if (use == kAdded && op->variant == 0) {
        DONE(weft_fetch_add(handle, at, value, peer, &old));
    } else if (use == kAdded && op->variant == 1) {
        DONE(weft_near_add_u64(near_view, at, value, op->target));
    } else if (use == kAdded && op->variant == 2) {
        DONE(weft_atomic_nbi(handle, WEFT_ATOMIC_ADD, WEFT_UINT64, at, &value, NULL, &started[slot],
                             peer));
    } else if (use == kAdded) {
        DONE(weft_fetch_add(handle, at, value, peer, NULL));
    } else if (use == kMixed) {
        DONE(weft_atomic(handle, WEFT_ATOMIC_XOR, WEFT_UINT64, at, &value, NULL,
                         op->variant < 2 ? &old : NULL, peer));
    } else if (use == kHalves) {
        DONE(weft_atomic(handle, WEFT_ATOMIC_ADD, WEFT_INT32, (int32_t*)at + op->variant % 2, &half,
                         NULL, NULL, peer));
    } else {
        swap_cell(handle, at, value, peer);
    }
}

static void read_cell(const struct operation* op) {
    weft_team* const handle = handle_for(op);
    const int peer = rank_in(handle, op->target);
    const uint64_t* const at = &mine->cells[op->cell];
    uint64_t got = 0;
    weft_request* request = NULL;
    if (op->variant == 0) {
        DONE(weft_iget(handle, &got, at, sizeof got, peer, &request));
        DONE(weft_wait(&request));
    } else if (op->variant == 1) {
        DONE(weft_get_nbi(handle, &got, at, sizeof got, peer));
        DONE(weft_quiet(handle));
    } else if (op->variant == 2) {
        DONE(weft_near_get_u64(near_view, &got, at, op->target));
    } else {
        DONE(weft_get(handle, &got, at, sizeof got, peer));
    }
    CHECK(got == model[op->target].cells[op->cell]);
}

/// Executes an operation on a word. `slot` is the operation's number in the round.
static void do_cell(struct operation* op, int slot) {
    const uint64_t role = role_of(op);
    const int use = (int)(role % kUses);
    uint64_t* const modeled = &model[op->target].cells[op->cell];
    if (use == kRead) {
        if (op->origin == my_rank) read_cell(op);
        return;
    }
    if (use == kWritten) {
        // The same rank makes all writes of this word in this round, by the same handle.
        op->origin = (int)((role >> 8) % (unsigned)size);
        op->handle = (int)((role >> 20) % kHandles);
        *modeled = op->value;
        if (op->variant > 3) model[op->target].signal += 3;  // write_cell() puts with a signal
    } else {
        model_change(use, op->variant, modeled, op->value);
    }
    if (op->origin != my_rank) return;
    uint64_t value = op->value;
    if (plant_word && round_number == 1 && use == kAdded) {
        plant_word = 0;
        ++value;
    }
    use == kWritten ? write_cell(op, value, slot) : change_cell(use, op, value, slot);
}

/// Puts bytes into the origin's block at the target, or every third byte of it.
static void do_block(const struct operation* op) {
    const int strided = op->variant % 2, bytes_left = kBlock - op->offset;
    const int step = strided ? 3 : 1;
    const int length = 1 + op->length % (strided ? (bytes_left + 2) / 3 : bytes_left);
    unsigned char bytes[kBlock];
    for (int i = 0; i < length; ++i) {
        bytes[i] = (unsigned char)(op->value >> i % 8 * 8);
        model[op->target].blocks[op->origin][op->offset + i * step] = bytes[i];
    }
    if (op->origin != my_rank) return;
    unsigned char* const at = &mine->blocks[my_rank][op->offset];
    DONE(weft_fence(world));
    if (strided)
        DONE(weft_put_strided(world, at, step, bytes, 1, 1, (size_t)length, op->target));
    else
        DONE(weft_put(world, at, bytes, (size_t)length, op->target));
}

// --- messages ------------------------------------------------------------------------------------

static uint64_t digest_of(const uint64_t* words, size_t count) {
    uint64_t digest = count;
    for (size_t i = 0; i < count; ++i) digest = folded(digest, words[i]);
    return digest;
}
static uint64_t copied_digest(const void* data, size_t bytes) {
    uint64_t words[kWordsMax];
    memcpy(words, data, bytes);
    return digest_of(words, bytes / sizeof words[0]);
}

/// Counts with release order: a waiter that sees the count also sees the handler's writes.
static void count_message(void) {
    __atomic_fetch_add(&mine->handled, 1, __ATOMIC_RELEASE);
}

static void on_post(void* arg, const weft_am* message, const void* data, size_t bytes) {
    uint64_t* const seen = &mine->requests[weft_am_peer(message)];
    (void)arg;
    *seen = folded(*seen, copied_digest(data, bytes));
    count_message();
}
static void on_ask(void* arg, const weft_am* message, const void* data, size_t bytes) {
    DONE(weft_am_reply(message, kReply, data, bytes));
    on_post(arg, message, data, bytes);
}
static void on_pass(void* arg, const weft_am* message, const void* data, size_t bytes) {
    uint64_t third;
    memcpy(&third, data, sizeof third);
    DONE(weft_am_request(world, (int)(third % (unsigned)size), kPassed, data, bytes));
    on_post(arg, message, data, bytes);
}
static void on_marked(void* arg, const weft_am* message, const void* data, size_t bytes) {
    const int peer = weft_am_peer(message);
    uint64_t* const seen = &mine->requests[peer];
    *seen = folded(*seen, __atomic_load_n(&mine->marks[peer], __ATOMIC_ACQUIRE));
    on_post(arg, message, data, bytes);
}
static void on_reply(void* arg, const weft_am* message, const void* data, size_t bytes) {
    uint64_t* const seen = &mine->replies[weft_am_peer(message)];
    (void)arg;
    *seen = folded(*seen, copied_digest(data, bytes));
    count_message();
}
static void on_passed(void* arg, const weft_am* message, const void* data, size_t bytes) {
    (void)arg;
    (void)message;
    mine->passed += copied_digest(data, bytes);
    count_message();
}

static void model_message(int handler, const struct operation* op, uint64_t digest) {
    struct memory* const modeled = &model[op->target];
    uint64_t* const seen = &modeled->requests[op->origin];
    if (handler == kMarked) *seen = folded(*seen, modeled->marks[op->origin]);
    *seen = folded(*seen, digest);
    ++modeled->handled;
    if (handler == kAsk) {
        struct memory* const back = &model[op->origin];
        back->replies[op->target] = folded(back->replies[op->target], digest);
        ++back->handled;
    }
    if (handler == kPass) {
        model[op->third].passed += digest;
        ++model[op->third].handled;
    }
}

/// Puts a mark that must be delivered before the message about it. Returns 0 if the pair of ranks
/// has had its mark of this round: a second one could change the first before its message is
/// handled.
static int put_mark(struct operation* op) {
    int* const last = &marked[op->origin][op->target];
    if (*last == round_number + 1) return 0;
    *last = round_number + 1;
    model[op->target].marks[op->origin] = op->value;
    if (op->origin != my_rank) return 1;
    weft_team* const handle = handle_for(op);
    DONE(weft_put(handle, &mine->marks[my_rank], &op->value, sizeof op->value,
                  rank_in(handle, op->target)));
    DONE(weft_quiet(handle));
    return 1;
}

static void do_message(struct operation* op) {
    uint64_t words[kWordsMax];
    const int words_max = op->variant == 0 ? kWordsMax : 6;  // 6 words fit into a message's cell
    const size_t count = 1 + (size_t)(op->length % words_max);
    int handler = kPost + op->offset % 4;
    if (handler == kMarked && !put_mark(op)) handler = kPost;
    // on_pass() computes the third rank from words[0] modulo the number of ranks.
    words[0] = op->value - op->value % (unsigned)size + (unsigned)op->third;
    for (size_t i = 1; i < count; ++i) words[i] = op->value * (i + 1);
    model_message(handler, op, digest_of(words, count));
    if (op->origin != my_rank) return;
    if (plant_message && round_number == 1) {
        plant_message = 0;
        words[0] += (unsigned)size;
    }
    weft_team* const handle = handle_for(op);
    DONE(weft_am_request(handle, rank_in(handle, op->target), handler, words,
                         count * sizeof words[0]));
}

// --- rounds --------------------------------------------------------------------------------------

/// Counts a difference, and prints the first five.
static void compare_memory(const char* what, const void* have, const void* expected, size_t bytes) {
    if (memcmp(have, expected, bytes) == 0 || wrong++ > 4) return;
    fprintf(stderr, "rank %d: seed %llu, round %d: %s: differs from the model\n", my_rank,
            (unsigned long long)seed, round_number, what);
}

static void check_round(void) {
    const struct memory* const expected = &model[my_rank];
    DONE(weft_wait_until(world, &mine->handled, WEFT_EQ, expected->handled));
    DONE(weft_wait_until(world, &mine->signal, WEFT_EQ, expected->signal));
    for (int i = 0; i < kHandles; ++i) DONE(weft_quiet(handles[i]));
    DONE(weft_barrier(world));
    compare_memory("words", mine->cells, expected->cells, sizeof mine->cells);
    compare_memory("blocks", mine->blocks, expected->blocks, sizeof mine->blocks);
    compare_memory("marks", mine->marks, expected->marks, sizeof mine->marks);
    compare_memory("requests", mine->requests, expected->requests, sizeof mine->requests);
    compare_memory("replies", mine->replies, expected->replies, sizeof mine->replies);
    compare_memory("digests passed on", &mine->passed, &expected->passed, sizeof mine->passed);
    compare_memory("messages", &mine->handled, &expected->handled, sizeof mine->handled);
    DONE(weft_barrier(world));
}

/// Executes a round of operations while two collective calls are in progress.
static void do_round(void) {
    const uint64_t one = (uint64_t)round_number + 1;
    uint64_t sum = 0, numbers[40];
    weft_request *reduction = NULL, *broadcast = NULL;
    const int root = round_number % size;
    for (uint64_t i = 0; i < 40; ++i) numbers[i] = my_rank == root ? one + i : 0;
    DONE(weft_iallreduce(handles[kTeam], &one, &sum, 1, WEFT_UINT64, WEFT_SUM, &reduction));
    DONE(weft_ibroadcast(world, numbers, 40, WEFT_UINT64, root, &broadcast));
    for (int slot = 0; slot < kRoundOperations; ++slot) {
        struct operation op = draw_operation();
        if (op.kind == 0)
            do_block(&op);
        else if (op.kind < 3)
            do_message(&op);
        else
            do_cell(&op, slot);
    }
    DONE(weft_wait(&reduction));
    DONE(weft_wait(&broadcast));
    CHECK(sum == one * (uint64_t)weft_size(handles[kTeam]));
    CHECK(numbers[39] == one + 39);
    check_round();
}

static void set_handlers(void) {
    const weft_am_handler all[] = {on_post, on_ask, on_pass, on_marked, on_reply, on_passed};
    for (int i = 0; i < 6; ++i) DONE(weft_am_register(runtime, kPost + i, all[i], NULL));
}

int main(int argc, char** argv) {
    void* memory = NULL;
    if (argc < 2 || !join_job() || size > kRanksMax) return 3;
    const long operations = strtol(argv[1], NULL, 0);
    if (argc > 2) seed = strtoull(argv[2], NULL, 0);
    plant_word = argc > 3 && strcmp(argv[3], "word") == 0 && my_rank == 0;
    plant_message = argc > 3 && strcmp(argv[3], "message") == 0 && my_rank == 0;
    model = calloc((size_t)size, sizeof *model);
    DONE(weft_calloc(world, 1, sizeof *mine, &memory));
    mine = memory;
    set_handlers();
    handles[kWorld] = world;
    DONE(weft_context_create(world, 0, &handles[kContext]));
    DONE(weft_near_open(world, sizeof *near_view, &near_view));
    state = seed;
    for (long done = 0; done < operations; done += kRoundOperations, ++round_number) {
        if (round_number % kTeamRounds == 0) {
            if (round_number != 0) free_team();
            make_team();
        }
        do_round();
    }
    int wrong_anywhere = 0;
    DONE(weft_allreduce(world, &wrong, &wrong_anywhere, 1, WEFT_INT32, WEFT_SUM));
    free(model);
    DONE(weft_finalize(runtime));
    wrong += wrong_anywhere;
    return verdict("all memory agrees with the model");
}
