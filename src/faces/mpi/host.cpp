// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/host.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

namespace weft::mpi {

static constexpr int kHandlers = 2;
static MPI_Comm comm_of_handler(int index) {
    return index == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF;
}

ReturnedErrors::ReturnedErrors() {
    PMPI_Initialized(&has_world_);
    for (int i = 0; i < kHandlers && has_world(); ++i) {
        PMPI_Comm_get_errhandler(comm_of_handler(i), &handlers_[i]);
        PMPI_Comm_set_errhandler(comm_of_handler(i), MPI_ERRORS_RETURN);
    }
}

ReturnedErrors::~ReturnedErrors() {
    for (int i = 0; i < kHandlers && has_world(); ++i) {
        PMPI_Comm_set_errhandler(comm_of_handler(i), handlers_[i]);
        PMPI_Errhandler_free(&handlers_[i]);
    }
}

#if defined(OPEN_MPI)

template <class Function>
static Function symbol(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

void drive_host(MPI_Comm) {
    static const auto progress = symbol<void (*)()>("opal_progress");
    if (progress != nullptr) progress();
}

bool on_host_progress(int (*function)()) {
    using Register = int (*)(int (*)());
    static int (*registered)() = nullptr;
    const auto add = symbol<Register>("opal_progress_register");
    const auto remove = symbol<Register>("opal_progress_unregister");
    if (add == nullptr || remove == nullptr) return false;
    if (registered != nullptr) remove(registered);
    registered = function;
    return function == nullptr || add(function) == 0;
}

#else

// Relaxed: one thread stores the function; it does no harm if other threads see it later.
static std::atomic<int (*)()> on_progress{nullptr};

void drive_host(MPI_Comm comm) {
    int flag = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
}

bool on_host_progress(int (*function)()) {
    on_progress.store(function, std::memory_order_relaxed);
    return dlsym(RTLD_DEFAULT, "ucp_worker_create") != nullptr;  // this MPICH uses UCX
}

/// Replaces UCX's function of this name, which MPICH calls in all waits; calls UCX's function last.
extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
    using Progress = unsigned (*)(void*);
    static const auto next = reinterpret_cast<Progress>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
    if (next == nullptr) std::abort();  // called although UCX is not loaded
    if (int (*const function)() = on_progress.load(std::memory_order_relaxed)) function();
    return next(worker);
}

#endif

}  // namespace weft::mpi
