// SPDX-License-Identifier: BSD-3-Clause
// v_collectives.c - a C program of real ranks: the calls with a count for each member, in their blocking, started
// and persistent forms, apart and in place, against values that every rank works out by itself.
//
// Each form writes into a cleared vector, whose gaps must stay clear. The arrays of counts and displacements
// are lent for the call alone: they are spoiled as soon as a call has started.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kRanksMax = 16, kShapes = 5, kWays = 3, kClear = 0xA5 };

static weft_team* team;
static int size;

// ---- Elements ----------------------------------------------------------------------------------------

typedef struct {
    double value;
    int index;
} pair;

/// A type that is moved: how a number is written as one of its elements. Padding is 0.
struct element {
    weft_type type;
    size_t bytes;
    void (*write)(void* to, int32_t number);
};

static void write_int8(void* to, int32_t number) {
    const int8_t element = (int8_t)(number % 101);
    memcpy(to, &element, sizeof element);
}
static void write_float(void* to, int32_t number) {
    const float element = (float)number;
    memcpy(to, &element, sizeof element);
}
static void write_pair(void* to, int32_t number) {
    pair element;
    memset(&element, 0, sizeof element);
    element.value = number / 2.0;
    element.index = -number;
    memcpy(to, &element, sizeof element);
}
static const struct element kElements[] = {{WEFT_INT8, sizeof(int8_t), write_int8},
                                           {WEFT_FLOAT, sizeof(float), write_float},
                                           {WEFT_DOUBLE_INT, sizeof(pair), write_pair}};

/// Element i of what goes from one rank to another; exact as a float.
static int32_t number_of(int from, int to, size_t i) {
    return (int32_t)(((size_t)from * 65537 + (size_t)to * 257 + i) % 1000003);
}

// ---- Vectors -----------------------------------------------------------------------------------------

/// Elements, and the bytes that they must have in the end. NULL if there are none.
struct vector {
    size_t bytes;
    unsigned char* data;
    unsigned char* expected;
};

static struct vector make(size_t bytes) {
    struct vector vector = {bytes, NULL, NULL};
    if (bytes == 0) return vector;
    vector.data = malloc(bytes);
    vector.expected = malloc(bytes);
    if (vector.data == NULL || vector.expected == NULL) abort();
    memset(vector.data, kClear, bytes);
    memset(vector.expected, kClear, bytes);
    return vector;
}
static void release(struct vector* vector) {
    free(vector->data);
    free(vector->expected);
}
static void clear(struct vector* vector) {
    if (vector->bytes > 0) memset(vector->data, kClear, vector->bytes);
}
/// A block of what goes from one rank to another: as it must be found.
static void expect(struct vector* vector, const struct element* element, size_t at, size_t count,
                   int from, int to) {
    for (size_t i = 0; i < count; ++i)
        element->write(vector->expected + (at + i) * element->bytes, number_of(from, to, i));
}
/// What is expected of a block stands there: as it must be before a call that reads it.
static void put_there(struct vector* vector, size_t at, size_t bytes) {
    if (bytes > 0) memcpy(vector->data + at, vector->expected + at, bytes);
}
static int is_right(const struct vector* vector) {
    return vector->bytes == 0 || memcmp(vector->data, vector->expected, vector->bytes) == 0;
}

// ---- Blocks ------------------------------------------------------------------------------------------

/// How many elements go from one rank to another.
static size_t amount(int shape, int from, int to) {
    switch (shape) {
        case 0:
            return (size_t)((3 * from + 5 * to) % 7);
        case 1:
            return 0;
        case 2:  // one pair alone
            return to == 0 && from == size - 1 ? 5000 : 0;
        case 3:
            return 1 + 30000 / (size_t)(1 + from + 4 * to);
        default:
            return 1;
    }
}

struct blocks {
    size_t counts[kRanksMax];
    size_t displacements[kRanksMax];
    int packed;  ///< as without displacements
    size_t end;
};

/// Where blocks of these counts lie: one behind the other, with gaps, or with gaps from the last to the first.
static void lay_out(struct blocks* blocks, int way) {
    size_t at = way == 0 ? 0 : 2;
    for (int turn = 0; turn < size; ++turn) {
        const int rank = way == 2 ? size - 1 - turn : turn;
        blocks->displacements[rank] = at;
        at += blocks->counts[rank] + (way == 0 ? 0 : (size_t)(1 + rank % 3));
    }
    blocks->packed = way == 0;
    blocks->end = at;
}

/// Arrays for the length of a call.
static size_t lent[4][kRanksMax];

