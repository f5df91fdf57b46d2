// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/requests.hpp"

#include <sched.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace weft::mpi {

// --- persistent calls ----------------------------------------------------------------------------

int PersistentCall::start() {
    error_ = MPI_SUCCESS;
    weft_team* const team = lane_ == nullptr ? nullptr : lane_->team;
    const weft_status status = SharedRuntime::get().begin(team, *call_, request_);
    active_ = status == WEFT_OK;
    if (status != WEFT_OK) return SharedRuntime::raise(call_->comm(), status);
    if (request_ == nullptr) end(WEFT_OK);
    return MPI_SUCCESS;
}

void PersistentCall::end(weft_status status) {
    request_ = nullptr;
    error_ = status == WEFT_OK ? call_->finish() : SharedRuntime::error_class(status);
}

bool PersistentCall::ended() {
    weft_status status = WEFT_OK;
    if (active_ && request_ != nullptr && SharedRuntime::get().test(request_, status)) end(status);
    return active_ && request_ == nullptr;
}

int PersistentCall::wait() {
    if (!active_) return MPI_SUCCESS;
    if (request_ != nullptr) end(SharedRuntime::get().wait(request_));
    active_ = false;
    return error_ == MPI_SUCCESS ? error_ : SharedRuntime::raise(call_->comm(), error_);
}

void PersistentCall::free() {
    SharedRuntime& runtime = SharedRuntime::get();
    if (request_ != nullptr)
        runtime.abandon(std::move(call_), request_);  // the call still uses the lane's team
    else if (lane_ != nullptr)
        lane_->taken = false;
    runtime.drop(nullptr, std::move(call_));
}

PersistentCalls& PersistentCalls::get() {
    static PersistentCalls& only = *new PersistentCalls;  // not destroyed: see Layer::get()
    return only;
}

int PersistentCalls::add(std::shared_ptr<PreparedCall> call, std::shared_ptr<Lane> lane,
                         MPI_Request* request) {
    const int error = PMPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, own_comm, request);
    if (error != MPI_SUCCESS) return error;
    const std::lock_guard lock(tables_mutex);
    calls_.add(*request, PersistentCall(std::move(call), std::move(lane)));
    count_.fetch_add(1, std::memory_order_relaxed);
    return MPI_SUCCESS;
}

PersistentCall* PersistentCalls::find(MPI_Request handle) {
    if (!any()) return nullptr;
    const std::lock_guard lock(tables_mutex);
    return calls_.find(handle);
}

void PersistentCalls::remove(MPI_Request handle) {
    // Destroyed without tables_mutex: its lane may wait for the runtime, whose user may need it.
    std::optional<PersistentCall> removed;
    const std::lock_guard lock(tables_mutex);
    if (PersistentCall* const call = calls_.find(handle)) removed.emplace(std::move(*call));
    calls_.remove(handle);
    count_.fetch_sub(1, std::memory_order_relaxed);
}

namespace {

/// Calls act(index, call) for each request that is a call of weft; stops when act returns true.
template <class Act>
void for_each_call(int count, const MPI_Request* requests, Act act) {
    if (!PersistentCalls::get().any() || requests == nullptr) return;
    for (int i = 0; i < count; ++i)
        if (PersistentCall* const call = PersistentCalls::get().find(requests[i]))
            if (act(i, *call)) return;
}

PersistentCall* find_call(const MPI_Request* request) {
    return request == nullptr ? nullptr : PersistentCalls::get().find(*request);
}

bool any_active(int count, const MPI_Request* requests) {
    bool any = false;
    for_each_call(count, requests,
                  [&](int, const PersistentCall& call) { return any = call.active(); });
    return any;
}

/// Waits for the persistent calls of weft among the requests. Returns the first error.
int wait_for_calls(int count, const MPI_Request* requests) {
    int first = MPI_SUCCESS;
    for_each_call(count, requests, [&](int, PersistentCall& call) {
        if (const int error = call.wait(); first == MPI_SUCCESS) first = error;
        return false;
    });
    return first;
}

/// Returns true if PMPI_Waitall would abort: MPICH refuses MPI_REQUEST_NULL together with a
/// generalized request that has not completed.
bool waitall_aborts(int count, const MPI_Request* requests) {
    return !kIsOpenMpi && SharedRuntime::get().has_started() && requests != nullptr &&
           std::find(requests, requests + count, MPI_REQUEST_NULL) != requests + count;
}

/// Sets the empty status of an inactive request. Passes `error` through.
int set_status(MPI_Request& request, MPI_Status* status, int error) {
    int done = 0;
    if (status != MPI_STATUS_IGNORE) PMPI_Test(&request, &done, status);
    return error;
}

/// Calls wait(args..., statuses), a blocking function of the host. If `must_poll`, or if the layer
/// must complete requests itself, calls test(args..., &done, statuses) until `done` is set.
template <class Wait, class Test, class Status, class... Args>
int wait_for(bool must_poll, Wait wait, Test test, Status* statuses, Args... args) {
    SharedRuntime& runtime = SharedRuntime::get();
    if (!must_poll && !runtime.must_complete()) [[likely]]
        return wait(args..., statuses);
    for (int done = 0;; sched_yield()) {
        if (runtime.must_complete()) runtime.complete_ended();
        const int result = test(args..., &done, statuses);
        if (done != 0 || result != MPI_SUCCESS) return result;
    }
}

/// Completes requests whose calls have ended, if the layer must, then calls a test of the host.
template <class Test>
int test_for(Test test) {
    SharedRuntime& runtime = SharedRuntime::get();
    if (runtime.must_complete()) runtime.complete_ended();
    return test();
}

}  // namespace

