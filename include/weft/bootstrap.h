// SPDX-License-Identifier: BSD-3-Clause
// bootstrap.h - for weft_init_with(): what a library lends that has connected the ranks already.
#ifndef WEFT_BOOTSTRAP_H
#define WEFT_BOOTSTRAP_H

#include <stddef.h>

/// How the ranks of a job meet where another library, such as an MPI, has connected them already.
/// The functions get `arg`; they give 0, or something else if they have failed, and are called by
/// the threads that call this library. They may serve that other library, but must not use this
/// one. What is lent stays usable until weft_finalize() has returned.
typedef struct weft_bootstrap {
    size_t struct_bytes;  ///< sizeof(weft_bootstrap) of the caller
    int rank;             ///< of this process: 0 to size-1
    int size;             ///< processes of the job
    void* arg;
    /// Each rank gives `bytes` bytes, and gets those of all in rank order. May wait for all.
    int (*allgather)(void* arg, const void* mine, void* all, size_t bytes);
    /// Starts a barrier and returns. One at a time.
    int (*barrier_start)(void* arg);
    /// *done: 1 if all ranks have started the barrier, else 0. Does not wait.
    int (*barrier_test)(void* arg, int* done);
    /// Ends the job, if it returns, this process alone. NULL: the latter.
    void (*abort)(void* arg, int status, const char* text);
    /// "WEFT_NAME=value" texts, the last one followed by NULL; NULL: the environment.
    const char* const* settings;
} weft_bootstrap;

#endif
