// SPDX-License-Identifier: BSD-3-Clause
// yield_ucx.cpp - a preload that makes MPI libraries over UCX give up their processor when they
// wait in vain.
//
// Idea     MPICH spins in ucp_worker_progress(). With more ranks than processors each wait then
//          lasts until the kernel takes the processor away, some milliseconds, and every figure
//          says only that. Here a call that found nothing to do yields.
// Holds    perf/compare preloads it only where ranks outnumber processors: elsewhere it would cost
//          the peer 0.2 us and more.
// Next     docs/performance.md.
#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
    using Progress = unsigned (*)(void*);
    static const auto next = reinterpret_cast<Progress>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
    if (next == nullptr) std::abort();  // preloaded into a program without UCX that calls it
    const unsigned done = next(worker);
    if (done == 0) sched_yield();
    return done;
}
