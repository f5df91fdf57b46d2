// SPDX-License-Identifier: BSD-3-Clause
// weft.h - the C interface: a runtime, teams of ranks, symmetric memory, collectives.
//
// A process joins its job with weft_init(); the job was started by `weft run`, mpirun, srun or any
// other PMIx host (a process started by itself is a job of one rank). Calls on a team are
// collective unless they say otherwise: all members make them in the same order, with the same
// counts, types, operations and roots. Ranks that disagree get WEFT_ERR_ARGUMENT and a text that
// names both sides.
//
// Errors     Functions return WEFT_OK or a status; weft_last_error() then has a sentence that names
//            the argument or the rank and what was expected. A call whose arguments are refused
//            changes nothing. After any other failure of a collective the team can only be freed;
//            other teams go on. Ranks of the node that do not know of it yet may still use its
//            buffers, and get WEFT_OK for undefined contents: leave these alone until all know.
// Handles    belong to the library. One that has been freed, or whose runtime has been finalized,
//            is refused with WEFT_ERR_ARGUMENT; so is NULL. Other pointers must not be passed.
// Threads    One thread at a time drives a runtime and everything made from it, unless it was made
//            with WEFT_THREADS_MULTIPLE (threads.h). weft_last_error() is per thread;
//            weft_op_create() and weft_op_free() may be called by any thread. Threads that call
//            weft_init() at once take turns.
// Progress   Data of others moves on during calls into the library only; a program that computes
//            for long calls weft_progress() now and then.
// Buffers    of any alignment, anywhere in memory, unless a function asks for symmetric memory.
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <stddef.h>
#include <stdint.h>

#include "weft/bootstrap.h"
#include "weft/export.h"

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

/// What the enumerations are to C++, where an unknown number may then be passed and is refused.
#ifdef __cplusplus
#define WEFT_AS_INT : int
extern "C" {
#else
#define WEFT_AS_INT
#endif

typedef struct weft_runtime weft_runtime;  ///< this process's membership in its job
typedef struct weft_team weft_team;        ///< ranks that call together
typedef struct weft_request weft_request;  ///< a started call, or a call that can be started again

/// How a call ended.
typedef enum weft_status WEFT_AS_INT {
    WEFT_OK = 0,
    WEFT_ERR_ARGUMENT,              ///< unusable arguments, or ranks that disagree about them
    WEFT_ERR_MEMORY,                ///< not enough memory of the kind that was asked for
    WEFT_ERR_ENVIRONMENT,           ///< no provider, no launcher, a refused system call
    WEFT_ERR_PEER,                  ///< another rank died or reported a failure
    WEFT_ERR_TIMEOUT,               ///< the time that a call was given is over
    WEFT_ERR_UNSUPPORTED,           ///< a thing of this interface that this version cannot do yet
    WEFT_STATUS_RANGE = 0x7fffffff  ///< no status: makes the enumeration as large as an int
} weft_status;

/// Element types. Pairs are structures of a value and an index, such as struct { double value; int
/// index; }.
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
    WEFT_FLOAT_INT,  ///< pairs of a value and an int, for WEFT_MINLOC and WEFT_MAXLOC
    WEFT_DOUBLE_INT,
    WEFT_INT16_INT,
    WEFT_INT32_INT,
    WEFT_INT64_INT,
    WEFT_LONGDOUBLE_INT,
    WEFT_DOUBLE_INT64,  ///< pairs with an int64_t
    WEFT_INT64_INT64,
    WEFT_TYPE_RANGE = 0x7fffffff  ///< no type: makes the enumeration as large as an int
} weft_type;

/// Operations, and those that weft_op_create() makes. Integers have all but MINLOC and MAXLOC; bool
/// has the logical and bitwise ones (LAND to BXOR); floating point has SUM to LXOR; complex numbers
/// have SUM and PROD; pairs have MINLOC and MAXLOC. What does not exist is refused. Logical ones
/// read an element as (x != 0) and give 0 or 1. Integers wrap. MIN and MAX: a NaN wins, -0.0 is
/// less than +0.0; MINLOC and MAXLOC likewise, and of equal values that with the lower index wins.
/// 16-bit floats are computed with in float, and rounded to the nearest, ties to even. Padding of
/// elements is 0 in what an operation gives.
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
    WEFT_OP_NONE = 0x3fffffff,  ///< no operation: what weft_op_free() leaves
    WEFT_OP_RANGE = 0x7fffffff  ///< no operation: makes the enumeration as large as an int
} weft_op;