static const size_t* lend(int which, const size_t* array) {
    memcpy(lent[which], array, (size_t)size * sizeof *array);
    return lent[which];
}
static const size_t* lend_counts(int side, const struct blocks* blocks) {
    return lend(2 * side, blocks->counts);
}
static const size_t* lend_displacements(int side, const struct blocks* blocks) {
    return blocks->packed ? NULL : lend(2 * side + 1, blocks->displacements);
}
static void take_back(void) {
    memset(lent, 0xff, sizeof lent);
}

/// The three forms of a call, each from the same start and with the same end.
#define EACH_FORM(begin, end, name, ...)                        \
    do {                                                        \
        weft_request* request_ = NULL;                          \
        begin;                                                  \
        DONE(weft_##name(team, __VA_ARGS__));                   \
        end;                                                    \
        begin;                                                  \
        DONE(weft_i##name(team, __VA_ARGS__, &request_));       \
        take_back();                                            \
        DONE(weft_wait(&request_));                             \
        end;                                                    \
        DONE(weft_##name##_init(team, __VA_ARGS__, &request_)); \
        take_back();                                            \
        for (int turn_ = 0; turn_ < 2; ++turn_) {               \
            begin;                                              \
            DONE(weft_start(request_));                         \
            DONE(weft_wait(&request_));                         \
            end;                                                \
        }                                                       \
        DONE(weft_request_free(&request_));                     \
    } while (0)

// ---- Calls that move elements ------------------------------------------------------------------------

/// One way to make a call.
struct form {
    const struct element* element;
    int shape;
    int way;
    int root;
    int in_place;
};

static void begin_with_own(struct vector* out, int own, size_t at, size_t bytes) {
    clear(out);
    if (own) put_there(out, at, bytes);
}

static void gatherv(const struct form* form) {
    const size_t bytes = form->element->bytes;
    const int at_root = my_rank == form->root;
    struct blocks blocks;
    for (int rank = 0; rank < size; ++rank) blocks.counts[rank] = amount(form->shape, rank, 0);
    lay_out(&blocks, form->way);
    const size_t own = blocks.counts[my_rank];
    struct vector in = make(own * bytes);
    expect(&in, form->element, 0, own, my_rank, 0);
    put_there(&in, 0, own * bytes);
    struct vector out = make(at_root ? blocks.end * bytes : 0);
    for (int rank = 0; rank < size && at_root; ++rank)
        expect(&out, form->element, blocks.displacements[rank], blocks.counts[rank], rank, 0);
    const int here = form->in_place && at_root;
    EACH_FORM(begin_with_own(&out, here, blocks.displacements[my_rank] * bytes, own * bytes),
              CHECK(is_right(&out) && is_right(&in)), gatherv, here ? WEFT_IN_PLACE : in.data, own,
              out.data, at_root ? lend_counts(0, &blocks) : NULL,
              at_root ? lend_displacements(0, &blocks) : NULL, form->element->type, form->root);
    release(&in);
    release(&out);
}

static void scatterv(const struct form* form) {
    const size_t bytes = form->element->bytes;
    const int at_root = my_rank == form->root;
    struct blocks blocks;
    for (int rank = 0; rank < size; ++rank) blocks.counts[rank] = amount(form->shape, rank, 0);
    lay_out(&blocks, form->way);
    struct vector in = make(at_root ? blocks.end * bytes : 0);
    for (int rank = 0; rank < size && at_root; ++rank)
        expect(&in, form->element, blocks.displacements[rank], blocks.counts[rank], form->root,
               rank);
    put_there(&in, 0, in.bytes);
    const size_t own = blocks.counts[my_rank];
    struct vector out = make(own * bytes);
    const int here = form->in_place && at_root;
    if (!here) expect(&out, form->element, 0, own, form->root, my_rank);
    EACH_FORM(clear(&out), CHECK(is_right(&out) && is_right(&in)), scatterv, in.data,
              at_root ? lend_counts(0, &blocks) : NULL,
              at_root ? lend_displacements(0, &blocks) : NULL, here ? WEFT_IN_PLACE : out.data, own,
              form->element->type, form->root);
    release(&in);
    release(&out);
}

/// Members place the blocks differently.
static void allgatherv(const struct form* form) {
    const size_t bytes = form->element->bytes;
    struct blocks blocks;
    for (int rank = 0; rank < size; ++rank) blocks.counts[rank] = amount(form->shape, rank, 0);
    lay_out(&blocks, (form->way + my_rank) % kWays);
    const size_t own = blocks.counts[my_rank];
    struct vector in = make(own * bytes);
    expect(&in, form->element, 0, own, my_rank, 0);
    put_there(&in, 0, own * bytes);
    struct vector out = make(blocks.end * bytes);
    for (int rank = 0; rank < size; ++rank)
        expect(&out, form->element, blocks.displacements[rank], blocks.counts[rank], rank, 0);
    EACH_FORM(
        begin_with_own(&out, form->in_place, blocks.displacements[my_rank] * bytes, own * bytes),
        CHECK(is_right(&out) && is_right(&in)), allgatherv,
        form->in_place ? WEFT_IN_PLACE : in.data, out.data, lend_counts(0, &blocks),
        lend_displacements(0, &blocks), form->element->type);
    release(&in);
    release(&out);
}

static void alltoallv(const struct form* form) {
    const size_t bytes = form->element->bytes;
    struct blocks from_here;
    struct blocks to_here;
    for (int rank = 0; rank < size; ++rank) {
        from_here.counts[rank] = amount(form->shape, my_rank, rank);
        to_here.counts[rank] = amount(form->shape, rank, my_rank);
    }
    lay_out(&from_here, form->way);
    lay_out(&to_here, (form->way + 1 + my_rank) % kWays);
    struct vector in = make(from_here.end * bytes);
    struct vector out = make(to_here.end * bytes);
    for (int rank = 0; rank < size; ++rank) {
        expect(&in, form->element, from_here.displacements[rank], from_here.counts[rank], my_rank,
               rank);
        expect(&out, form->element, to_here.displacements[rank], to_here.counts[rank], rank,
               my_rank);
    }
    put_there(&in, 0, in.bytes);
    EACH_FORM(clear(&out), CHECK(is_right(&out) && is_right(&in)), alltoallv, in.data,
              lend_counts(0, &from_here), lend_displacements(0, &from_here), out.data,
              lend_counts(1, &to_here), lend_displacements(1, &to_here), form->element->type);
    release(&in);
    release(&out);
}

// ---- Reductions --------------------------------------------------------------------------------------

/// What a rank contributes at a place of the vector, and how two contributions become one.
struct reduction {
    weft_type type;
    weft_op op;
    size_t bytes;
    void (*write)(void* to, int rank, size_t place);
    void (*combine)(void* into, const void* other);  ///< into = into (op) other
};

static void write_int32_of(void* to, int rank, size_t place) {
    const int32_t element = number_of(rank, 0, place);
    memcpy(to, &element, sizeof element);
}
static void add_int32(void* into, const void* other) {
    int32_t a;
    int32_t b;
    memcpy(&a, into, sizeof a);
    memcpy(&b, other, sizeof b);
    a += b;
    memcpy(into, &a, sizeof a);
}

/// Whole numbers: every sum of them is exact.
static void write_float_of(void* to, int rank, size_t place) {
    write_float(to, number_of(rank, 0, place) % 4096);
}
static void add_float(void* into, const void* other) {
    float a;
    float b;
    memcpy(&a, into, sizeof a);
    memcpy(&b, other, sizeof b);
    a += b;
    memcpy(into, &a, sizeof a);
}

/// Few different values, so that indices decide.
static void write_pair_of(void* to, int rank, size_t place) {
    pair element;
    memset(&element, 0, sizeof element);
    element.value = (double)((place + (size_t)rank * rank) % 3);
    element.index = (int)((place * 5 + (size_t)rank * 3) % 7);
    memcpy(to, &element, sizeof element);
}
static void keep_less(void* into, const void* other) {
    pair a;
    pair b;
    memcpy(&a, into, sizeof a);
    memcpy(&b, other, sizeof b);
    if (b.value < a.value || (b.value == a.value && b.index < a.index)) memcpy(into, &b, sizeof b);
}

/// Maps x -> factor x + summand of 32-bit numbers: which one comes first matters.
typedef struct {
    uint32_t factor;
    uint32_t summand;
} map;

static void write_map_of(void* to, int rank, size_t place) {
    const map element = {2 * (uint32_t)rank + 3, (uint32_t)place + 7 * (uint32_t)rank};
    memcpy(to, &element, sizeof element);
}
static map first_then(map first, map then) {
    const map both = {first.factor * then.factor, first.summand * then.factor + then.summand};
    return both;
}
static void compose(void* into, const void* other) {
    map a;
    map b;
    memcpy(&a, into, sizeof a);
    memcpy(&b, other, sizeof b);
    a = first_then(a, b);
    memcpy(into, &a, sizeof a);
}
static void compose_all(const void* in, void* inout, size_t count, void* arg) {
    const map* first = in;
    map* then = inout;
    for (size_t i = 0; i < count; ++i) then[i] = first_then(first[i], then[i]);
    *(size_t*)arg += count;
}

/// In place, `out` is the whole vector and only the own block of it is said.
static void check_own(const struct vector* out, const struct vector* own, size_t at) {
    CHECK(own->bytes == 0 || memcmp(out->data + at, own->expected, own->bytes) == 0);
}
static void begin_with_all(struct vector* out, const struct vector* in) {
    if (in->bytes > 0) memcpy(out->data, in->expected, in->bytes);
}

static void reduce_scatterv(const struct reduction* reduction, int shape) {
    const size_t bytes = reduction->bytes;
    struct blocks blocks;
    for (int rank = 0; rank < size; ++rank) blocks.counts[rank] = amount(shape, rank, 0);
    lay_out(&blocks, 0);
    struct vector in = make(blocks.end * bytes);
    for (size_t i = 0; i < blocks.end; ++i) reduction->write(in.expected + i * bytes, my_rank, i);
    put_there(&in, 0, in.bytes);
    const size_t first = blocks.displacements[my_rank];
    struct vector own = make(blocks.counts[my_rank] * bytes);
    for (size_t i = 0; i < blocks.counts[my_rank]; ++i) {
        unsigned char* const to = own.expected + i * bytes;
        reduction->write(to, 0, first + i);
        for (int rank = 1; rank < size; ++rank) {
            unsigned char other[sizeof(pair)];
            reduction->write(other, rank, first + i);
            reduction->combine(to, other);
        }
    }
    EACH_FORM(clear(&own), CHECK(is_right(&own) && is_right(&in)), reduce_scatterv, in.data,
              own.data, lend_counts(0, &blocks), reduction->type, reduction->op);
    struct vector all = make(in.bytes);
    EACH_FORM(begin_with_all(&all, &in), check_own(&all, &own, first * bytes), reduce_scatterv,
              WEFT_IN_PLACE, all.data, lend_counts(0, &blocks), reduction->type, reduction->op);
    release(&in);
    release(&own);
    release(&all);
}

static void reductions(int shape) {
    size_t combined = 0;
    weft_op op = WEFT_OP_NONE;
    DONE(weft_op_create(compose_all, &combined, 0, &op));
    const struct reduction all[] = {
        {WEFT_INT32, WEFT_SUM, sizeof(int32_t), write_int32_of, add_int32},
        {WEFT_FLOAT, WEFT_SUM, sizeof(float), write_float_of, add_float},
        {WEFT_DOUBLE_INT, WEFT_MINLOC, sizeof(pair), write_pair_of, keep_less},
        {WEFT_UINT64, op, sizeof(map), write_map_of, compose},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) reduce_scatterv(&all[i], shape);
    DONE(weft_allreduce(team, WEFT_IN_PLACE, &combined, 1, WEFT_UINT64, WEFT_SUM));
    CHECK((combined > 0) == (size > 1 && shape != 1));
    DONE(weft_op_free(&op));
}

// ---- Everything --------------------------------------------------------------------------------------

/// Calls that are under way at the same time, waited for in another order.
static void together(void) {
    enum { kCalls = 6 };
    int32_t in[kRanksMax];
    int32_t out[kCalls][kRanksMax];
    size_t ones[kRanksMax];
    weft_request* requests[kCalls];
    for (int rank = 0; rank < size; ++rank) {
        in[rank] = 100 * my_rank + rank;
        ones[rank] = 1;
    }
    for (int call = 0; call < kCalls; ++call) {
        if (call % 2 == 0)
            DONE(weft_iallgatherv(team, &in[call % size], out[call], ones, NULL, WEFT_INT32,
                                  &requests[call]));
        else
            DONE(weft_ialltoallv(team, in, ones, NULL, out[call], ones, NULL, WEFT_INT32,
                                 &requests[call]));
    }
    for (int call = kCalls - 1; call >= 0; --call) {
        DONE(weft_wait(&requests[call]));
        for (int rank = 0; rank < size; ++rank)
            CHECK(out[call][rank] == 100 * rank + (call % 2 == 0 ? call % size : my_rank));
    }
}

static void all_calls(void) {
    for (int shape = 0; shape < kShapes; ++shape) {
        for (int way = 0; way < kWays; ++way) {
            for (int in_place = 0; in_place < 2; ++in_place) {
                struct form form = {&kElements[(shape + way) % 3], shape, way, 0, in_place};
                for (form.root = 0; form.root < size; ++form.root) {
                    gatherv(&form);
                    scatterv(&form);
                }
                allgatherv(&form);
                if (!in_place) alltoallv(&form);
            }
        }
        reductions(shape);
    }
    together();
}

int main(void) {
    weft_runtime* runtime = NULL;
    if (weft_init(&runtime) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_last_error());
        return 1;
    }
    team = weft_world(runtime);
    my_rank = weft_rank(team);
    size = weft_size(team);
    CHECK(size <= kRanksMax);
    all_calls();
    // The same ranks, the other way round.
    weft_team* reversed = NULL;
    DONE(weft_team_split(team, 0, -my_rank, &reversed));
    team = reversed;
    my_rank = weft_rank(team);
    all_calls();
    DONE(weft_team_free(reversed));
    DONE(weft_finalize(runtime));
    if (my_rank == 0 && wrong == 0) printf("%d ranks: all calls with counts are right\n", size);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
