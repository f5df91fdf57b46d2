// SPDX-License-Identifier: BSD-3-Clause
// onesided.h - the rest of the one-sided calls of the C interface: words of all kinds, strides,
// waits for many words, contexts, locks, memory of the caller, and what else OpenSHMEM and GASPI
// programs rely on.
//
// weft.h includes it; its first lines hold here, too. Memory of a peer is named by this rank's
// address of the same symmetric memory, or as weft_register() says. A word is 4 or 8 bytes, aligned
// to its size: of WEFT_INT32, WEFT_UINT32, WEFT_INT64 or WEFT_UINT64 (a `long` is one of them), and
// where a call says so of WEFT_FLOAT or WEFT_DOUBLE. Values are passed by address.
#ifndef WEFT_ONESIDED_H
#define WEFT_ONESIDED_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- time ----------------------------------------------------------------------------------------

/// A time that does not end. Times are in nanoseconds; a call whose time is over gives
/// WEFT_ERR_TIMEOUT, has changed nothing but what it has moved meanwhile, and may be made again.
#define WEFT_FOREVER INT64_MAX

/// weft_quiet() for so long at most.
WEFT_API weft_status weft_quiet_for(weft_team* team, int64_t timeout_ns);
/// weft_wait() for so long at most. *request stays what it was if the time is over.
WEFT_API weft_status weft_wait_for(weft_request** request, int64_t timeout_ns);

// --- words of peers ------------------------------------------------------------------------------

/// What weft_atomic() does to a word.
typedef enum weft_atomic_kind WEFT_AS_INT {
    WEFT_ATOMIC_FETCH = 0,     ///< nothing: its value is wanted; floating point, too
    WEFT_ATOMIC_SET,           ///< sets it to the operand; floating point, too
    WEFT_ATOMIC_COMPARE_SWAP,  ///< sets it to the operand if it is `compare`
    WEFT_ATOMIC_ADD,           ///< wraps
    WEFT_ATOMIC_AND,
    WEFT_ATOMIC_OR,
    WEFT_ATOMIC_XOR,
    WEFT_ATOMIC_RANGE = 0x7fffffff  ///< no kind: makes the enumeration as large as an int
} weft_atomic_kind;

/// Changes a peer's word, together with the atomic operations of all ranks. operand: of the word's
/// type (not read by FETCH, where it may be NULL); compare: as it, read by COMPARE_SWAP alone.
/// result: gets the word's former value. If it is NULL nothing comes back: the call returns at
/// once, and the change lands some time before the next weft_quiet() returns.
WEFT_API weft_status weft_atomic(weft_team* team, weft_atomic_kind kind, weft_type type, void* word,
                                 const void* operand, const void* compare, void* result, int peer);
/// The same, and returns at once: *result is there when weft_quiet() returns.
WEFT_API weft_status weft_atomic_nbi(weft_team* team, weft_atomic_kind kind, weft_type type,
                                     void* word, const void* operand, const void* compare,
                                     void* result, int peer);
/// Sets the peer's signal to value or, if add is not 0, adds value to it: a weft_put_signal()
/// without data.
WEFT_API weft_status weft_signal(weft_team* team, uint64_t* signal, uint64_t value, int add,
                                 int peer);

// --- strides -------------------------------------------------------------------------------------

/// Copies `count` blocks of `bytes` bytes: block i from src + i * src_stride to dst + i *
/// dst_stride in the peer's memory. Strides are in bytes, and may be negative; blocks that are
/// written must not overlap. Returns when src may be changed, as weft_put().
WEFT_API weft_status weft_put_strided(weft_team* team, void* dst, ptrdiff_t dst_stride,
                                      const void* src, ptrdiff_t src_stride, size_t bytes,
                                      size_t count, int peer);
/// The same from the peer's src to dst. Returns when the data is there.
WEFT_API weft_status weft_get_strided(weft_team* team, void* dst, ptrdiff_t dst_stride,
                                      const void* src, ptrdiff_t src_stride, size_t bytes,
                                      size_t count, int peer);

// --- gets with a request -------------------------------------------------------------------------

/// weft_get() as a started call: the data is there when the request is complete, by weft_wait() or
/// weft_test().
WEFT_API weft_status weft_iget(weft_team* team, void* dst, const void* src, size_t bytes, int peer,
                               weft_request** request);

// --- waits for words -----------------------------------------------------------------------------