/// Bytes of an element; 0 if there is no such type.
WEFT_API size_t weft_type_size(weft_type type);

/// As `in`: the input stands in `out`.
#define WEFT_IN_PLACE ((void*)-1)

// --- errors, version -----------------------------------------------------------------------------

/// Why the last call of the calling thread that failed did so: a sentence, never NULL. Valid until
/// the thread's next failure. Calls that succeed leave it alone.
WEFT_API const char* weft_last_error(void);

/// Version of the library in use, as "0.1.0".
WEFT_API const char* weft_version(void);

// --- runtime -------------------------------------------------------------------------------------

/// Joins the job; returns when all ranks have joined. Settings come from the environment (WEFT_*).
/// *out: the runtime, to be ended by weft_finalize(); untouched on failure.
WEFT_API weft_status weft_init(weft_runtime** out);

/// weft_init() for ranks that meet so; no launcher is asked. If a rank cannot join, all learn why,
/// all get a failure, and their job goes on without this library, which leaves nothing behind.
/// Signals are left alone. *out as weft_init().
WEFT_API weft_status weft_init_with(const weft_bootstrap* bootstrap, weft_runtime** out);

/// Collective over the job: returns when everything started is complete and all ranks are here, and
/// leaves the job. The runtime, its teams, requests and memory are gone, whatever the status says.
WEFT_API weft_status weft_finalize(weft_runtime* runtime);

/// Moves started calls, and what others put to this rank, forward. Not collective; does not wait.
WEFT_API void weft_progress(weft_runtime* runtime);

/// From now on, whatever waits in this runtime also calls fn(arg) again and again while it waits:
/// the progress of another library that this thread has to serve. fn must not use this runtime,
/// which refuses its calls meanwhile. One at a time: the last one stays; NULL takes it away.
WEFT_API weft_status weft_on_progress(weft_runtime* runtime, void (*fn)(void* arg), void* arg);

// --- teams ---------------------------------------------------------------------------------------

/// All ranks of the job; belongs to the runtime. NULL if the runtime is not usable.
WEFT_API weft_team* weft_world(weft_runtime* runtime);
/// Of this process in the team: 0 to weft_size()-1. -1 if the team is not usable. Not collective.
WEFT_API int weft_rank(const weft_team* team);
/// Number of members; -1 if the team is not usable. Not collective.
WEFT_API int weft_size(const weft_team* team);

/// Members with the same color form a team, ordered by key, then by rank. color < 0: no team, *out
/// is NULL. The team is ended by weft_team_free(). Each rank can be in 32 teams at a time; if any
/// of the new teams finds no place, all members of `team` get WEFT_ERR_MEMORY and none is made.
WEFT_API weft_status weft_team_split(weft_team* team, int color, int key, weft_team** out);
/// Members that share memory with this one form a team, in the same order.
WEFT_API weft_status weft_team_split_node(weft_team* team, weft_team** out);
/// A team of these `count` ranks of the world, in this order. Only they call it, all with the same
/// ranks; what else they are doing does not matter. allgather: as that of weft_bootstrap, among the
/// members alone, in the order of `ranks`. No place on a member: WEFT_ERR_MEMORY on all, as above.
WEFT_API weft_status weft_team_create(weft_runtime* runtime, const int* ranks, int count,
                                      int (*allgather)(void* arg, const void* mine, void* all,
                                                       size_t bytes),
                                      void* arg, weft_team** out);
/// Not collective, does not wait: this rank makes no more calls on a team that a split or
/// weft_team_create() made. Calls in flight go on, and their requests stay. Its place is free again
/// when all members have said so. Memory that was allocated on the team has been freed before.
WEFT_API weft_status weft_team_drop(weft_team* team);
/// Ends a team made by a split, and frees the memory allocated on it, as weft_free() does.
/// Collective over that team; its parent may be gone. No call of it may be in flight. The world
/// stays. A team that has failed is dropped instead, as by weft_team_drop(); one that fails now,
/// too, with that status.
WEFT_API weft_status weft_team_free(weft_team* team);

// --- symmetric memory ----------------------------------------------------------------------------

