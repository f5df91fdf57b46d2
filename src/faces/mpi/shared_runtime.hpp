// SPDX-License-Identifier: BSD-3-Clause
// shared_runtime.hpp - the runtime of weft in an MPI program, for all its threads.
//
// Idea     A thread has the runtime while it holds a Turn. While weft waits, it drives the host;
//          while the host waits, it calls progress(), which drives started calls (host.hpp). A
//          started call is a generalized request of the host, which the program waits for.
// Holds    Functions called by the host never enter weft again on the same thread. Under
//          MPI_THREAD_MULTIPLE no thread keeps the runtime while it waits.
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
    /// Exchange `join`: all ranks of the world call it, in the same blocking call or in calls of
    /// several threads. Returns true if the runtime runs.
    bool join();
    [[nodiscard]] bool runs() const { return runtime_ != nullptr; }
    [[nodiscard]] bool refused() const { return refused_; }
    /// Ends the runtime and frees own().
    void end();
    /// Returns the duplicate of MPI_COMM_WORLD that only the layer uses.
    [[nodiscard]] MPI_Comm own() const { return own_; }

    /// Makes the team of a communicator whose members are all in this call; `members` are their
    /// ranks in MPI_COMM_WORLD. Returns nullptr on failure.
    [[nodiscard]] weft_team* make_team(MPI_Comm comm, const std::vector<int>& members);
    /// Drops a team whose communicator the host has deleted, now or when no call is in progress.
    void drop(weft_team* team);

    /// Makes a blocking call. Returns MPI_SUCCESS, or the error that the communicator's error
    /// handler got.
    int run(weft_team* team, PreparedCall& call);
    int start(weft_team* team, PreparedCall call, MPI_Request* request);
    /// Drives started calls. Returns the number of calls that have completed.
    int progress();

  private:
    /// Exclusive use of weft by this thread.
    class Turn {
      public:
        explicit Turn(SharedRuntime& runtime);
        Turn(SharedRuntime& runtime, std::try_to_lock_t);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        [[nodiscard]] bool taken() const { return taken_; }

      private:
        SharedRuntime& runtime_;
        bool taken_ = true;
    };
    struct StartedCall {
        PreparedCall call;
        weft_request* request = nullptr;
        MPI_Request hosts = MPI_REQUEST_NULL;  ///< request that the program waits for
        int* error = nullptr;                  ///< result of the host's request, freed with it
    };
    using StartedCalls = std::list<StartedCall>;

    weft_status run_shared(weft_team* team, PreparedCall& call);
    void drop_late();
    static int exchange(void* comm, const void* mine, void* all, std::size_t bytes);
    static int share_among_members(void* comm, const void* mine, void* all, std::size_t bytes);

    bool threaded_ = false;
    bool progress_ = true;
    bool refused_ = false;  ///< the runtime failed to start
    MPI_Comm own_ = MPI_COMM_NULL;
    weft_runtime* runtime_ = nullptr;
    std::mutex join_mutex_;
    std::mutex turn_mutex_;
    std::vector<weft_team*> late_teams_;  ///< to drop when no call of weft is in progress
    StartedCalls started_;
    std::atomic<std::size_t> started_count_{0};
    unsigned idle_looks_ = 0;
};

}  // namespace weft::mpi