#define WEFT_MPI_ENTRY extern "C" __attribute__((visibility("default"))) int

// --- starting ------------------------------------------------------------------------------------

WEFT_MPI_ENTRY MPI_Start(MPI_Request* request) {
    PersistentCall* const call = find_call(request);
    return call == nullptr ? PMPI_Start(request) : call->start();
}
WEFT_MPI_ENTRY MPI_Startall(int count, MPI_Request* requests) {
    if (!PersistentCalls::get().any() || requests == nullptr) return PMPI_Startall(count, requests);
    for (int i = 0; i < count; ++i)
        if (const int error = MPI_Start(&requests[i]); error != MPI_SUCCESS) return error;
    return MPI_SUCCESS;
}
WEFT_MPI_ENTRY MPI_Request_free(MPI_Request* request) {
    if (PersistentCall* const call = find_call(request)) {
        call->free();
        PersistentCalls::get().remove(*request);
    }
    return PMPI_Request_free(request);
}

// --- waiting and testing -------------------------------------------------------------------------

WEFT_MPI_ENTRY MPI_Wait(MPI_Request* request, MPI_Status* status) {
    if (PersistentCall* const call = find_call(request))
        return set_status(*request, status, call->wait());
    return wait_for(false, PMPI_Wait, PMPI_Test, status, request);
}
WEFT_MPI_ENTRY MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    const int error = wait_for_calls(count, requests);
    const int result = wait_for(waitall_aborts(count, requests), PMPI_Waitall, PMPI_Testall,
                                statuses, count, requests);
    return error == MPI_SUCCESS ? result : error;
}
WEFT_MPI_ENTRY MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    return wait_for(any_active(count, requests), PMPI_Waitany, MPI_Testany, status, count, requests,
                    index);
}
WEFT_MPI_ENTRY MPI_Waitsome(int count, MPI_Request* requests, int* ended_count, int* indices,
                            MPI_Status* statuses) {
    const auto test = [](int n, MPI_Request* list, int* ended, int* at, int* any, MPI_Status* out) {
        const int result = MPI_Testsome(n, list, ended, at, out);
        *any = *ended;
        return result;
    };
    return wait_for(any_active(count, requests), PMPI_Waitsome, test, statuses, count, requests,
                    ended_count, indices);
}
WEFT_MPI_ENTRY MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
    PersistentCall* const call = find_call(request);
    if (call == nullptr) return test_for([&] { return PMPI_Test(request, done, status); });
    *done = call->active() && !call->ended() ? 0 : 1;
    return *done == 0 ? MPI_SUCCESS : set_status(*request, status, call->wait());
}
WEFT_MPI_ENTRY MPI_Testall(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
    bool in_flight = false;
    for_each_call(count, requests, [&](int, PersistentCall& call) {
        in_flight |= call.active() && !call.ended();
        return false;
    });
    *done = 0;
    if (in_flight) return MPI_SUCCESS;
    const int result = test_for([&] { return PMPI_Testall(count, requests, done, statuses); });
    return result != MPI_SUCCESS || *done == 0 ? result : wait_for_calls(count, requests);
}
WEFT_MPI_ENTRY MPI_Testany(int count, MPI_Request* requests, int* index, int* done,
                           MPI_Status* status) {
    const bool active = any_active(count, requests);
    PersistentCall* ended = nullptr;
    for_each_call(count, requests, [&](int i, PersistentCall& call) {
        if (!call.ended()) return false;
        ended = &call;
        *index = i;
        *done = 1;
        return true;
    });
    if (ended != nullptr) return set_status(requests[*index], status, ended->wait());
    const int result = test_for([&] { return PMPI_Testany(count, requests, index, done, status); });
    if (active && *index == MPI_UNDEFINED) *done = 0;
    return result;
}
WEFT_MPI_ENTRY MPI_Testsome(int count, MPI_Request* requests, int* ended_count, int* indices,
                            MPI_Status* statuses) {
    const bool active = any_active(count, requests);
    int result =
        test_for([&] { return PMPI_Testsome(count, requests, ended_count, indices, statuses); });
    if (active && *ended_count == MPI_UNDEFINED) *ended_count = 0;
    for_each_call(count, requests, [&](int i, PersistentCall& call) {
        if (!call.ended()) return false;
        MPI_Status* const status =
            statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*ended_count];
        indices[(*ended_count)++] = i;
        if (const int error = set_status(requests[i], status, call.wait()); result == MPI_SUCCESS)
            result = error;
        return false;
    });
    return result;
}
WEFT_MPI_ENTRY MPI_Request_get_status(MPI_Request request, int* done, MPI_Status* status) {
    PersistentCall* const call = find_call(&request);
    *done = 0;
    if (call != nullptr && call->active() && !call->ended()) return MPI_SUCCESS;
    return test_for([&] { return PMPI_Request_get_status(request, done, status); });
}

}  // namespace weft::mpi