/// `bytes` bytes at the same offset of every member's heap, aligned to 64 bytes; not cleared. All
/// members ask for the same size, whatever else they have allocated on other teams. 0 bytes give a
/// pointer of its own, too. *out is this rank's memory, until weft_free(), the end of the team or
/// of the runtime.
WEFT_API weft_status weft_alloc(weft_team* team, size_t bytes, void** out);
/// The same with an alignment: a power of two, at most the size of the heap and 1 GiB.
WEFT_API weft_status weft_alloc_aligned(weft_team* team, size_t alignment, size_t bytes,
                                        void** out);
/// Frees what weft_alloc() gave on the same team, all members the same memory, in any order of
/// blocks. As shmem_free() of OpenSHMEM 1.5 it begins with a weft_quiet() of each member and
/// returns when all have entered: no put that was started before reaches what is allocated next.
/// NULL is refused.
WEFT_API weft_status weft_free(weft_team* team, void* memory);

/// Where member `peer` has what this rank has at `symmetric` (any address in memory of
/// weft_alloc(), or in a name of weft_register()): a pointer for loads and stores if they reach it,
/// else NULL; NULL also if an argument is not usable. Not collective. As shmem_ptr() of OpenSHMEM
/// 1.5, with ranks of the team.
WEFT_API void* weft_ptr(const weft_team* team, void* symmetric, int peer);

// --- one-sided calls -----------------------------------------------------------------------------
//
// On memory of one peer, named by this rank's address of the same symmetric memory (weft_alloc());
// other memory: weft_register() in onesided.h.
// Not collective: the peer, a rank of the team and perhaps this one, only has to call into the
// library now and then. Semantics are those of OpenSHMEM 1.5 where it has the call.

/// How weft_wait_until() compares the word with the value.
typedef enum weft_compare WEFT_AS_INT {
    WEFT_EQ = 0,
    WEFT_NE,
    WEFT_GT,
    WEFT_GE,
    WEFT_LT,
    WEFT_LE,
    WEFT_COMPARE_RANGE = 0x7fffffff  ///< no comparison: makes the enumeration as large as an int
} weft_compare;

/// Copies `bytes` bytes from src to dst in the peer's memory. Returns when src may be changed; the
/// data lands some time before the next weft_quiet() returns.
WEFT_API weft_status weft_put(weft_team* team, void* dst, const void* src, size_t bytes, int peer);
/// The same, and returns at once: src belongs to the library until weft_quiet().
WEFT_API weft_status weft_put_nbi(weft_team* team, void* dst, const void* src, size_t bytes,
                                  int peer);
/// Copies from src in the peer's memory to dst, any memory. Returns when the data is there.
WEFT_API weft_status weft_get(weft_team* team, void* dst, const void* src, size_t bytes, int peer);
/// The same, and returns at once: the data is there when weft_quiet() returns.
WEFT_API weft_status weft_get_nbi(weft_team* team, void* dst, const void* src, size_t bytes,
                                  int peer);

/// weft_put(), and then, when the data is there, *signal at the peer is set to value, or, if add is
/// not 0, value is added to it. A rank that sees the signal changed sees the data. bytes may be 0.
WEFT_API weft_status weft_put_signal(weft_team* team, void* dst, const void* src, size_t bytes,
                                     uint64_t* signal, uint64_t value, int add, int peer);
/// The same, and returns at once: src belongs to the library until weft_quiet().
WEFT_API weft_status weft_put_signal_nbi(weft_team* team, void* dst, const void* src, size_t bytes,
                                         uint64_t* signal, uint64_t value, int add, int peer);

/// Returns when this rank's *word compares so with value; cmp: a weft_compare. Drives everything
/// meanwhile. Others change the word by a put of just this word, a signal, or an atomic operation.
WEFT_API weft_status weft_wait_until(weft_team* team, const uint64_t* word, int cmp,
                                     uint64_t value);
/// Moves everything that is in flight once. *holds: 1 if weft_wait_until() would return, else 0.
WEFT_API weft_status weft_test_until(weft_team* team, const uint64_t* word, int cmp, uint64_t value,
                                     int* holds);

/// @name Atomic operations
/// on a peer's word, aligned to 8 bytes, together with those of all ranks. *old: what the word was.
/// If it is NULL nothing comes back: the change lands some time before the next weft_quiet()
/// returns. Other kinds and types of words: weft_atomic() in onesided.h.
/// @{
WEFT_API weft_status weft_fetch_add(weft_team* team, uint64_t* word, uint64_t add, int peer,
                                    uint64_t* old);
