// SPDX-License-Identifier: BSD-3-Clause
// c_trial.h - the trials of tests/support/trial.hpp for C programs.
#ifndef WEFT_TESTS_LIBRARY_C_TRIAL_H
#define WEFT_TESTS_LIBRARY_C_TRIAL_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Collectives have numbers: 0 is the barrier, the others are in the order of weft::Collective.
enum { kAllreduce = 3, kCollectives = 16, kTypes = 24, kOps = 12 };

struct trial_facts {
    int collective;
    weft_type type;
    weft_op op;
    int user;      ///< op composes affine maps, which are elements of WEFT_INT64_INT64
    size_t count;  ///< of calls with one count
    int pattern;   ///< of calls with counts
    int root;
    int in_place;
    int spacing;  ///< of blocks with displacements: packed, with gaps, with gaps and backwards
    size_t shift;
};

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
/// Number of count patterns.
int trial_patterns(void);
int trial_has_operation(weft_type type, weft_op op);
/// A function for weft_op_create(): composes affine maps.
void trial_compose(const void* in, void* inout, size_t count, void* calls);

struct trial;
struct trial* trial_open(const struct trial_facts* facts, int rank, int size);
/// New inputs, and the arguments of the call.
const struct trial_arguments* trial_prepare(struct trial* trial, int batch);
/// The arrays of the arguments are lent until the call has started.
void trial_take_back(struct trial* trial);
/// Empty if the result is right.
const char* trial_check(struct trial* trial);
/// A number that follows from the bytes of the first block of the output.
uint64_t trial_hash(struct trial* trial);
void trial_close(struct trial* trial);

/// Samples without a trial: those that a rank contributes in a unit of its vector.
void sample_write(weft_type type, int rank, int unit, size_t count, void* to);
int sample_is(weft_type type, int rank, int unit, size_t count, const void* found);

#ifdef __cplusplus
}
#endif

#endif
