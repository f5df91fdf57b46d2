// SPDX-License-Identifier: BSD-3-Clause
// onesided.h - further one-sided calls of the C interface: atomic operations on all word types,
// strided copies, waits for several words, contexts, locks, registered memory, and other functions
// for OpenSHMEM and GASPI programs.
//
// weft.h includes this header, and its rules apply. Memory of a peer is named by this rank's
// address of the same symmetric memory, or by a name from weft_register(). A word has 4 or 8 bytes,
// is aligned to its size, and has the type WEFT_INT32, WEFT_UINT32, WEFT_INT64 or WEFT_UINT64. Some
// calls also accept WEFT_FLOAT and WEFT_DOUBLE. Operands and results are passed by address. Most
// calls have the semantics of OpenSHMEM 1.5, sections 9.3 to 9.12.
#ifndef WEFT_ONESIDED_H
#define WEFT_ONESIDED_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- time ----------------------------------------------------------------------------------------

/// Value of timeout_ns for no limit. Limits are in nanoseconds, 0 or more. A call that reaches its
/// limit returns WEFT_ERR_TIMEOUT and may be repeated; it has only driven transfers.
#define WEFT_FOREVER INT64_MAX

/// Does a weft_quiet() for at most timeout_ns.
WEFT_API weft_status weft_quiet_for(weft_team* team, int64_t timeout_ns);
/// Does a weft_wait() for at most timeout_ns. On a timeout, *request is unchanged.
WEFT_API weft_status weft_wait_for(weft_request** request, int64_t timeout_ns);

// --- words of peers ------------------------------------------------------------------------------

/// Effect of weft_atomic() on a word.
typedef enum weft_atomic_kind WEFT_AS_INT {
    WEFT_ATOMIC_FETCH = 0,     ///< reads the word; also for floating point
    WEFT_ATOMIC_SET,           ///< sets the word to the operand; also for floating point
    WEFT_ATOMIC_COMPARE_SWAP,  ///< sets the word to the operand if it equals `compare`
    WEFT_ATOMIC_ADD,           ///< adds the operand; integers wrap; also for floating point
    WEFT_ATOMIC_AND,
    WEFT_ATOMIC_OR,
    WEFT_ATOMIC_XOR,
    WEFT_ATOMIC_RANGE = 0x7fffffff  ///< not a kind: makes the enumeration as large as an int
} weft_atomic_kind;

/// Changes a peer's word of type `type`, atomically with respect to the atomic operations of all
/// ranks. operand, compare and result point to values of this type. operand: ignored by FETCH.
/// compare: read by COMPARE_SWAP only. result: receives the former value. If it is NULL, the call
/// returns at once, and the change is made before the next weft_quiet() returns; not for FETCH.
WEFT_API weft_status weft_atomic(weft_team* team, weft_atomic_kind kind, weft_type type, void* word,
                                 const void* operand, const void* compare, void* result, int peer);
/// Starts a weft_atomic() and returns at once. *result is set when weft_quiet() returns.
WEFT_API weft_status weft_atomic_nbi(weft_team* team, weft_atomic_kind kind, weft_type type,
                                     void* word, const void* operand, const void* compare,
                                     void* result, int peer);
/// Sets the peer's signal to value if add is 0, else adds value: a weft_put_signal() without data.
WEFT_API weft_status weft_signal(weft_team* team, uint64_t* signal, uint64_t value, int add,
                                 int peer);

// --- strides -------------------------------------------------------------------------------------

/// Copies `count` blocks of `bytes` bytes to the peer: block i from src + i * src_stride to
/// dst + i * dst_stride. Strides are in bytes and may be negative; written blocks must not overlap.
/// Returns when src may be changed, like weft_put().
WEFT_API weft_status weft_put_strided(weft_team* team, void* dst, ptrdiff_t dst_stride,
                                      const void* src, ptrdiff_t src_stride, size_t bytes,
                                      size_t count, int peer);
/// Copies blocks in the same way from the peer's src to dst. Returns when dst holds the data.
WEFT_API weft_status weft_get_strided(weft_team* team, void* dst, ptrdiff_t dst_stride,
                                      const void* src, ptrdiff_t src_stride, size_t bytes,
                                      size_t count, int peer);

