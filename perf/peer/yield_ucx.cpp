// SPDX-License-Identifier: BSD-3-Clause
// yield_ucx.cpp - preloaded library that makes MPI libraries over UCX yield their processor
// while they wait.
//
// Idea     MPICH spins in ucp_worker_progress(). If ranks outnumber processors, each wait then
//          lasts some milliseconds, until the kernel preempts the rank, and that dominates every
//          figure. Here a call without progress yields.
// Holds    perf/compare preloads it only if ranks outnumber processors; otherwise it would cost the
//          peer at least 0.2 us.
// Next     docs/performance.md.
#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
    using Progress = unsigned (*)(void*);
    static const auto next = reinterpret_cast<Progress>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
    if (next == nullptr) std::abort();  // preloaded into a program that calls it without UCX
    const unsigned done = next(worker);
    if (done == 0) sched_yield();
    return done;
}
