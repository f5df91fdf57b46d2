// SPDX-License-Identifier: BSD-3-Clause
// weft.h - the C interface: a runtime, teams of ranks, symmetric memory, collectives.
//
// A process joins its job with weft_init(). `weft run`, mpirun, srun or any other PMIx launcher
// starts the job; without a launcher, a process is a job of one rank. Calls on a team are
// collective unless documented otherwise: all members make them in the same order, with the same
// counts, types, operations and roots. If two ranks make different calls, both get
// WEFT_ERR_ARGUMENT and a text that names both calls.
//
// Errors     Functions return WEFT_OK or an error status. weft_last_error() then returns a sentence
//            that names the argument or rank and the expected value. A call whose arguments are
//            refused has no effect. After any other failure of a collective, the team can only be
//            freed; other teams are not affected. Local peers that have not noticed the failure yet
//            may still access the call's buffers, and return WEFT_OK with undefined results. Do not
//            change these buffers until all ranks of the node have reported the failure.
// Handles    belong to the library. NULL, freed handles and handles of a finalized runtime are
//            refused with WEFT_ERR_ARGUMENT. Passing any other pointer is undefined.
// Threads    One thread at a time may use a runtime and its objects, unless the runtime was
//            made with WEFT_THREADS_MULTIPLE (threads.h). weft_last_error() is per thread. Any
//            thread may call weft_op_create() and weft_op_free(). Concurrent calls of
//            weft_init() are serialized.
// Progress   This rank sends and receives data only during calls into the library. A program should
//            call weft_progress() from time to time during long computations.
// Buffers    may have any alignment and any address, unless a function requires symmetric memory.
// Next     core.h for most calls; neighbors.h and near.h, which this header does not include.
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include "weft/core.h"
#include "weft/failures.h"
#include "weft/messages.h"
#include "weft/onesided.h"
#include "weft/threads.h"

#endif