/// Does a weft_put_strided(). After the delivery of all blocks, sets *signal at the peer to value
/// if add is 0, else adds value to *signal.
WEFT_API weft_status weft_put_strided_signal(weft_team* team, void* dst, ptrdiff_t dst_stride,
                                             const void* src, ptrdiff_t src_stride, size_t bytes,
                                             size_t count, uint64_t* signal, uint64_t value,
                                             int add, int peer);

/// Largest number of dimensions of a weft_block_grid.
#define WEFT_DIMENSIONS_MAX 8
/// Blocks in several dimensions. Block (i, j, ...), with i < counts[0], j < counts[1], ..., is read
/// at src + i * src_strides[0] + j * src_strides[1] + ... and written at dst + i * dst_strides[0] +
/// j * dst_strides[1] + ... The arrays have `dimensions` entries and are read during the call only.
typedef struct weft_block_grid {
    size_t bytes;    ///< size of a block
    int dimensions;  ///< 1 to WEFT_DIMENSIONS_MAX
    const size_t* counts;
    const ptrdiff_t* dst_strides;  ///< bytes; may be negative
    const ptrdiff_t* src_strides;  ///< bytes; may be negative
} weft_block_grid;

/// @name Grids
/// These functions act as weft_put_strided(), weft_put_strided_signal() and weft_get_strided().
/// @{
WEFT_API weft_status weft_put_grid(weft_team* team, void* dst, const void* src,
                                   const weft_block_grid* grid, int peer);
WEFT_API weft_status weft_put_grid_signal(weft_team* team, void* dst, const void* src,
                                          const weft_block_grid* grid, uint64_t* signal,
                                          uint64_t value, int add, int peer);
WEFT_API weft_status weft_get_grid(weft_team* team, void* dst, const void* src,
                                   const weft_block_grid* grid, int peer);
/// @}

// --- puts and gets with a request ----------------------------------------------------------------

/// Starts a weft_put() with a request. When weft_wait() or weft_test() completes the request, the
/// peer has the data, and src may be changed. *request is unchanged if the start fails.
WEFT_API weft_status weft_iput(weft_team* team, void* dst, const void* src, size_t bytes, int peer,
                               weft_request** request);
/// Starts a weft_get() with a request. When weft_wait() or weft_test() completes the request, dst
/// holds the data. *request is unchanged if the start fails.
WEFT_API weft_status weft_iget(weft_team* team, void* dst, const void* src, size_t bytes, int peer,
                               weft_request** request);

// --- waits for words -----------------------------------------------------------------------------

/// Words of this rank that other ranks change, and the condition `word <cmp> value` for which a
/// call waits or tests. The caller owns the arrays.
typedef struct weft_words {
    const void* words;   ///< `count` contiguous words; may be NULL if count is 0
    size_t count;        ///< number of words
    weft_type type;      ///< type of words and values: an integer type
    int cmp;             ///< a weft_compare
    const void* values;  ///< one value for all words, or one for each word if `each` is not 0
    int each;            ///< not 0: `values` has `count` values
    const int* skip;     ///< NULL, or an entry for each word; if not 0, the word is ignored
} weft_words;

/// Waits until `*word <cmp> *value` holds. *seen: the value of the word that satisfied the
/// condition. seen may be NULL.
WEFT_API weft_status weft_wait_word(weft_team* team, const void* word, weft_type type, int cmp,
                                    const void* value, int64_t timeout_ns, void* seen);
/// Waits until each word has satisfied the condition once; does not wait if all words are ignored.
WEFT_API weft_status weft_wait_all(weft_team* team, const weft_words* words, int64_t timeout_ns);
/// Waits until a word satisfies the condition. *index: index of the word; SIZE_MAX if all words are
/// ignored.
WEFT_API weft_status weft_wait_any(weft_team* team, const weft_words* words, int64_t timeout_ns,
                                   size_t* index);
/// Waits like weft_wait_any(). indices: array of words->count entries, which receives the indices
/// of all words that satisfy the condition, in ascending order. *found: number of these indices; 0
/// if all words are ignored.
WEFT_API weft_status weft_wait_some(weft_team* team, const weft_words* words, int64_t timeout_ns,
                                    size_t* indices, size_t* found);

