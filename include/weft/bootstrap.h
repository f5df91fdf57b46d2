// SPDX-License-Identifier: BSD-3-Clause
// bootstrap.h - functions of another library by which weft_init_with() connects the ranks of a job.
#ifndef WEFT_BOOTSTRAP_H
#define WEFT_BOOTSTRAP_H

#include <stddef.h>

/// Functions of another library, such as an MPI library, and settings. weft_init_with() copies the
/// structure. The functions receive `arg` and return 0 on success, another value on failure. They
/// run on threads that call weft, must not use weft, and must work until weft_finalize() has
/// returned. Arrays that weft passes to them belong to weft and are valid during the call.
typedef struct weft_bootstrap {
    size_t struct_bytes;  ///< sizeof(weft_bootstrap) of the caller
    int rank;             ///< rank of this process: 0 to size-1
    int size;             ///< number of processes in the job
    void* arg;            ///< first argument of each function
    /// Gathers `bytes` bytes from each rank into `all`, in rank order. May wait for all ranks.
    int (*allgather)(void* arg, const void* mine, void* all, size_t bytes);
    /// Starts a barrier and returns. At most one barrier is in flight.
    int (*barrier_start)(void* arg);
    /// Sets *done to 1 if all ranks have started the barrier, else to 0. Does not wait.
    int (*barrier_test)(void* arg, int* done);
    /// Ends all processes of the job with an exit status; `text` is the reason. If abort is NULL or
    /// returns, weft ends only this process.
    void (*abort)(void* arg, int status, const char* text);
    /// Texts "WEFT_NAME=value", with NULL after the last; read only by weft_init_with(). NULL: the
    /// environment of the process.
    const char* const* settings;
} weft_bootstrap;

#endif
