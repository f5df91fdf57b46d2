// SPDX-License-Identifier: BSD-3-Clause
// c_trial.h - the trials of tests/support/trial.hpp for C programs.
#ifndef WEFT_TESTS_LIBRARY_C_TRIAL_H
#define WEFT_TESTS_LIBRARY_C_TRIAL_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Collectives have numbers: 0 is the barrier, the others follow in the order of weft::Collective.
enum { kAllreduce = 3, kCollectives = 16, kTypes = 24, kOps = 12 };

struct trial_facts {
    int collective;
    weft_type type;
    weft_op op;
    int user;      ///< op composes affine maps, which are elements of WEFT_INT64_INT64
    size_t count;  ///< for collectives with one count
    int pattern;   ///< index of a count pattern, for collectives with counts
    int root;
    int in_place;
    int spacing;  ///< of blocks with displacements: packed, with gaps, with gaps and reversed
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
/// Returns the number of count patterns.
int trial_patterns(void);
int trial_has_operation(weft_type type, weft_op op);
/// Composes affine maps; a function for weft_op_create().
void trial_compose(const void* in, void* inout, size_t count, void* calls);

struct trial;
struct trial* trial_open(const struct trial_facts* facts, int rank, int size);
/// Fills the inputs for a new call and returns its arguments. The trial owns them.
const struct trial_arguments* trial_prepare(struct trial* trial, int batch);
/// Spoils the argument arrays, which the library may read only until the call has started.
void trial_take_back(struct trial* trial);
/// Checks the result. Returns an empty string if it is right.
const char* trial_check(struct trial* trial);
/// Returns a hash of the bytes of the first block of the output.
uint64_t trial_hash(struct trial* trial);
void trial_close(struct trial* trial);

/// Writes and checks samples without a trial: the elements that a rank contributes in one unit.
void sample_write(weft_type type, int rank, int unit, size_t count, void* to);
int sample_is(weft_type type, int rank, int unit, size_t count, const void* found);

#ifdef __cplusplus
}
#endif

#endif
