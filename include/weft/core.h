// SPDX-License-Identifier: BSD-3-Clause
// core.h - runtimes, teams, symmetric memory, one-sided calls, collectives and requests in C.
//
// Next     weft.h, which programs include, for rules of all calls: errors, ownership, threads.
#ifndef WEFT_CORE_H
#define WEFT_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "weft/bootstrap.h"
#include "weft/export.h"

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

// In C++, enumerations have the fixed type int, so that weft can receive and refuse unknown values.
#ifdef __cplusplus
#define WEFT_AS_INT : int
extern "C" {
#else
#define WEFT_AS_INT
#endif

typedef struct weft_runtime weft_runtime;  ///< this process's membership in its job
typedef struct weft_team weft_team;        ///< ordered set of ranks that make collective calls
typedef struct weft_request weft_request;  ///< a started call, or a persistent call

/// How a call ended.
typedef enum weft_status WEFT_AS_INT {
    WEFT_OK = 0,
    WEFT_ERR_ARGUMENT,              ///< invalid arguments, or arguments that differ between ranks
    WEFT_ERR_MEMORY,                ///< not enough memory of the requested kind
    WEFT_ERR_ENVIRONMENT,           ///< no provider, no launcher, or a failed system call
    WEFT_ERR_PEER,                  ///< another rank died or reported a failure
    WEFT_ERR_TIMEOUT,               ///< the call's time limit has passed
    WEFT_ERR_UNSUPPORTED,           ///< feature of this interface that this version lacks
    WEFT_STATUS_RANGE = 0x7fffffff  ///< not a status: makes the enumeration as large as an int
} weft_status;

/// Element types. Pairs are structures of a value and an index for WEFT_MINLOC and WEFT_MAXLOC,
/// such as struct { double value; int index; }.
typedef enum weft_type WEFT_AS_INT {
    WEFT_INT8 = 0,
    WEFT_INT16,
    WEFT_INT32,
    WEFT_INT64,
    WEFT_UINT8,
    WEFT_UINT16,
    WEFT_UINT32,
    WEFT_UINT64,
    WEFT_FLOAT,
    WEFT_DOUBLE,
    WEFT_LONGDOUBLE,
    WEFT_CFLOAT,     ///< float _Complex
    WEFT_CDOUBLE,    ///< double _Complex
    WEFT_BOOL,       ///< C's _Bool
    WEFT_FLOAT16,    ///< IEEE 754 binary16
    WEFT_BFLOAT16,   ///< the upper half of a binary32
    WEFT_FLOAT_INT,  ///< the first of six pairs with an int index
    WEFT_DOUBLE_INT,
    WEFT_INT16_INT,
    WEFT_INT32_INT,
    WEFT_INT64_INT,
    WEFT_LONGDOUBLE_INT,
    WEFT_DOUBLE_INT64,  ///< the first of two pairs with an int64_t index
    WEFT_INT64_INT64,
    WEFT_TYPE_RANGE = 0x7fffffff  ///< not a type: makes the enumeration as large as an int
} weft_type;

/// Built-in operations; weft_op_create() makes others. Operations for each kind of element type:
///   integers          SUM to BXOR; sums and products wrap on overflow
///   bool              LAND to BXOR
///   floating point    SUM to LXOR; except long double, also EXACT_SUM
///   complex numbers   SUM, PROD, EXACT_SUM
///   pairs             MINLOC, MAXLOC: of equal values, the one with the lower index
/// Other combinations are refused. Logical operations read an element as (x != 0) and return 0 or
/// 1. The minimum and the maximum of a NaN and a number are NaN; -0.0 is less than +0.0. 16-bit
/// floats are computed in float, then rounded to nearest, ties to even. Padding of results is 0.
typedef enum weft_op WEFT_AS_INT {
    WEFT_SUM = 0,
    WEFT_PROD,
    WEFT_MIN,
    WEFT_MAX,
    WEFT_LAND,
    WEFT_LOR,
    WEFT_LXOR,
    WEFT_BAND,
    WEFT_BOR,
    WEFT_BXOR,
    WEFT_MINLOC,
    WEFT_MAXLOC,
    WEFT_EXACT_SUM,  ///< exact sum, rounded once: the same bits for any order and number of ranks
    WEFT_OP_NONE = 0x3fffffff,  ///< not an operation; set by weft_op_free()
    WEFT_OP_RANGE = 0x7fffffff  ///< not an operation: makes the enumeration as large as an int
} weft_op;

/// Returns the size of an element in bytes; 0 if the type is unknown.
WEFT_API size_t weft_type_size(weft_type type);

/// Pass as `in` to operate in place on `out`.
#define WEFT_IN_PLACE ((void*)-1)

// --- errors, version -----------------------------------------------------------------------------

/// Returns a sentence about the last failed call of the calling thread; never NULL. The library
/// owns the text, which is valid until the thread's next failure. Successful calls keep it.
WEFT_API const char* weft_last_error(void);

/// Returns the version of the loaded library, such as "0.1.0".
WEFT_API const char* weft_version(void);

// --- runtime -------------------------------------------------------------------------------------

/// Joins the job; returns when all ranks have joined. Settings come from the environment (WEFT_*).
/// *out: the runtime, which weft_finalize() frees; unchanged on failure.
WEFT_API weft_status weft_init(weft_runtime** out);

/// Joins the job like weft_init(), but `bootstrap` connects the ranks instead of a launcher. If a
/// rank cannot join, all ranks get an error that names the reason, and weft releases its resources.
/// The program may then continue without weft. Signal handlers are not changed.
WEFT_API weft_status weft_init_with(const weft_bootstrap* bootstrap, weft_runtime** out);

/// Leaves the job. Collective over the job: waits until all started calls are complete and all
/// ranks have called it. Frees the runtime, its teams, requests and memory, even if it fails.
WEFT_API weft_status weft_finalize(weft_runtime* runtime);

/// Advances started calls and puts of other ranks to this rank. Not collective; does not wait.
WEFT_API void weft_progress(weft_runtime* runtime);

/// Sets a function that each wait in this runtime calls repeatedly, to drive another library that
/// this thread must serve. fn must not use this runtime; such calls are refused. fn replaces the
/// function of an earlier call; NULL only removes that function.
WEFT_API weft_status weft_on_progress(weft_runtime* runtime, void (*fn)(void* arg), void* arg);

// --- teams ---------------------------------------------------------------------------------------

/// Returns the team of all ranks, which the runtime owns. NULL if the handle is refused.
WEFT_API weft_team* weft_world(weft_runtime* runtime);
/// Returns this rank's index in the team, 0 to weft_size()-1; -1 if the handle is refused. Not
/// collective.
WEFT_API int weft_rank(const weft_team* team);
/// Returns the number of members; -1 if the handle is refused. Not collective.
WEFT_API int weft_size(const weft_team* team);

/// Forms one team for each color, from the members that pass this color, ordered by key, then by
/// rank. A member with color < 0 joins no team, and its *out is NULL. weft_team_free() frees a new
/// team. A rank can be in at most 32 teams, the world included. If a member of a new team has
/// reached this limit, all members of `team` get WEFT_ERR_MEMORY and no team is made.
WEFT_API weft_status weft_team_split(weft_team* team, int color, int key, weft_team** out);
/// Forms a team of the members that share memory with this rank, in their order in `team`.
WEFT_API weft_status weft_team_split_node(weft_team* team, weft_team** out);
/// Makes a team of `count` ranks of the world, in the order of `ranks`. Only these ranks call it,
/// with equal `ranks`; other calls may be in flight. allgather: as in weft_bootstrap, but among
/// these ranks, in this order; it may make one-sided calls. weft_team_split()'s limit applies.
WEFT_API weft_status weft_team_create(weft_runtime* runtime, const int* ranks, int count,
                                      int (*allgather)(void* arg, const void* mine, void* all,
                                                       size_t bytes),
                                      void* arg, weft_team** out);
/// Ends this rank's use of any team but the world. Not collective; does not wait. Calls in flight
/// continue, and their requests stay valid. The team counts towards the limit of 32 teams until all
/// members have dropped it. Free the team's memory before the drop.
WEFT_API weft_status weft_team_drop(weft_team* team);
/// Ends any team but the world, and frees its memory as weft_free() does. Collective over this
/// team; the team that was split may have ended before. No call of the team may be in flight. A
/// team that has failed, or fails during this call, is only dropped, as by weft_team_drop().
WEFT_API weft_status weft_team_free(weft_team* team);

// --- symmetric memory ----------------------------------------------------------------------------

/// Allocates `bytes` bytes at the same offset of every member's heap, aligned to 64 bytes, not
/// cleared. All members request the same size; their other allocations may differ. Each call
/// returns a distinct pointer, even for 0 bytes. *out: this rank's memory, valid until weft_free()
/// or the end of the team or runtime. Returns WEFT_ERR_MEMORY if no range is free on all members.
WEFT_API weft_status weft_alloc(weft_team* team, size_t bytes, void** out);
/// Allocates with an alignment in bytes: a power of two, at most 1 GiB and at most the heap's size.
WEFT_API weft_status weft_alloc_aligned(weft_team* team, size_t alignment, size_t bytes,
                                        void** out);
/// Frees memory that weft_alloc() returned on the same team; all members free the same memory.
/// Blocks may be freed in any order. Like shmem_free() of OpenSHMEM 1.5, the call begins with a
/// weft_quiet() of each member and returns when all members have entered. So no earlier put reaches
/// memory of a later allocation. NULL is ignored: the call returns at once.
WEFT_API weft_status weft_free(weft_team* team, void* memory);

/// Translates an address in memory of weft_alloc(), or in the range of a name from weft_register(),
/// to the same byte of member `peer`. Returns a pointer for loads and stores, or NULL if this rank
/// has not mapped the peer's memory or an argument is refused. Not collective. Like shmem_ptr() of
/// OpenSHMEM 1.5, but `peer` is a rank of the team.
WEFT_API void* weft_ptr(const weft_team* team, void* symmetric, int peer);

// --- one-sided calls -----------------------------------------------------------------------------
//
// These calls access the memory of one peer: another rank of the team or this rank itself. Memory
// of the peer is named by this rank's address of the same symmetric memory (weft_alloc()); for
// other memory see weft_register() in onesided.h. The calls are not collective, but the peer must
// call into the library from time to time. Calls that are also in OpenSHMEM 1.5 (sections 9.6 to
// 9.8, 9.10 and 9.11) behave as specified there.

/// How weft_wait_until() compares the word with the value.
typedef enum weft_compare WEFT_AS_INT {
    WEFT_EQ = 0,
    WEFT_NE,
    WEFT_GT,
    WEFT_GE,
    WEFT_LT,
    WEFT_LE,
    WEFT_COMPARE_RANGE = 0x7fffffff  ///< not a comparison: makes the enumeration as large as an int
} weft_compare;

/// Copies `bytes` bytes from src to dst in the peer's memory. Returns when src may be changed. The
/// data is delivered before the next weft_quiet() returns.
WEFT_API weft_status weft_put(weft_team* team, void* dst, const void* src, size_t bytes, int peer);
/// Starts a weft_put() and returns at once. The library reads src until weft_quiet() returns.
WEFT_API weft_status weft_put_nbi(weft_team* team, void* dst, const void* src, size_t bytes,
                                  int peer);
/// Copies from src in the peer's memory to dst, any local memory. Returns when dst holds the data.
WEFT_API weft_status weft_get(weft_team* team, void* dst, const void* src, size_t bytes, int peer);
/// Starts a weft_get() and returns at once. dst holds the data when weft_quiet() returns.
WEFT_API weft_status weft_get_nbi(weft_team* team, void* dst, const void* src, size_t bytes,
                                  int peer);

/// Does a weft_put(). After its delivery, sets *signal at the peer to value if add is 0, else adds
/// value to *signal. A rank that sees the changed signal also sees the data. bytes may be 0.
WEFT_API weft_status weft_put_signal(weft_team* team, void* dst, const void* src, size_t bytes,
                                     uint64_t* signal, uint64_t value, int add, int peer);
/// Starts a weft_put_signal() and returns at once; src as in weft_put_nbi().
WEFT_API weft_status weft_put_signal_nbi(weft_team* team, void* dst, const void* src, size_t bytes,
                                         uint64_t* signal, uint64_t value, int add, int peer);

/// Waits until `*word <cmp> value` holds for a word of this rank; cmp is a weft_compare. Drives all
/// transfers meanwhile. Peers change the word by a put of only this word, a signal or an atomic
/// operation.
WEFT_API weft_status weft_wait_until(weft_team* team, const uint64_t* word, int cmp,
                                     uint64_t value);
/// *holds: 1 if the condition holds, else 0. If not, drives all transfers once and tests again.
WEFT_API weft_status weft_test_until(weft_team* team, const uint64_t* word, int cmp, uint64_t value,
                                     int* holds);

/// @name Atomic operations
/// They change a peer's word, aligned to 8 bytes, and are atomic for all ranks. *old: the former
/// value. If old is NULL, they return at once, and the change is made before the next weft_quiet()
/// returns. For other operations and types of words see weft_atomic() in onesided.h.
/// @{
WEFT_API weft_status weft_fetch_add(weft_team* team, uint64_t* word, uint64_t add, int peer,
                                    uint64_t* old);
WEFT_API weft_status weft_swap(weft_team* team, uint64_t* word, uint64_t value, int peer,
                               uint64_t* old);
/// Stores value if the word equals `expected`.
WEFT_API weft_status weft_compare_swap(weft_team* team, uint64_t* word, uint64_t expected,
                                       uint64_t value, int peer, uint64_t* old);
/// @}

/// Orders deliveries at each peer: earlier puts, signals and atomic operations of this rank before
/// later ones. Does not order gets.
WEFT_API weft_status weft_fence(weft_team* team);
/// Waits until all puts, gets, signals and atomic operations of this rank, on all teams but not
/// through contexts (onesided.h), are complete here and at the peers.
WEFT_API weft_status weft_quiet(weft_team* team);

// --- collectives ---------------------------------------------------------------------------------
//
// Counts are in elements of `type`; `root` is a rank of the team. The caller owns all buffers.

/// Waits until all members have entered.
WEFT_API weft_status weft_barrier(weft_team* team);

/// Copies the root's `count` elements to the buffer of every member.
WEFT_API weft_status weft_broadcast(weft_team* team, void* buffer, size_t count, weft_type type,
                                    int root);

/// Computes out[i] = in[i] of rank 0 (op) in[i] of rank 1 (op) ... for `count` elements, bitwise
/// equal on all members. in: WEFT_IN_PLACE, `out` itself, or memory that does not overlap `out`.
WEFT_API weft_status weft_allreduce(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, weft_op op);

/// Computes the result of weft_allreduce() on the root only. Other ranks' `out` is ignored and may
/// be NULL.
WEFT_API weft_status weft_reduce(weft_team* team, const void* in, void* out, size_t count,
                                 weft_type type, weft_op op, int root);

// The following calls move blocks, one for each member. With WEFT_IN_PLACE as `in` (in gather, at
// the root only), `out` has all blocks in rank order. This rank's block is block weft_rank() of
// `out`, to which reduce_scatter also writes the result. In scatter, the root may pass
// WEFT_IN_PLACE as `out`; its block then stays in `in`.

/// in: `count` elements. The root's out: weft_size() blocks of `count` elements, in rank order.
/// Other ranks' out may be NULL.
WEFT_API weft_status weft_gather(weft_team* team, const void* in, void* out, size_t count,
                                 weft_type type, int root);

/// The root's in: weft_size() blocks of `count` elements. Other ranks' in may be NULL. out: this
/// rank's block.
WEFT_API weft_status weft_scatter(weft_team* team, const void* in, void* out, size_t count,
                                  weft_type type, int root);

/// in: `count` elements; out: the blocks of all members, in rank order.
WEFT_API weft_status weft_allgather(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type);

/// in: a block of `count` elements for each member; out: a block from each member; both in rank
/// order.
WEFT_API weft_status weft_alltoall(weft_team* team, const void* in, void* out, size_t count,
                                   weft_type type);

/// in: weft_size() blocks of `count` elements; out: this rank's block of the reduction.
WEFT_API weft_status weft_reduce_scatter(weft_team* team, const void* in, void* out, size_t count,
                                         weft_type type, weft_op op);

// The following calls have blocks of different sizes. Counts and displacements are in elements, one
// for each member, in rank order. A displacement is the start of a block; NULL displacements mean
// contiguous blocks in rank order. Written blocks must not overlap. The caller owns the arrays, and
// may change them when the call, or the start or preparation of a request, has returned. Any count
// may be 0; a buffer without elements may be NULL. WEFT_IN_PLACE works as above, with this rank's
// block at its displacement. If sender and receiver pass different counts for a block, the receiver
// gets WEFT_ERR_ARGUMENT and a text with both ranks and counts. The check compares hashes of 16
// bits, so it misses one such error in 65,536. A member that expects 0 elements does not wait for
// the block, and gets no error.

/// in: `count` elements. The root's out gets `counts[r]` elements of rank r at
/// `displacements[r]`. Only the root's counts, displacements and out are used. `count` of rank r
/// must equal the root's `counts[r]`.
WEFT_API weft_status weft_gatherv(weft_team* team, const void* in, size_t count, void* out,
                                  const size_t* counts, const size_t* displacements, weft_type type,
                                  int root);

/// Sends `counts[r]` elements, at `displacements[r]` of the root's in, to out of rank r. `count` of
/// rank r must equal `counts[r]`. Only the root's in, counts and displacements are read.
WEFT_API weft_status weft_scatterv(weft_team* team, const void* in, const size_t* counts,
                                   const size_t* displacements, void* out, size_t count,
                                   weft_type type, int root);

/// in: `counts[weft_rank()]` elements; out gets the elements of rank r at `displacements[r]`.
/// Counts must be equal on all members; displacements may differ.
WEFT_API weft_status weft_allgatherv(weft_team* team, const void* in, void* out,
                                     const size_t* counts, const size_t* displacements,
                                     weft_type type);

/// Sends `in_counts[r]` elements, at `in_displacements[r]` of in, to rank r, and receives
/// `out_counts[r]` from rank r at `out_displacements[r]` of out. Sender and receiver of a block
/// pass equal counts. in: not WEFT_IN_PLACE; its blocks must not overlap blocks of out.
WEFT_API weft_status weft_alltoallv(weft_team* team, const void* in, const size_t* in_counts,
                                    const size_t* in_displacements, void* out,
                                    const size_t* out_counts, const size_t* out_displacements,
                                    weft_type type);

/// in: contiguous blocks of `counts[r]` elements; out: this rank's block of the reduction. Counts
/// must be equal on all members.
WEFT_API weft_status weft_reduce_scatterv(weft_team* team, const void* in, void* out,
                                          const size_t* counts, weft_type type, weft_op op);

/// Computes out[i] = in[i] of rank 0 (op) ... (op) in[i] of this rank, for `count` elements.
WEFT_API weft_status weft_scan(weft_team* team, const void* in, void* out, size_t count,
                               weft_type type, weft_op op);

/// Computes out[i] = in[i] of rank 0 (op) ... (op) in[i] of the rank before this rank. Rank 0's out
/// is not written and may be NULL.
WEFT_API weft_status weft_exscan(weft_team* team, const void* in, void* out, size_t count,
                                 weft_type type, weft_op op);

/// Makes a user operation: fn sets inout[i] = in[i] (op) inout[i] for i < count, where `in` holds
/// the contributions of lower ranks. Elements have the type that is passed to the collective. fn
/// runs on the thread that drives the runtime; with WEFT_PROGRESS=thread this may be the progress
/// thread. fn must not use the runtime. If it throws a C++ exception, the call fails with
/// WEFT_ERR_ARGUMENT on this rank and on the ranks that wait for this rank. commutative: not 0 if
/// operands may be swapped; if 0, contributions are combined in rank order. Not collective. All
/// runtimes of the process may use the operation until weft_op_free().
WEFT_API weft_status weft_op_create(void (*fn)(const void* in, void* inout, size_t count,
                                               void* arg),
                                    void* arg, int commutative, weft_op* out);
/// Frees a user operation and sets *op to WEFT_OP_NONE. Calls in flight still complete. Built-in
/// operations are refused.
WEFT_API weft_status weft_op_free(weft_op* op);

// --- started calls -------------------------------------------------------------------------------

/// @name Started calls
/// Each function starts a call and returns without waiting, even if earlier calls are in flight.
/// The library uses the buffers until the request is complete. *request: a request that weft_wait()
/// or weft_test() frees; unchanged if the start fails. Other arguments: as in the blocking calls.
/// @{
WEFT_API weft_status weft_ibarrier(weft_team* team, weft_request** request);
WEFT_API weft_status weft_ibroadcast(weft_team* team, void* buffer, size_t count, weft_type type,
                                     int root, weft_request** request);
WEFT_API weft_status weft_iallreduce(weft_team* team, const void* in, void* out, size_t count,
                                     weft_type type, weft_op op, weft_request** request);
WEFT_API weft_status weft_ireduce(weft_team* team, const void* in, void* out, size_t count,
                                  weft_type type, weft_op op, int root, weft_request** request);
WEFT_API weft_status weft_igather(weft_team* team, const void* in, void* out, size_t count,
                                  weft_type type, int root, weft_request** request);
WEFT_API weft_status weft_iscatter(weft_team* team, const void* in, void* out, size_t count,
                                   weft_type type, int root, weft_request** request);
WEFT_API weft_status weft_iallgather(weft_team* team, const void* in, void* out, size_t count,
                                     weft_type type, weft_request** request);
WEFT_API weft_status weft_ialltoall(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, weft_request** request);
WEFT_API weft_status weft_ireduce_scatter(weft_team* team, const void* in, void* out, size_t count,
                                          weft_type type, weft_op op, weft_request** request);
WEFT_API weft_status weft_iscan(weft_team* team, const void* in, void* out, size_t count,
                                weft_type type, weft_op op, weft_request** request);
WEFT_API weft_status weft_iexscan(weft_team* team, const void* in, void* out, size_t count,
                                  weft_type type, weft_op op, weft_request** request);
WEFT_API weft_status weft_igatherv(weft_team* team, const void* in, size_t count, void* out,
                                   const size_t* counts, const size_t* displacements,
                                   weft_type type, int root, weft_request** request);
WEFT_API weft_status weft_iscatterv(weft_team* team, const void* in, const size_t* counts,
                                    const size_t* displacements, void* out, size_t count,
                                    weft_type type, int root, weft_request** request);
WEFT_API weft_status weft_iallgatherv(weft_team* team, const void* in, void* out,
                                      const size_t* counts, const size_t* displacements,
                                      weft_type type, weft_request** request);
WEFT_API weft_status weft_ialltoallv(weft_team* team, const void* in, const size_t* in_counts,
                                     const size_t* in_displacements, void* out,
                                     const size_t* out_counts, const size_t* out_displacements,
                                     weft_type type, weft_request** request);
WEFT_API weft_status weft_ireduce_scatterv(weft_team* team, const void* in, void* out,
                                           const size_t* counts, weft_type type, weft_op op,
                                           weft_request** request);
/// @}

/// Drives all calls once. *done: 1 if the call is complete or has failed, else 0. If 1, returns the
/// call's status, frees the request and sets *request to NULL; a persistent request remains, and
/// can be started again. Requests that are NULL or not started are complete.
WEFT_API weft_status weft_test(weft_request** request, int* done);
/// Sets *done as weft_test() does, but does not drive calls, return the call's status or free the
/// request, which must not be NULL. For programs that test many requests after a weft_progress().
WEFT_API weft_status weft_request_ended(const weft_request* request, int* done);
/// Waits until the call is complete. Then acts as weft_test().
WEFT_API weft_status weft_wait(weft_request** request);

// --- persistent calls ----------------------------------------------------------------------------

/// @name Persistent calls
/// Each function prepares a call that weft_start() starts, any number of times. Preparing is not
/// collective: it only checks the arguments. *request: a request that weft_request_free() frees.
/// @{
WEFT_API weft_status weft_barrier_init(weft_team* team, weft_request** request);
WEFT_API weft_status weft_broadcast_init(weft_team* team, void* buffer, size_t count,
                                         weft_type type, int root, weft_request** request);
WEFT_API weft_status weft_allreduce_init(weft_team* team, const void* in, void* out, size_t count,
                                         weft_type type, weft_op op, weft_request** request);
WEFT_API weft_status weft_reduce_init(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type, weft_op op, int root, weft_request** request);
WEFT_API weft_status weft_gather_init(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type, int root, weft_request** request);
WEFT_API weft_status weft_scatter_init(weft_team* team, const void* in, void* out, size_t count,
                                       weft_type type, int root, weft_request** request);
WEFT_API weft_status weft_allgather_init(weft_team* team, const void* in, void* out, size_t count,
                                         weft_type type, weft_request** request);
WEFT_API weft_status weft_alltoall_init(weft_team* team, const void* in, void* out, size_t count,
                                        weft_type type, weft_request** request);
WEFT_API weft_status weft_reduce_scatter_init(weft_team* team, const void* in, void* out,
                                              size_t count, weft_type type, weft_op op,
                                              weft_request** request);
WEFT_API weft_status weft_scan_init(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, weft_op op, weft_request** request);
WEFT_API weft_status weft_exscan_init(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type, weft_op op, weft_request** request);
WEFT_API weft_status weft_gatherv_init(weft_team* team, const void* in, size_t count, void* out,
                                       const size_t* counts, const size_t* displacements,
                                       weft_type type, int root, weft_request** request);
WEFT_API weft_status weft_scatterv_init(weft_team* team, const void* in, const size_t* counts,
                                        const size_t* displacements, void* out, size_t count,
                                        weft_type type, int root, weft_request** request);
WEFT_API weft_status weft_allgatherv_init(weft_team* team, const void* in, void* out,
                                          const size_t* counts, const size_t* displacements,
                                          weft_type type, weft_request** request);
WEFT_API weft_status weft_alltoallv_init(weft_team* team, const void* in, const size_t* in_counts,
                                         const size_t* in_displacements, void* out,
                                         const size_t* out_counts, const size_t* out_displacements,
                                         weft_type type, weft_request** request);
WEFT_API weft_status weft_reduce_scatterv_init(weft_team* team, const void* in, void* out,
                                               const size_t* counts, weft_type type, weft_op op,
                                               weft_request** request);
/// @}

/// Starts a persistent call that is not in flight; does not wait. All members start their calls on
/// a team, persistent or not, in the same order.
WEFT_API weft_status weft_start(weft_request* request);
/// Frees a request that is not in flight, and sets *request to NULL. NULL requests are ignored.
WEFT_API weft_status weft_request_free(weft_request** request);

#ifdef __cplusplus
}
#endif

#endif
