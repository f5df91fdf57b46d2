// SPDX-License-Identifier: BSD-3-Clause
// yield_ucx.cpp - preloaded library that makes MPI libraries over UCX yield their processor
// while they wait.
//
// Idea     MPICH spins in ucp_worker_progress(). If ranks outnumber processors, each wait then
//          takes some milliseconds, until the kernel preempts the spinning rank. Such waits
//          dominate all measured times. This library yields after each call without progress.
// Holds    perf/compare preloads it only if ranks outnumber processors; otherwise it would slow the
//          peer by at least 0.2 us in each call.
// Next     docs/performance.md.
#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
    using Progress = unsigned (*)(void*);
    static const auto next = reinterpret_cast<Progress>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
    if (next == nullptr) std::abort();  // the program has no UCX
    const unsigned done = next(worker);
    if (done == 0) sched_yield();
    return done;
}