/// A row of this rank's words that others change, and what is wanted of them.
typedef struct weft_words {
    const void* words;   ///< `count` of them, next to each other; NULL if count is 0
    size_t count;        ///< of words
    weft_type type;      ///< of words and values
    int cmp;             ///< a weft_compare
    const void* values;  ///< to compare with: one, or if `each` is not 0 one for each word
    int each;            ///< see values
    const int* skip;     ///< words with another entry than 0 do not count; NULL: all count
} weft_words;

/// Returns when the word compares so with *value. *seen: the value that did; may be NULL.
WEFT_API weft_status weft_wait_word(weft_team* team, const void* word, weft_type type, int cmp,
                                    const void* value, int64_t timeout_ns, void* seen);
/// Returns when each of the words has compared as wanted, at once if none counts.
WEFT_API weft_status weft_wait_all(weft_team* team, const weft_words* words, int64_t timeout_ns);
/// Returns when one of the words compares as wanted. *index: its place, SIZE_MAX if none counts.
WEFT_API weft_status weft_wait_any(weft_team* team, const weft_words* words, int64_t timeout_ns,
                                   size_t* index);
/// The same with all that do then: `found` indices, in rising order; 0 if none counts.
WEFT_API weft_status weft_wait_some(weft_team* team, const weft_words* words, int64_t timeout_ns,
                                    size_t* indices, size_t* found);

/// @name Tests move everything that is in flight once, and say what the wait would find now: *holds
/// is 1 or 0, *index a place or SIZE_MAX. @{
WEFT_API weft_status weft_test_all(weft_team* team, const weft_words* words, int* holds);
WEFT_API weft_status weft_test_any(weft_team* team, const weft_words* words, size_t* index);
WEFT_API weft_status weft_test_some(weft_team* team, const weft_words* words, size_t* indices,
                                    size_t* found);
/// @}

// --- contexts ------------------------------------------------------------------------------------

/// What the program promises of a context. Hints: none changes what calls do.
typedef enum weft_context_hint WEFT_AS_INT {
    WEFT_CONTEXT_SERIALIZED = 1,     ///< no two threads use it at a time
    WEFT_CONTEXT_PRIVATE = 2,        ///< the thread that made it alone uses it
    WEFT_CONTEXT_NOSTORE = 4,        ///< nothing is stored into memory of peers by it
    WEFT_CONTEXT_RANGE = 0x7fffffff  ///< no hint: makes the enumeration as large as an int
} weft_context_hint;

/// A handle of the same team whose one-sided calls have a fence and a quiet of their own: those of
/// the context concern what was put and got through it alone, those of the team leave it out. All
/// calls of this interface take it where they take the team. Not collective; other ranks do not
/// know of it. hints: WEFT_CONTEXT_*, or 0.
WEFT_API weft_status weft_context_create(weft_team* team, int hints, weft_team** out);
/// Ends a context, after a weft_quiet() of it. One that is still there when its team ends, ends
/// with it.
WEFT_API weft_status weft_context_free(weft_team* context);

// --- locks ---------------------------------------------------------------------------------------

/// @name Locks One word of symmetric memory of the team, 0 on all members at first, is a lock: one
/// member at a time holds it, in the order in which they came. Who waits looks at memory of its
/// own. @{
WEFT_API weft_status weft_lock_set(weft_team* team, uint64_t* lock);
/// *got: 1 if this rank holds the lock now, 0 if another one does.
WEFT_API weft_status weft_lock_test(weft_team* team, uint64_t* lock, int* got);
/// After a weft_quiet(): the next one sees all that was put while the lock was held.
WEFT_API weft_status weft_lock_clear(weft_team* team, uint64_t* lock);
/// @}

// --- teams ---------------------------------------------------------------------------------------

/// Members start, start + stride, ... form a team of `size`, in this order; NULL elsewhere.
/// Collective over `team`, all with the same numbers. stride: not 0; may be negative.
WEFT_API weft_status weft_team_split_strided(weft_team* team, int start, int stride, int size,
                                             weft_team** out);
/// Members in rows of x_range, the last one perhaps shorter: one team for each row, and one for
/// each column. Collective over `team`.
WEFT_API weft_status weft_team_split_2d(weft_team* team, int x_range, weft_team** row,
                                        weft_team** column);
/// Rank in `to` of the member of `from` whose rank there is `rank`; -1 if it is in one of them
/// only, or an argument is not usable. Not collective.
WEFT_API int weft_team_translate(const weft_team* from, int rank, const weft_team* to);

// --- symmetric memory ----------------------------------------------------------------------------

