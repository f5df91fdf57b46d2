// SPDX-License-Identifier: BSD-3-Clause
// weft.h - the C interface: a runtime, teams of ranks, symmetric memory, collectives.
//
// A process joins its job with weft_init(). `weft run`, mpirun, srun or any other PMIx launcher
// starts the job; without a launcher, a process is a job of one rank. Calls on a team are
// collective unless documented otherwise: all members make them in the same order, with the same
// counts, types, operations and roots. If two ranks make different calls, both get
// WEFT_ERR_ARGUMENT and a text that contains "ranks disagree" and names both calls.
//
// Errors     Functions return WEFT_OK or an error status. After an error, weft_last_error() returns
//            a sentence that names the argument or rank and the expected value. A call whose
//            arguments are refused has no effect. After any other failure of a collective, the team
//            can only be freed; other teams are not affected. Local peers that have not noticed the
//            failure may still access the call's buffers, and return WEFT_OK with undefined
//            results. So keep the buffers unchanged until all ranks of the node have reported it.
// Ownership  The library owns all handles. It refuses NULL, freed handles and handles of a
//            finalized runtime with WEFT_ERR_ARGUMENT. Any other pointer is undefined behaviour.
//            The caller owns buffers, which may have any alignment and any address unless a
//            function requires symmetric memory.
// Threads    One thread at a time may use a runtime and its objects, unless the runtime was made
//            with WEFT_THREADS_MULTIPLE (threads.h). Each thread has its own weft_last_error().
//            Any thread may call weft_init(), weft_op_create() and weft_op_free() at any time.
// Progress   This rank sends and receives data only during calls into the library. A program should
//            call weft_progress() from time to time during long computations.
// Next       core.h for most calls; exact_sum.h, near.h and neighbors.h are not included here.
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include "weft/core.h"
#include "weft/failures.h"
#include "weft/messages.h"
#include "weft/onesided.h"
#include "weft/threads.h"

#endif
