// SPDX-License-Identifier: BSD-3-Clause
// requests.hpp - persistent calls, and the host's functions that start, wait and test.
//
// Idea     A persistent call of weft has an inactive request of the host as its handle. Each start
//          makes a started call, with a generalized request of the host. The functions that take
//          requests replace the handle by this request, call the host, and set the handle back.
// Why      A generalized request cannot be started again. With threads, MPICH cannot complete
//          requests of weft while it waits, so the layer waits by tests (must_complete()).
// Holds    An inactive handle is replaced by MPI_REQUEST_NULL, which the host treats equally.
// Next     calls.cpp for the entries.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "faces/mpi/shared_runtime.hpp"

namespace weft::mpi {

class PersistentCalls {
  public:
    static PersistentCalls& get();

    /// Starts the call, as MPI_Start.
    using Start = std::function<int(MPI_Request* request)>;
    struct Call {
        MPI_Request handle = MPI_REQUEST_NULL;
        MPI_Request active = MPI_REQUEST_NULL;  ///< of the call in flight
        Start start;
    };

    /// Adds a call, and sets `request` to its handle. Returns MPI_SUCCESS or the host's error.
    int add(Start start, MPI_Request* request);
    /// Returns the call with this handle, or nullptr.
    [[nodiscard]] Call* find(MPI_Request handle);
    /// Frees a call; a call in flight goes on.
    int free(Call& call);
    [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

  private:
    std::mutex mutex_;
    std::atomic<std::size_t> count_{0};
    std::unordered_map<std::uint64_t, std::unique_ptr<Call>> calls_;
};

/// Replaces the handles of persistent calls in an array while it exists.
class ReplacedHandles {
  public:
    ReplacedHandles(int count, MPI_Request* requests);
    ~ReplacedHandles();
    ReplacedHandles(const ReplacedHandles&) = delete;
    ReplacedHandles& operator=(const ReplacedHandles&) = delete;

  private:
    std::vector<std::pair<MPI_Request*, PersistentCalls::Call*>> replaced_;
};

/// Calls a function of the host that waits for requests. test() makes one test, and returns true if
/// the wait is over; `result` is what test() sets.
template <class Wait, class Test>
int wait_for(int count, MPI_Request* requests, Wait wait, Test test) {
    SharedRuntime& runtime = SharedRuntime::get();
    const bool tests = runtime.must_complete();
    if (!tests && !PersistentCalls::get().any()) [[likely]]
        return wait();
    const ReplacedHandles replaced(count, requests);
    if (!tests) return wait();
    for (int result = MPI_SUCCESS;;) {
        runtime.complete_ended();
        if (test(result)) return result;
        sched_yield();
    }
}

/// Calls a function of the host that tests requests.
template <class Test>
int test_for(int count, MPI_Request* requests, Test test) {
    SharedRuntime& runtime = SharedRuntime::get();
    if (runtime.must_complete()) runtime.complete_ended();
    if (!PersistentCalls::get().any()) [[likely]]
        return test();
    const ReplacedHandles replaced(count, requests);
    return test();
}

}  // namespace weft::mpi