WEFT_API weft_status weft_swap(weft_team* team, uint64_t* word, uint64_t value, int peer,
                               uint64_t* old);
/// Stores value if the word is `expected`.
WEFT_API weft_status weft_compare_swap(weft_team* team, uint64_t* word, uint64_t expected,
                                       uint64_t value, int peer, uint64_t* old);
/// @}

/// At each peer, what this rank has put before (signals and atomic operations included) lands
/// before what it puts after. Says nothing about gets, nor about what others put.
WEFT_API weft_status weft_fence(weft_team* team);
/// Returns when all that this rank has put and got, on any team, is done here and at the peers;
/// but for what went through a context (onesided.h).
WEFT_API weft_status weft_quiet(weft_team* team);

// --- collectives ---------------------------------------------------------------------------------

/// Returns when all members have entered.
WEFT_API weft_status weft_barrier(weft_team* team);

/// The root's `count` elements reach the buffer of every member.
WEFT_API weft_status weft_broadcast(weft_team* team, void* buffer, size_t count, weft_type type,
                                    int root);

/// out[i] = in[i] of rank 0 (op) in[i] of rank 1 (op) ..., the same bits on every member; `count`
/// elements. in: WEFT_IN_PLACE, `out` itself, or memory that does not overlap `out`.
WEFT_API weft_status weft_allreduce(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, weft_op op);

/// The same for the root alone: `out` counts only there, and may be NULL elsewhere.
WEFT_API weft_status weft_reduce(weft_team* team, const void* in, void* out, size_t count,
                                 weft_type type, weft_op op, int root);

// Calls that move blocks, one for each member: the vector of all blocks is one picture on all
// members. WEFT_IN_PLACE as `in` (in gather, of the root) means that `out` holds this whole vector:
// the own block lies there already, where it belongs, and in reduce_scatter the result comes there.
// In scatter the root's `out` may be WEFT_IN_PLACE: its block stays where it is.

/// in: `count` elements; the root's out: weft_size() blocks of `count` elements, in rank order;
/// elsewhere out may be NULL.
WEFT_API weft_status weft_gather(weft_team* team, const void* in, void* out, size_t count,
                                 weft_type type, int root);

/// The root's in: weft_size() blocks of `count` elements; out: this rank's block. Elsewhere in may
/// be NULL.
WEFT_API weft_status weft_scatter(weft_team* team, const void* in, void* out, size_t count,
                                  weft_type type, int root);

/// in: `count` elements; out: the blocks of all members, in rank order.
WEFT_API weft_status weft_allgather(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type);

/// in: a block of `count` elements for each member; out: one from each, in rank order.
WEFT_API weft_status weft_alltoall(weft_team* team, const void* in, void* out, size_t count,
                                   weft_type type);

/// in: weft_size() blocks of `count` elements; out: this rank's block of the reduction of all.
WEFT_API weft_status weft_reduce_scatter(weft_team* team, const void* in, void* out, size_t count,
                                         weft_type type, weft_op op);

// Calls with blocks of different sizes. Counts and displacements are in elements, one for each
// member, in rank order; displacements say where blocks start, and NULL displacements mean that
// they follow each other in rank order. Blocks that are written must not overlap. The arrays are
// read during the call alone (of the started and persistent forms: while the request is made). Any
// count may be 0, and memory that no element goes to or comes from may be NULL. WEFT_IN_PLACE: as
// above, the own block being where its displacement says. Where two members differ in a count that
// only they know, who waits for the other gets WEFT_ERR_ARGUMENT and a text with both ranks and
// counts; who is sent what it takes for 0 elements does not.

/// in: `count` elements; the root's out gets `counts[r]` elements of rank r at `displacements[r]`.
/// counts, displacements and out count at the root only. Each rank's `count` is what the root has
/// for it in `counts`.
WEFT_API weft_status weft_gatherv(weft_team* team, const void* in, size_t count, void* out,
                                  const size_t* counts, const size_t* displacements, weft_type type,
                                  int root);

/// Of the root's in, `counts[r]` elements at `displacements[r]` go to out of rank r, which expects
/// `count`. in, counts and displacements count at the root only.
WEFT_API weft_status weft_scatterv(weft_team* team, const void* in, const size_t* counts,
                                   const size_t* displacements, void* out, size_t count,
                                   weft_type type, int root);

