// SPDX-License-Identifier: BSD-3-Clause
// host.hpp - mutual progress of weft and the host, which is the program's MPI library.
//
// Idea     While weft waits, it calls drive_host(). While the host waits in any call, it calls the
//          function set by on_host_progress(). Open MPI has a list of functions to call. MPICH
//          calls ucp_worker_progress() of UCX in all waits; this layer replaces that function.
// Why      A rank that waits in MPI_Recv must forward data of weft's calls; a rank that waits in
//          weft must answer the rendezvous of an MPI message. The layer cannot replace the host's
//          waits by polling nonblocking calls, because some calls have no nonblocking form.
// Next     layer.hpp.
#pragma once

#include <mpi.h>

namespace weft::mpi {

/// True if the layer is built for Open MPI, false for MPICH.
#if defined(OPEN_MPI)
inline constexpr bool kIsOpenMpi = true;
#else
inline constexpr bool kIsOpenMpi = false;
#endif

/// True if the function set by on_host_progress() may complete MPI requests under
/// MPI_THREAD_MULTIPLE. MPICH 4.0 calls it with a lock that the completion of a request needs.
inline constexpr bool kRequestsEndInProgress = kIsOpenMpi;

/// True if the first test after a barrier must see messages that were sent before the barrier. MPI
/// does not promise this, but MPICH's own barrier receives such messages and programs rely on it.
inline constexpr bool kBarriersDeliver = !kIsOpenMpi;

/// While an object exists, the host returns errors about invalid handles. It passes them to the
/// handler of MPI_COMM_WORLD or, in some versions, of MPI_COMM_SELF. Does nothing if the program
/// only uses sessions.
class ReturnedErrors {
  public:
    ReturnedErrors();
    ReturnedErrors(const ReturnedErrors&) = delete;
    ReturnedErrors& operator=(const ReturnedErrors&) = delete;
    ~ReturnedErrors();
    [[nodiscard]] bool has_world() const { return has_world_ != 0; }

  private:
    int has_world_ = 0;
    MPI_Errhandler handlers_[2] = {};
};

/// Drives the host's transfers. `comm`: a communicator without messages, for a probe of MPICH.
void drive_host(MPI_Comm comm);

/// Makes the host call `function` while it waits; nullptr ends that. Returns false if the host has
/// no such function: then started calls of weft progress only in calls of weft.
bool on_host_progress(int (*function)());

}  // namespace weft::mpi
