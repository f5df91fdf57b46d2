// SPDX-License-Identifier: BSD-3-Clause
// requests.hpp - the host's functions that wait and test.
//
// Idea     A started call of weft has a generalized request of the host.
// Why      With threads, MPICH cannot complete requests of weft while it waits, so the layer waits
//          by tests (must_complete()).
// Next     requests.cpp for the entries.
#pragma once

#include <mpi.h>
#include <sched.h>

#include "faces/mpi/shared_runtime.hpp"

namespace weft::mpi {

/// Calls a function of the host that waits for requests. test() makes one test, and returns true if
/// the wait is over; `result` is what test() sets.
template <class Wait, class Test>
int wait_for(Wait wait, Test test) {
    SharedRuntime& runtime = SharedRuntime::get();
    if (!runtime.must_complete()) [[likely]]
        return wait();
    for (int result = MPI_SUCCESS;;) {
        runtime.complete_ended();
        if (test(result)) return result;
        sched_yield();
    }
}

/// Calls a function of the host that tests requests.
template <class Test>
int test_for(Test test) {
    SharedRuntime& runtime = SharedRuntime::get();
    if (runtime.must_complete()) runtime.complete_ended();
    return test();
}

}  // namespace weft::mpi