/// in: `counts[weft_rank()]` elements; out gets those of rank r at `displacements[r]`. All members
/// give the same counts; displacements may differ.
WEFT_API weft_status weft_allgatherv(weft_team* team, const void* in, void* out,
                                     const size_t* counts, const size_t* displacements,
                                     weft_type type);

/// `in_counts[r]` elements of in, at `in_displacements[r]`, go to rank r, whose out_counts say the
/// same of this rank: `out_counts[r]` elements come from rank r and go to out at
/// `out_displacements[r]`. in: not WEFT_IN_PLACE, and no block of it overlaps one of out.
WEFT_API weft_status weft_alltoallv(weft_team* team, const void* in, const size_t* in_counts,
                                    const size_t* in_displacements, void* out,
                                    const size_t* out_counts, const size_t* out_displacements,
                                    weft_type type);

/// in: blocks of `counts[r]` elements that follow each other; out: this rank's block of the
/// reduction of all. All members give the same counts.
WEFT_API weft_status weft_reduce_scatterv(weft_team* team, const void* in, void* out,
                                          const size_t* counts, weft_type type, weft_op op);

/// out = in of rank 0 (op) ... (op) in of this rank; `count` elements.
WEFT_API weft_status weft_scan(weft_team* team, const void* in, void* out, size_t count,
                               weft_type type, weft_op op);

/// The same without this rank's own; rank 0's out is left alone and may be NULL.
WEFT_API weft_status weft_exscan(weft_team* team, const void* in, void* out, size_t count,
                                 weft_type type, weft_op op);

/// Makes an operation of the user's: for i < count, inout[i] = in[i] (op) inout[i], where `in`
/// holds the contributions of lower ranks; elements are of the type that the collective is called
/// with. fn runs on the thread that drives the runtime: one that is in a call of it or, under
/// WEFT_PROGRESS=thread, the runtime's own. It must not use the runtime. A C++ exception that
/// leaves fn makes the call fail with WEFT_ERR_ARGUMENT on this rank and on those that wait for it.
/// commutative: whether
/// operands may be swapped; if 0, contributions are combined in rank order. Not collective, of no
/// runtime: usable by all of the process until weft_op_free().
WEFT_API weft_status weft_op_create(void (*fn)(const void* in, void* inout, size_t count,
                                               void* arg),
                                    void* arg, int commutative, weft_op* out);
/// Ends an operation and sets *op to WEFT_OP_NONE. Started calls that use it keep it until they are
/// complete. Built-in operations are refused.
WEFT_API weft_status weft_op_free(weft_op* op);

// --- started calls -------------------------------------------------------------------------------

/// @name Started calls
/// never wait, whatever was started before on this or any other team. Buffers belong to the library
/// until the request is complete. *request: to be ended by weft_wait() or weft_test(); untouched if
/// the start fails. The other arguments are those of the blocking calls.
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

/// Moves everything that is in flight once. *done: 1 if the call is complete, else 0. A complete
/// request is gone and *request NULL; a persistent one stays, and can be started again. NULL
/// requests and persistent ones that are not started are done. A call that failed is done, with its
/// status.
WEFT_API weft_status weft_test(weft_request** request, int* done);
/// *done: 1 if weft_test() would find the call complete without moving anything, else 0. Moves
/// nothing and ends nothing: for one who asks about many requests after one weft_progress().
WEFT_API weft_status weft_request_ended(const weft_request* request, int* done);
/// Returns when the call is complete; otherwise as weft_test().
WEFT_API weft_status weft_wait(weft_request** request);

// --- persistent calls ----------------------------------------------------------------------------

/// @name Persistent calls
/// are prepared once and started often. Preparing is not collective and moves nothing, but checks
/// the arguments; starting is what all members do in the same order. *request: to be ended by
/// weft_request_free().
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

/// Starts a persistent call, which is not in flight; never waits.
WEFT_API weft_status weft_start(weft_request* request);
/// Ends a request that is not in flight and sets *request to NULL; NULL requests are left alone.
WEFT_API weft_status weft_request_free(weft_request** request);

#ifdef __cplusplus
}
#endif

#include "weft/messages.h"
#include "weft/onesided.h"
#include "weft/threads.h"

#endif