/// @name Tests
/// Each test drives all transfers once if the condition does not hold. *holds: 1 if all words
/// satisfy the condition, else 0. *index: index of a word that satisfies the condition, or
/// SIZE_MAX. indices, *found: as in weft_wait_some(), but *found may be 0.
/// @{
WEFT_API weft_status weft_test_all(weft_team* team, const weft_words* words, int* holds);
WEFT_API weft_status weft_test_any(weft_team* team, const weft_words* words, size_t* index);
WEFT_API weft_status weft_test_some(weft_team* team, const weft_words* words, size_t* indices,
                                    size_t* found);
/// @}

// --- contexts ------------------------------------------------------------------------------------

/// Promises of the program about a context: hints that do not change results.
typedef enum weft_context_hint WEFT_AS_INT {
    WEFT_CONTEXT_SERIALIZED = 1,     ///< no two threads use it at a time
    WEFT_CONTEXT_PRIVATE = 2,        ///< only the thread that made the context uses it
    WEFT_CONTEXT_NOSTORE = 4,        ///< no call through the context stores into memory of peers
    WEFT_CONTEXT_RANGE = 0x7fffffff  ///< not a hint: makes the enumeration as large as an int
} weft_context_hint;

/// Makes a context: a second handle of the team, to order and complete some puts and gets
/// separately. weft_fence() and weft_quiet() of a context cover only puts and gets through this
/// context; calls on the team do not cover these. All functions except weft_team_free() and
/// weft_team_drop() accept a context as a team. Not collective. hints: sum of WEFT_CONTEXT_*, or 0.
WEFT_API weft_status weft_context_create(weft_team* team, int hints, weft_team** out);
/// Does a weft_quiet() of the context and frees it. The end of a team frees its contexts.
WEFT_API weft_status weft_context_free(weft_team* context);

// --- locks ---------------------------------------------------------------------------------------

/// @name Locks
/// A lock is one word of symmetric memory of the team, initially 0 on all members. At most one
/// member holds it; members get it in the order of their requests. A waiting member polls only its
/// own memory. Source: Mellor-Crummey and Scott, Algorithms for Scalable Synchronization on
/// Shared-Memory Multiprocessors (1991), section 2.4.
/// @{
/// Waits until this rank holds the lock, which it must not hold already.
WEFT_API weft_status weft_lock_set(weft_team* team, uint64_t* lock);
/// Tries to get the lock; does not wait. *got: 1 if this rank now holds it, 0 if another rank does.
WEFT_API weft_status weft_lock_test(weft_team* team, uint64_t* lock, int* got);
/// Does a weft_quiet() and releases the lock. The next holder sees all data that this rank has put.
WEFT_API weft_status weft_lock_clear(weft_team* team, uint64_t* lock);
/// @}

// --- teams ---------------------------------------------------------------------------------------

/// Forms a team of the `size` members start, start + stride, ..., in this order. On other members
/// *out is NULL. Collective over `team`, with equal arguments. stride: not 0; may be negative.
WEFT_API weft_status weft_team_split_strided(weft_team* team, int start, int stride, int size,
                                             weft_team** out);
/// Arranges the members in rows of x_range ranks; the last row may be shorter. Forms a team of each
/// row and of each column. Collective over `team`. If the call fails, this rank gets no team.
WEFT_API weft_status weft_team_split_2d(weft_team* team, int x_range, weft_team** row,
                                        weft_team** column);
/// Returns the rank in `to` of the member with rank `rank` in `from`; -1 if this member is not in
/// `to`, or an argument is refused. Not collective.
WEFT_API int weft_team_translate(const weft_team* from, int rank, const weft_team* to);

// --- symmetric memory ----------------------------------------------------------------------------

/// Intended use of memory: hints that do not change results.
typedef enum weft_memory_hint WEFT_AS_INT {
    WEFT_MEMORY_ATOMICS = 1,        ///< words for atomic operations
    WEFT_MEMORY_SIGNALS = 2,        ///< words for signals
    WEFT_MEMORY_RANGE = 0x7fffffff  ///< not a hint: makes the enumeration as large as an int
} weft_memory_hint;

