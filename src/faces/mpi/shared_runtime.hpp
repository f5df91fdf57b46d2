// SPDX-License-Identifier: BSD-3-Clause
// shared_runtime.hpp - the runtime of weft in an MPI program, shared by the program's threads.
//
// Idea     A thread uses the runtime while it holds a RuntimeLock. While weft waits, it drives the
//          host; while the host waits, it calls progress(), which drives started calls (host.hpp).
//          For each started call, the program gets a generalized request of the host to wait for.
// Holds    Functions that the host calls never enter weft again on the same thread. Under
//          MPI_THREAD_MULTIPLE no thread keeps the RuntimeLock while it waits.
// Next     layer.hpp, which decides about calls; prepared.hpp for the calls.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <list>
#include <mutex>
#include <vector>

#include "faces/mpi/prepared.hpp"
#include "weft/weft.h"

namespace weft::mpi {

class SharedRuntime {
  public:
    static SharedRuntime& get();

    /// Called in MPI_Init. threads: this rank has MPI_THREAD_MULTIPLE. progress: weft and the host
    /// drive each other.
    void prepare(bool threads, bool progress);
    /// Starts the runtime in the first call. All ranks of MPI_COMM_WORLD call this.
    void join();
    [[nodiscard]] bool runs() const { return runtime_ != nullptr; }
    [[nodiscard]] bool refused() const { return refused_; }
    /// Ends the runtime and frees own().
    void end();
    /// Returns the duplicate of MPI_COMM_WORLD that only the layer uses.
    [[nodiscard]] MPI_Comm own() const { return own_; }

    /// Makes the team of a communicator, or returns that of MPI_COMM_WORLD. All members call this;
    /// `members` are their ranks in MPI_COMM_WORLD. Returns nullptr on failure.
    [[nodiscard]] weft_team* make_team(MPI_Comm comm, const std::vector<int>& members);
    /// Drops a team whose communicator the host has deleted, now or when no call is in progress.
    void drop(weft_team* team);

    /// Makes a blocking call. Returns MPI_SUCCESS, or the error that was passed to the
    /// communicator's error handler.
    int run(weft_team* team, PreparedCall& call);
    /// Starts a call and sets `request`. Returns as run().
    int start(weft_team* team, PreparedCall call, MPI_Request* request);
    /// Drives started calls. Returns the number of calls that have completed.
    int progress();

  private:
    struct StartedCall {
        PreparedCall call;
        weft_request* request = nullptr;
        MPI_Request host_request = MPI_REQUEST_NULL;  ///< generalized request of the program
        int* error = nullptr;                         ///< result of host_request, freed with it
    };
    using StartedCalls = std::list<StartedCall>;

    weft_status run_shared(weft_team* team, PreparedCall& call);
    void drop_pending_teams();
    static int share_among_members(void* comm, const void* mine, void* all, std::size_t bytes);

    bool threaded_ = false;
    bool progress_ = true;
    bool refused_ = false;  ///< the runtime failed to start
    MPI_Comm own_ = MPI_COMM_NULL;
    weft_runtime* runtime_ = nullptr;
    std::mutex join_mutex_;
    std::vector<weft_team*> pending_teams_;  ///< to drop when no call of weft is in progress
    StartedCalls started_;
    std::atomic<std::size_t> started_count_{0};
    unsigned idle_calls_ = 0;  ///< calls of progress() without started calls
};

}  // namespace weft::mpi
