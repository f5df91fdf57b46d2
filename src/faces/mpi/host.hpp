// SPDX-License-Identifier: BSD-3-Clause
// host.hpp - mutual progress of weft and the host, which is the program's MPI library.
//
// Idea     While weft waits, it calls drive_host(). While the host waits in any call, it calls the
//          function set by on_host_progress(): Open MPI has a list of functions to call, and MPICH
//          makes all progress through a function of UCX that this library replaces.
// Why      A rank that waits in MPI_Recv must forward data of weft's calls; a rank that waits in
//          weft must answer the rendezvous of an MPI message. The layer cannot replace waits by
//          started calls and tests, because some calls have no started form.
// Next     layer.hpp.
#pragma once

#include <mpi.h>

namespace weft::mpi {

/// True if a function that the host's progress calls may complete requests under
/// MPI_THREAD_MULTIPLE. MPICH 4.0 calls it with a lock that completing a request needs.
#if defined(OPEN_MPI)
inline constexpr bool kRequestsEndInProgress = true;
#else
inline constexpr bool kRequestsEndInProgress = false;
#endif

/// True if the first test after a barrier must see messages that were sent before the barrier. MPI
/// does not promise this, but MPICH's own barrier receives such messages and programs rely on it.
#if defined(OPEN_MPI)
inline constexpr bool kBarriersDeliver = false;
#else
inline constexpr bool kBarriersDeliver = true;
#endif

/// Drives the host's transfers. comm: a communicator that has no messages.
void drive_host(MPI_Comm comm);

/// Makes the host call `function` while it waits; nullptr: makes it stop. Returns false if the host
/// cannot; then started calls of weft only progress in calls of weft.
bool on_host_progress(int (*function)());

}  // namespace weft::mpi
