// SPDX-License-Identifier: BSD-3-Clause
// check.h - checks for C programs of ranks: conditions, and calls that must be refused.
#ifndef WEFT_TESTS_LIBRARY_CHECK_H
#define WEFT_TESTS_LIBRARY_CHECK_H

#include <stdio.h>
#include <string.h>

#include "weft/weft.h"

static int wrong = 0;  ///< failed checks
static weft_runtime* runtime;
static weft_team* world;  ///< team of all ranks
static int my_rank = -1;
static int size;  ///< ranks of the job

/// Joins the job and sets the variables above. Returns 0 on failure.
static inline int join_job(void) {
    if (weft_init(&runtime) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_last_error());
        return 0;
    }
    world = weft_world(runtime);
    my_rank = weft_rank(world);
    size = weft_size(world);
    return 1;
}

/// Returns the exit status: 0 if all checks passed. Rank 0 then prints `success`, unless it is "".
static inline int verdict(const char* success) {
    if (my_rank == 0 && wrong == 0 && success[0] != 0) printf("%d ranks: %s\n", size, success);
    return wrong == 0 ? 0 : 1;
}

/// Counts and prints a condition that is false.
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            ++wrong;                                                                      \
            fprintf(stderr, "rank %d: line %d: %s (last error: %s)\n", my_rank, __LINE__, \
                    #condition, weft_last_error());                                       \
        }                                                                                 \
    } while (0)

/// Checks that a call succeeds.
#define DONE(call) CHECK((call) == WEFT_OK)

/// Returns true if a text looks like an error message of the C interface: it starts with "weft_",
/// the prefix of the function's name, ends with a full stop and is not a mere word.
static inline int is_error_message(const char* text) {
    const size_t length = strlen(text);
    return length > 20 && text[length - 1] == '.' && strstr(text, "weft_") == text;
}

/// Checks that a call is refused with this status, and that its message contains the word.
#define REFUSED_AS(call, status, word)                                                         \
    do {                                                                                       \
        const weft_status status_ = (call);                                                    \
        const char* text_ = weft_last_error();                                                 \
        if (status_ != (status) || strstr(text_, word) == NULL || !is_error_message(text_)) {  \
            ++wrong;                                                                           \
            fprintf(stderr,                                                                    \
                    "rank %d: line %d: %s gave %d, expected %d; \"%s\" must contain \"%s\"\n", \
                    my_rank, __LINE__, #call, (int)status_, (int)(status), text_, word);       \
        }                                                                                      \
    } while (0)

/// Checks that a call is refused with WEFT_ERR_ARGUMENT and a message that contains the word.
#define REFUSED(call, word) REFUSED_AS(call, WEFT_ERR_ARGUMENT, word)

#endif