/// Does a weft_alloc() of count * bytes bytes, which are 0 on all members when the call returns.
WEFT_API weft_status weft_calloc(weft_team* team, size_t count, size_t bytes, void** out);
/// Replaces *memory, from weft_alloc() or NULL, by a block of `bytes` bytes, and keeps the contents
/// up to the smaller size. If bytes is 0, frees *memory as weft_free() and sets it to NULL, or
/// allocates 0 bytes if *memory is NULL. Collective, with the same memory and bytes on all members.
/// On failure *memory is unchanged.
WEFT_API weft_status weft_realloc(weft_team* team, void** memory, size_t bytes);
/// Does a weft_alloc_aligned(). hints: sum of WEFT_MEMORY_*, or 0.
WEFT_API weft_status weft_alloc_hinted(weft_team* team, size_t alignment, size_t bytes, int hints,
                                       void** out);

// --- memory of the caller ------------------------------------------------------------------------

/// Kind of registered memory.
typedef enum weft_memory_kind WEFT_AS_INT {
    WEFT_KIND_HOST = 0,           ///< memory of this process, for its loads and stores
    WEFT_KIND_RANGE = 0x7fffffff  ///< not a kind: makes the enumeration as large as an int
} weft_memory_kind;

/// Lets members access the `bytes` bytes at `memory` with puts, gets, signals and atomic
/// operations. Any memory that this rank may read and write is accepted: static, stack, malloc(),
/// mmap() or weft_alloc() memory. Collective over `team`; each member registers its own range, of
/// any size. 0 bytes: the member registers no memory. *segment: a name for the memory of all
/// members. In one-sided calls of this team and its contexts, (char*)*segment + i is byte i of the
/// range that the peer has registered. The name is not an address: loads and stores there fail.
/// Locks must be in memory of weft_alloc().
///
/// The caller owns the memory and accesses it under the rules of symmetric memory. To wait for a
/// word, pass the word's address, not a name. The memory must remain mapped until
/// weft_unregister(), weft_team_free() or weft_finalize() has returned. Words must be aligned in
/// the peer's memory.
///
/// Progress: the owner executes puts of words, signals and atomic operations during its calls into
/// the library, even for local peers. It also executes all transfers that neither the kernel nor
/// the network can do. Puts are delivered when weft_quiet() returns.
///
/// If a member's memory is refused because it is NULL or not mapped, all members get
/// WEFT_ERR_ARGUMENT and a text with this member's rank. kind: WEFT_KIND_HOST; for other kinds,
/// returns WEFT_ERR_UNSUPPORTED.
WEFT_API weft_status weft_register(weft_team* team, weft_memory_kind kind, void* memory,
                                   size_t bytes, void** segment);
/// Ends a registration on the same team, with the same segment on all members. Like weft_free(),
/// the call begins with a weft_quiet() of each member and returns when all members have entered.
/// Then no peer accesses the memory any more, and calls with the name are refused.
WEFT_API weft_status weft_unregister(weft_team* team, void* segment);
/// Returns the number of bytes that a member has registered under the name that includes `segment`;
/// 0 if the name is unknown. Not collective.
WEFT_API size_t weft_registered_bytes(const weft_team* team, const void* segment, int peer);

// --- collectives ---------------------------------------------------------------------------------

/// Does a weft_alltoall() with strides: element k for rank r is in[(r * count + k) * in_stride];
/// element k from rank r becomes out[(r * count + k) * out_stride]. Strides are in elements, 1 or
/// more. in: not WEFT_IN_PLACE.
WEFT_API weft_status weft_alltoall_strided(weft_team* team, const void* in, size_t in_stride,
                                           void* out, size_t out_stride, size_t count,
                                           weft_type type);
/// Does a weft_allgatherv() in which each member knows only its own count. out receives all blocks
/// in rank order. counts: receives the counts of all members; may be NULL.
WEFT_API weft_status weft_collect(weft_team* team, const void* in, size_t count, void* out,
                                  size_t* counts, weft_type type);

// --- abort ---------------------------------------------------------------------------------------

/// Ends the job on all ranks; does not return. The launcher exits with the low byte of status.
WEFT_API void weft_abort(weft_runtime* runtime, int status);

#ifdef __cplusplus
}
#endif

#endif
