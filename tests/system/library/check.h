// SPDX-License-Identifier: BSD-3-Clause
// check.h - checks for C programs of ranks: conditions, and calls that must be refused.
#ifndef WEFT_TESTS_LIBRARY_CHECK_H
#define WEFT_TESTS_LIBRARY_CHECK_H

#include <stdio.h>
#include <string.h>

#include "weft/weft.h"

static int wrong = 0;  ///< failed checks
static weft_runtime* runtime;
static weft_team* world;
static int my_rank = -1;
static int size;

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

/// Returns the exit status: 0 if all checks passed. Rank 0 then prints `right`, unless it is "".
static inline int verdict(const char* right) {
    if (my_rank == 0 && wrong == 0 && right[0] != 0) printf("%d ranks: %s\n", size, right);
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

/// Returns true if a text starts with "weft_" and ends with a full stop.
static inline int is_sentence(const char* text) {
    const size_t length = strlen(text);
    return length > 20 && text[length - 1] == '.' && strstr(text, "weft_") == text;
}

/// Checks that a call is refused with this status, and that its message is a sentence that contains
/// the word.
#define REFUSED_AS(call, status, word)                                                         \
    do {                                                                                       \
        const weft_status status_ = (call);                                                    \
        const char* text_ = weft_last_error();                                                 \
        if (status_ != (status) || strstr(text_, word) == NULL || !is_sentence(text_)) {       \
            ++wrong;                                                                           \
            fprintf(stderr,                                                                    \
                    "rank %d: line %d: %s gave %d, expected %d; \"%s\" must contain \"%s\"\n", \
                    my_rank, __LINE__, #call, (int)status_, (int)(status), text_, word);       \
        }                                                                                      \
    } while (0)

#define REFUSED(call, word) REFUSED_AS(call, WEFT_ERR_ARGUMENT, word)

#endif
