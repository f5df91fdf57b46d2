// SPDX-License-Identifier: BSD-3-Clause
// c_trial.h - C interface of tests/support/trial.hpp. A trial is one call with its arguments, its
// buffers and the expected result.
#ifndef WEFT_TESTS_LIBRARY_C_TRIAL_H
#define WEFT_TESTS_LIBRARY_C_TRIAL_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Collectives are numbered in the order of weft::Collective; 0 is the barrier.
/// kCollectives, kTypes and kOps are numbers of collectives, types and operations.
enum { kAllreduce = 3, kCollectives = 16, kTypes = 24, kOps = 13 };

/// Properties of a call that the tests vary.
struct trial_facts {
    int collective;
    weft_type type;
    weft_op op;
    int user;      ///< 1: `op` is trial_compose() on elements of WEFT_INT64_INT64
    size_t count;  ///< number of elements, for collectives with one count
    int pattern;   ///< index of a count pattern, for collectives with counts
    int root;
    int in_place;
    int spacing;   ///< order of blocks: 0 packed, 1 with gaps, 2 reversed with gaps
    size_t shift;  ///< bytes by which buffers are unaligned
};

/// Arguments of a call; each collective uses some.
struct trial_arguments {
    const void* in;
    void* out;
    size_t count;
    const size_t* in_counts;
    const size_t* in_displacements;
    const size_t* out_counts;
    const size_t* out_displacements;
    weft_type type;
    weft_op op;
    int root;
};

const char* trial_name(int collective);
int trial_is_rooted(int collective);
int trial_reduces(int collective);
int trial_has_counts(int collective);
/// Returns the number of count patterns.
int trial_patterns(void);
int trial_has_operation(weft_type type, weft_op op);
/// Composes affine maps, for weft_op_create(). Increments *calls.
void trial_compose(const void* in, void* inout, size_t count, void* calls);

struct trial;
struct trial* trial_open(const struct trial_facts* facts, int rank, int size);
/// Fills the inputs with the values of call number `batch`, which depend on the number, and returns
/// the arguments. The trial owns them.
const struct trial_arguments* trial_prepare(struct trial* trial, int batch);
/// Overwrites the argument arrays: the library must not read them after the call has started.
void trial_overwrite_arguments(struct trial* trial);
/// Checks the result. Returns an empty string if it is right.
const char* trial_check(struct trial* trial);
/// Returns a hash of the bytes of the first block of the output.
uint64_t trial_hash(struct trial* trial);
void trial_close(struct trial* trial);

/// Writes the `count` elements that the tests use as contribution of a rank in block `unit`.
/// sample_is() returns 1 if `found` has these elements.
void sample_write(weft_type type, int rank, int unit, size_t count, void* to);
int sample_is(weft_type type, int rank, int unit, size_t count, const void* found);

#ifdef __cplusplus
}
#endif

#endif
