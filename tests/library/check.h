// SPDX-License-Identifier: BSD-3-Clause
// check.h - for C programs of real ranks: what should hold, and calls that should be refused.
#ifndef WEFT_TESTS_LIBRARY_CHECK_H
#define WEFT_TESTS_LIBRARY_CHECK_H

#include <stdio.h>
#include <string.h>

#include "weft/weft.h"

static int wrong = 0;
static weft_runtime* runtime;
static weft_team* world;
static int my_rank = -1;
static int size;

/// Joins the job and sets the variables above; 0 if that failed.
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

/// The exit status; rank 0 prints what is right.
static inline int verdict(const char* right) {
    if (my_rank == 0 && wrong == 0 && right[0] != 0) printf("%d ranks: %s\n", size, right);
    return wrong == 0 ? 0 : 1;
}

/// Something that must be true, with what was seen otherwise.
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            ++wrong;                                                                      \
            fprintf(stderr, "rank %d: line %d: %s (last error: %s)\n", my_rank, __LINE__, \
                    #condition, weft_last_error());                                       \
        }                                                                                 \
    } while (0)

/// A call that must succeed.
#define DONE(call) CHECK((call) == WEFT_OK)

static inline int is_sentence(const char* text) {
    const size_t length = strlen(text);
    return length > 20 && text[length - 1] == '.' && strstr(text, "weft_") == text;
}

/// A call that must be refused with this status and a sentence that names the function and has the
/// word.
#define REFUSED_AS(call, status, word)                                                       \
    do {                                                                                     \
        const weft_status said_ = (call);                                                    \
        const char* text_ = weft_last_error();                                               \
        if (said_ != (status) || strstr(text_, word) == NULL || !is_sentence(text_)) {       \
            ++wrong;                                                                         \
            fprintf(stderr,                                                                  \
                    "rank %d: line %d: %s gave %d, expected %d; \"%s\" should say \"%s\"\n", \
                    my_rank, __LINE__, #call, (int)said_, (int)(status), text_, word);       \
        }                                                                                    \
    } while (0)

#define REFUSED(call, word) REFUSED_AS(call, WEFT_ERR_ARGUMENT, word)

#endif