/// How memory will be used. Hints: none changes what calls do.
typedef enum weft_memory_hint WEFT_AS_INT {
    WEFT_MEMORY_ATOMICS = 1,        ///< words for atomic operations
    WEFT_MEMORY_SIGNALS = 2,        ///< words for signals
    WEFT_MEMORY_RANGE = 0x7fffffff  ///< no hint: makes the enumeration as large as an int
} weft_memory_hint;

/// weft_alloc() of count * bytes bytes that are 0 on all members when it returns.
WEFT_API weft_status weft_calloc(weft_team* team, size_t count, size_t bytes, void** out);
/// Moves *memory, which weft_alloc() gave (or NULL), to a block of so many bytes with the same
/// contents, up to the shorter of the two. 0 bytes: as weft_free(), and *memory is NULL.
/// Collective, with the same memory and bytes on all members. On failure *memory stays.
WEFT_API weft_status weft_realloc(weft_team* team, void** memory, size_t bytes);
/// weft_alloc_aligned() with hints: WEFT_MEMORY_*, or 0.
WEFT_API weft_status weft_alloc_hinted(weft_team* team, size_t alignment, size_t bytes, int hints,
                                       void** out);

// --- memory of the caller ------------------------------------------------------------------------

/// What kind of memory is registered.
typedef enum weft_memory_kind WEFT_AS_INT {
    WEFT_KIND_HOST = 0,           ///< of this process, for its loads and stores
    WEFT_KIND_RANGE = 0x7fffffff  ///< no kind: makes the enumeration as large as an int
} weft_memory_kind;

/// Lets members put to, get from and change words in `bytes` bytes at `memory` of this rank: any
/// memory that it may read and write, be it static, of the stack, of malloc(), mmap() or
/// weft_alloc(). Collective over `team`; each member registers what it likes, or nothing (0 bytes).
/// *segment: a name for the memory of all of them. Where one-sided calls of this team and its
/// contexts take memory of a peer, (char*)*segment + i is byte i of what that peer has registered,
/// as far as that goes. A name is an address for calls only: loads and stores of it fail. Only
/// locks stay in memory of weft_alloc().
///
/// The memory stays the caller's, who reads and writes it as symmetric memory, and names it by its
/// own pointer where it waits for words. It has to stay where it is until weft_unregister(),
/// weft_team_free() or weft_finalize() has returned. Words are aligned by their addresses at the
/// peer.
///
/// Progress: words put, signals and atomic operations are done by the owner within its calls into
/// the library, also for ranks of its node; so is all else that neither the kernel copies nor the
/// network reaches. What was put has landed after weft_quiet(), as ever.
///
/// If the memory of a member is refused (it is not mapped; NULL) all members get WEFT_ERR_ARGUMENT
/// with its rank, and nothing is registered. Other kinds than WEFT_KIND_HOST are not supported.
WEFT_API weft_status weft_register(weft_team* team, weft_memory_kind kind, void* memory,
                                   size_t bytes, void** segment);
/// Ends what weft_register() has begun on the same team, with the same segment on all members. As
/// weft_free() it begins with a weft_quiet() of each and returns when all have entered: from then
/// on no peer reaches the memory, and calls with the name are refused.
WEFT_API weft_status weft_unregister(weft_team* team, void* segment);
/// Bytes that a member has registered by the name that holds `segment`; 0 if it is none. Not
/// collective.
WEFT_API size_t weft_registered_bytes(const weft_team* team, const void* segment, int peer);

// --- collectives ---------------------------------------------------------------------------------

/// weft_alltoall() whose elements lie `in_stride` and `out_stride` elements apart: element k for
/// rank r is in[(r * count + k) * in_stride]. Strides are 1 or more. in: not WEFT_IN_PLACE.
WEFT_API weft_status weft_alltoall_strided(weft_team* team, const void* in, size_t in_stride,
                                           void* out, size_t out_stride, size_t count,
                                           weft_type type);
/// weft_allgatherv() where each member knows its own count only: out gets all blocks in rank order.
/// counts: gets those of all members; may be NULL.
WEFT_API weft_status weft_collect(weft_team* team, const void* in, size_t count, void* out,
                                  size_t* counts, weft_type type);

// --- the end -------------------------------------------------------------------------------------

/// Ends the job now, on all ranks; does not return. The launcher exits with the low byte of status.
WEFT_API void weft_abort(weft_runtime* runtime, int status);

#ifdef __cplusplus
}
#endif

#endif
