// SPDX-License-Identifier: BSD-3-Clause
// bootstrap.h - start-up functions that another library provides to weft_init_with().
#ifndef WEFT_BOOTSTRAP_H
#define WEFT_BOOTSTRAP_H

#include <stddef.h>

/// Connects the ranks of a job through another library, such as an MPI library. The functions
/// receive `arg`. They return 0 on success, another value on failure. They run on threads that call
/// weft. They may drive the other library, but must not use weft. They must work until
/// weft_finalize() has returned.
typedef struct weft_bootstrap {
    size_t struct_bytes;  ///< sizeof(weft_bootstrap) of the caller
    int rank;             ///< rank of this process: 0 to size-1
    int size;             ///< number of processes in the job
    void* arg;
    /// Gathers `bytes` bytes from each rank into `all`, in rank order. May wait for all ranks.
    int (*allgather)(void* arg, const void* mine, void* all, size_t bytes);
    /// Starts a barrier and returns. At most one barrier is in flight.
    int (*barrier_start)(void* arg);
    /// *done: 1 if all ranks have started the barrier, else 0. Does not wait.
    int (*barrier_test)(void* arg, int* done);
    /// Ends the job. If the function returns, or abort is NULL, weft ends only this process.
    void (*abort)(void* arg, int status, const char* text);
    /// Settings: "WEFT_NAME=value" texts, ended by NULL. If it is NULL, weft reads the environment.
    const char* const* settings;
} weft_bootstrap;

#endif
