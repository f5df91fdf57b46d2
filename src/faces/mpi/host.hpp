// SPDX-License-Identifier: BSD-3-Clause
// host.hpp - mutual progress of weft and the host's MPI, for each MPI.
//
// Idea     While weft waits, it calls drive_host(). While the host waits in any call, it calls the
//          function set by on_host_progress(). Open MPI has a list of such functions. MPICH makes
//          all progress through UCX, whose function this library replaces.
// Why      A rank that is blocked in MPI_Recv must forward data of calls that peers have started
//          with weft. A rank that is blocked in weft must answer the rendezvous of an MPI message.
//          Wrapping the waiting calls cannot help, because some have no started form.
// Next     layer.hpp.
#pragma once

#include <mpi.h>

namespace weft::mpi {

/// True if the host's progress may complete requests when it runs for several threads. MPICH 4.0
/// then holds a lock that its entries take.
#if defined(OPEN_MPI)
inline constexpr bool kRequestsEndInProgress = true;
#else
inline constexpr bool kRequestsEndInProgress = false;
#endif

/// True if the first test after a barrier must see the host's messages that were sent before the
/// barrier. MPI does not promise that. But MPICH's own barrier receives such messages, and programs
/// rely on it.
#if defined(OPEN_MPI)
inline constexpr bool kBarriersDeliver = false;
#else
inline constexpr bool kBarriersDeliver = true;
#endif

/// Drives the host's transfers. comm: a communicator without messages.
void drive_host(MPI_Comm comm);

/// Makes the host call the function while it waits; nullptr: stops that. Returns false if the host
/// cannot; then only calls of weft drive started calls.
bool on_host_progress(int (*function)());

}  // namespace weft::mpi
