// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/requests.hpp"

#include "faces/mpi/handle_map.hpp"

namespace weft::mpi {

PersistentCalls& PersistentCalls::get() {
    static PersistentCalls& only = *new PersistentCalls;  // not destroyed: see Layer::get()
    return only;
}

int PersistentCalls::add(Start start, MPI_Request* request) {
    auto call = std::make_unique<Call>();
    const int error =
        PMPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, packing_comm, &call->handle);
    if (error != MPI_SUCCESS) return error;
    call->start = std::move(start);
    *request = call->handle;
    const std::lock_guard lock(mutex_);
    calls_[number_of(call->handle)] = std::move(call);
    count_.store(calls_.size(), std::memory_order_relaxed);
    return MPI_SUCCESS;
}

PersistentCalls::Call* PersistentCalls::find(MPI_Request handle) {
    if (!any()) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(number_of(handle));
    return found == calls_.end() ? nullptr : found->second.get();
}

int PersistentCalls::free(Call& call) {
    if (call.active != MPI_REQUEST_NULL) PMPI_Request_free(&call.active);
    MPI_Request handle = call.handle;
    {
        const std::lock_guard lock(mutex_);
        calls_.erase(number_of(handle));
        count_.store(calls_.size(), std::memory_order_relaxed);
    }
    return PMPI_Request_free(&handle);
}

ReplacedHandles::ReplacedHandles(int count, MPI_Request* requests) {
    PersistentCalls& calls = PersistentCalls::get();
    if (!calls.any() || requests == nullptr) return;
    for (int i = 0; i < count; ++i)
        if (PersistentCalls::Call* const call = calls.find(requests[i])) {
            replaced_.emplace_back(&requests[i], call);
            requests[i] = call->active;
        }
}

ReplacedHandles::~ReplacedHandles() {
    for (const auto& [request, call] : replaced_) {
        call->active = *request;
        *request = call->handle;
    }
}

}  // namespace weft::mpi

#define WEFT_MPI_ENTRY extern "C" __attribute__((visibility("default"))) int

using weft::mpi::PersistentCalls;
using weft::mpi::test_for;
using weft::mpi::wait_for;

// --- starting ------------------------------------------------------------------------------------

WEFT_MPI_ENTRY MPI_Start(MPI_Request* request) {
    PersistentCalls::Call* const call =
        request == nullptr ? nullptr : PersistentCalls::get().find(*request);
    return call == nullptr ? PMPI_Start(request) : call->start(&call->active);
}
WEFT_MPI_ENTRY MPI_Startall(int count, MPI_Request* requests) {
    if (!PersistentCalls::get().any() || requests == nullptr) return PMPI_Startall(count, requests);
    for (int i = 0; i < count; ++i)
        if (const int error = MPI_Start(&requests[i]); error != MPI_SUCCESS) return error;
    return MPI_SUCCESS;
}
WEFT_MPI_ENTRY MPI_Request_free(MPI_Request* request) {
    PersistentCalls::Call* const call =
        request == nullptr ? nullptr : PersistentCalls::get().find(*request);
    if (call == nullptr) return PMPI_Request_free(request);
    *request = MPI_REQUEST_NULL;
    return PersistentCalls::get().free(*call);
}

// --- waiting and testing -------------------------------------------------------------------------

WEFT_MPI_ENTRY MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return wait_for(
        1, request, [&] { return PMPI_Wait(request, status); },
        [&](int& result) {
            int done = 0;
            result = PMPI_Test(request, &done, status);
            return done != 0 || result != MPI_SUCCESS;
        });
}
WEFT_MPI_ENTRY MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    return wait_for(
        count, requests, [&] { return PMPI_Waitall(count, requests, statuses); },
        [&](int& result) {
            int done = 0;
            result = PMPI_Testall(count, requests, &done, statuses);
            return done != 0 || result != MPI_SUCCESS;
        });
}
WEFT_MPI_ENTRY MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    return wait_for(
        count, requests, [&] { return PMPI_Waitany(count, requests, index, status); },
        [&](int& result) {
            int done = 0;
            result = PMPI_Testany(count, requests, index, &done, status);
            return done != 0 || result != MPI_SUCCESS;
        });
}
WEFT_MPI_ENTRY MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices,
                            MPI_Status* statuses) {
    return wait_for(
        count, requests, [&] { return PMPI_Waitsome(count, requests, done, indices, statuses); },
        [&](int& result) {
            result = PMPI_Testsome(count, requests, done, indices, statuses);
            return *done != 0 || result != MPI_SUCCESS;
        });
}
WEFT_MPI_ENTRY MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
    return test_for(1, request, [&] { return PMPI_Test(request, done, status); });
}
WEFT_MPI_ENTRY MPI_Testall(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
    return test_for(count, requests, [&] { return PMPI_Testall(count, requests, done, statuses); });
}
WEFT_MPI_ENTRY MPI_Testany(int count, MPI_Request* requests, int* index, int* done,
                           MPI_Status* status) {
    return test_for(count, requests,
                    [&] { return PMPI_Testany(count, requests, index, done, status); });
}
WEFT_MPI_ENTRY MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices,
                            MPI_Status* statuses) {
    return test_for(count, requests,
                    [&] { return PMPI_Testsome(count, requests, done, indices, statuses); });
}
WEFT_MPI_ENTRY MPI_Request_get_status(MPI_Request request, int* done, MPI_Status* status) {
    return test_for(1, &request, [&] { return PMPI_Request_get_status(request, done, status); });
}
