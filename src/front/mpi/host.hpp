// SPDX-License-Identifier: BSD-3-Clause
// host.hpp - where the progress of the two runtimes meets, in each MPI its own way.
//
// Idea     While weft waits, it calls drive_host(). While the host waits, in whatever call of its,
//          it calls the function that on_host_progress() was given: Open MPI has a list of such
//          functions, MPICH moves everything through UCX, whose entry this library stands before.
// Why      A rank that is blocked in MPI_Recv has to forward what others have started with weft,
//          and one that is blocked in weft has to answer the rendezvous of a message of MPI.
//          Wrapping the calls that wait could not help in those that have no started form.
// Next     layer.hpp.
#pragma once

#include <mpi.h>

namespace weft::mpi {

/// Whether requests can be completed within the host's progress when it runs for several threads;
/// MPICH 4.0 holds a lock then that its entries take.
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

/// Moves what the host has in flight; `comm`: one that carries no messages.
void drive_host(MPI_Comm comm);

/// From now on the host calls it while it waits; nullptr: no more. False: it cannot, so that a
/// started call moves in calls of weft alone.
bool on_host_progress(int (*function)());

}  // namespace weft::mpi
