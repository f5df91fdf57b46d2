// SPDX-License-Identifier: BSD-3-Clause
// requests.hpp - persistent calls, and the host's functions that start, wait and test.
//
// Idea     A persistent call of weft has an inactive request of the host as its handle. The layer
//          waits for such a call itself; then the host completes the inactive handle at once, with
//          the status that MPI requires. A started call of weft has a generalized request, for
//          which the host waits.
// Why      A generalized request cannot be started again.
//          With threads, MPICH cannot complete requests of weft while it waits, so the layer waits
//          by tests (must_complete()).
// Holds    A function that takes several requests completes calls of weft first.
// Next     layer.hpp for lanes; calls.cpp for the entries that make persistent calls.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <memory>

#include "faces/mpi/handle_map.hpp"
#include "faces/mpi/shared_runtime.hpp"

namespace weft::mpi {

/// A team for started calls of a communicator, or for one persistent call at a time.
struct Lane {
    weft_team* const team;
    std::atomic<int>& count;          ///< lanes of this rank
    std::atomic<bool> taken = false;  ///< by a persistent call

    Lane(weft_team* made, std::atomic<int>& lanes) : team(made), count(lanes) { ++count; }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    ~Lane() {
        --count;
        SharedRuntime::get().drop(team, nullptr);
    }
};

/// A persistent call. Functions return MPI_SUCCESS or the call's error.
class PersistentCall {
  public:
    PersistentCall(std::shared_ptr<PreparedCall> call, std::shared_ptr<Lane> lane)
        : call_(std::move(call)), lane_(std::move(lane)) {}
    PersistentCall(PersistentCall&&) = default;

    int start();
    /// Returns true from start() until the program has waited for the call.
    [[nodiscard]] bool active() const { return active_; }
    /// Drives weft and the host. Returns true if an active call has ended.
    [[nodiscard]] bool ended();
    /// Waits until the call is no longer active.
    int wait();
    /// Gives the lane back, unless the call is in flight; such a call goes on.
    void free();

  private:
    void end(weft_status status);

    std::shared_ptr<PreparedCall> call_;
    std::shared_ptr<Lane> lane_;  ///< nullptr on one rank
    weft_request* request_ = nullptr;
    bool active_ = false;
    int error_ = MPI_SUCCESS;
};

/// The persistent calls of the program, by the handles of their requests.
class PersistentCalls {
  public:
    static PersistentCalls& get();

    /// Adds a call and sets `request`. Returns MPI_SUCCESS or the host's error.
    int add(std::shared_ptr<PreparedCall> call, std::shared_ptr<Lane> lane, MPI_Request* request);
    /// Returns nullptr for other requests.
    [[nodiscard]] PersistentCall* find(MPI_Request handle);
    void remove(MPI_Request handle);
    [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

  private:
    std::atomic<std::size_t> count_{0};  ///< relaxed: the owner of a handle knows that it exists
    HandleMap<MPI_Request, PersistentCall> calls_;  ///< guarded by tables_mutex
};

}  // namespace weft::mpi
