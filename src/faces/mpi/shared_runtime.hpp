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
#include <memory>
#include <mutex>
#include <vector>

#include "faces/mpi/host.hpp"
#include "faces/mpi/prepared.hpp"
#include "weft/weft.h"

namespace weft::mpi {

class SharedRuntime {
  public:
    static SharedRuntime& get();

    /// Starts the runtime. Collective over `world`, the communicator of all ranks. threads: this
    /// rank has MPI_THREAD_MULTIPLE. progress: weft and the host drive each other.
    void start_on(MPI_Comm world, bool threads, bool progress);
    [[nodiscard]] bool runs() const { return runtime_ != nullptr; }
    [[nodiscard]] bool refused() const { return refused_; }
    /// Ends the runtime and frees own().
    void end();
    /// Returns the communicator of all ranks that only the layer uses.
    [[nodiscard]] MPI_Comm own() const { return own_; }

    /// Returns the team of all ranks.
    [[nodiscard]] weft_team* world() const { return weft_world(runtime_); }
    /// Makes a team of the members of a communicator. All members call this; `members` are their
    /// ranks in own(). Returns nullptr on failure.
    [[nodiscard]] weft_team* make_team(MPI_Comm comm, const std::vector<int>& members);
    /// Drops a team (or nullptr) and lists of neighbors in teams, whose communicator the host has
    /// deleted, now or when no call is in progress.
    void drop(weft_team* team, std::shared_ptr<const void> lists);

    /// Makes a blocking call.
    [[nodiscard]] weft_status run(weft_team* team, PreparedCall& call);
    /// Finishes a call after run(). Returns MPI_SUCCESS, or the error that was passed to the
    /// communicator's error handler.
    int finish(PreparedCall& call, weft_status status);
    /// Starts a call and sets `request`. Returns as finish().
    int start(weft_team* team, std::shared_ptr<PreparedCall> call, MPI_Request* request);
    /// Starts a call for which the caller calls test() or wait(). Sets `request`, or leaves it null
    /// if the call is complete.
    [[nodiscard]] weft_status begin(weft_team* team, PreparedCall& call, weft_request*& request);
    /// Drives weft and the host. Returns true if the call has ended, and sets `status`.
    [[nodiscard]] bool test(weft_request*& request, weft_status& status);
    /// Waits for a call.
    [[nodiscard]] weft_status wait(weft_request*& request);
    /// Ends a call for which no one waits.
    void abandon(std::shared_ptr<PreparedCall> call, weft_request*& request);
    /// Calls the communicator's error handler, as MPI does. Returns the code.
    static int raise(MPI_Comm comm, int code);
    static int raise(MPI_Comm comm, weft_status status);
    /// Returns MPI's class for the failure that this thread's last call of weft returned.
    [[nodiscard]] static int error_class(weft_status status);
    /// Drives started calls. Returns the number of calls that have completed. The host may call it.
    int progress();
    /// Returns true if the host cannot complete the requests of started calls while it waits, and
    /// such calls are in flight: then only complete_ended() completes them.
    [[nodiscard]] bool must_complete() const {
        return (!hooked_ || (threaded_ && !kRequestsEndInProgress)) && has_started();
    }
    /// Returns true if started calls are in flight.
    [[nodiscard]] bool has_started() const {
        return started_count_.load(std::memory_order_relaxed) != 0;
    }
    /// Drives started calls, and completes the requests of those that have ended.
    void complete_ended();

  private:
    struct StartedCall {
        std::shared_ptr<PreparedCall> call;
        weft_request* request = nullptr;
        MPI_Request host_request = MPI_REQUEST_NULL;  ///< generalized request of the program
        int* error = nullptr;  ///< result of host_request, freed with it; nullptr: no request
    };
    using StartedCalls = std::list<StartedCall>;

    static int complete(StartedCalls& ended);
    void drop_pending_teams();
    static int share_among_members(void* comm, const void* mine, void* all, std::size_t bytes);

    bool threaded_ = false;
    bool progress_ = true;
    bool hooked_ = true;    ///< the host calls progress() while it waits
    bool refused_ = false;  ///< the runtime failed to start
    MPI_Comm own_ = MPI_COMM_NULL;
    weft_runtime* runtime_ = nullptr;
    struct Dropped {
        weft_team* team;
        std::shared_ptr<const void> lists;
    };
    std::vector<Dropped> pending_teams_;  ///< to drop when no call of weft is in progress
    StartedCalls started_;
    StartedCalls ended_;  ///< calls whose requests complete_ended() completes
    std::atomic<std::size_t> started_count_{0};  ///< size of started_ and ended_
    std::atomic<int> begun_count_{0};            ///< calls of begin() that are in flight
    unsigned idle_calls_ = 0;                    ///< calls of progress() without started calls
};

}  // namespace weft::mpi
