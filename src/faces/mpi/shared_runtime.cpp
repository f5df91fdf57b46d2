// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/shared_runtime.hpp"

#include <sched.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "faces/mpi/host.hpp"

namespace weft::mpi {

namespace {

/// True while this thread is in a call of weft, which functions of host.hpp must not enter again.
thread_local bool inside_weft __attribute__((tls_model("initial-exec"))) = false;

/// True while this thread is in progress(): the host may have called it with locks that the host's
/// functions need.
thread_local bool inside_host __attribute__((tls_model("initial-exec"))) = false;

/// Held by the thread that uses the runtime, if the program has several threads.
std::mutex runtime_mutex;

/// Marks this thread as inside weft. threads: also holds runtime_mutex. waits: if false and another
/// call uses the runtime, does not wait; owned() is then false.
class RuntimeLock {
  public:
    explicit RuntimeLock(bool threads, bool waits = true) {
        if (!waits && inside_weft) return;
        if (threads && waits) lock_ = std::unique_lock(runtime_mutex);
        if (threads && !waits) lock_ = std::unique_lock(runtime_mutex, std::try_to_lock);
        owned_ = !threads || lock_.owns_lock();
        if (owned_) inside_weft = true;
    }
    ~RuntimeLock() {
        if (owned_) inside_weft = false;
    }
    RuntimeLock(const RuntimeLock&) = delete;
    RuntimeLock& operator=(const RuntimeLock&) = delete;
    [[nodiscard]] bool owned() const { return owned_; }

  private:
    bool owned_ = false;
    std::unique_lock<std::mutex> lock_;
};

int query_started(void* error, MPI_Status* status) {
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return *static_cast<int*>(error);
}
int free_started(void* error) {
    delete static_cast<int*>(error);
    return MPI_SUCCESS;
}

/// Allgather of weft_bootstrap on a communicator. Returns 0 (MPI_SUCCESS) or the host's error.
int exchange(void* comm, const void* mine, void* all, std::size_t bytes) {
    const int count = static_cast<int>(bytes);
    return PMPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE,
                          *static_cast<MPI_Comm*>(comm));
}

/// Request of the barrier in which the ranks leave the job.
MPI_Request barrier = MPI_REQUEST_NULL;

}  // namespace

/// Calls of different sizes are those of a member that sends more or less than another expects.
int SharedRuntime::error_class(weft_status status) {
    if (status == WEFT_ERR_ARGUMENT)
        return std::strstr(weft_last_error(), "ranks disagree") != nullptr ? MPI_ERR_TRUNCATE
                                                                           : MPI_ERR_ARG;
    return status == WEFT_ERR_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
}

int SharedRuntime::raise(MPI_Comm comm, int code) {
    PMPI_Comm_call_errhandler(comm, code);
    return code;
}
int SharedRuntime::raise(MPI_Comm comm, weft_status status) {
    std::fprintf(stderr, "weft: %s\n", weft_last_error());
    return raise(comm, error_class(status));
}

SharedRuntime& SharedRuntime::get() {
    static SharedRuntime& only = *new SharedRuntime;  // not destroyed: see Layer::get()
    return only;
}

/// Allgather that makes a team. Releases the runtime during the exchange: other members may still
/// be in earlier calls of weft, and need data that this rank forwards.
int SharedRuntime::share_among_members(void* comm, const void* mine, void* all, std::size_t bytes) {
    const bool threads = get().threaded_;
    inside_weft = false;
    if (threads) runtime_mutex.unlock();
    const int failed = exchange(comm, mine, all, bytes);
    if (threads) runtime_mutex.lock();
    inside_weft = true;
    return failed;
}

void SharedRuntime::start_on(MPI_Comm world, bool threads, bool progress) {
    threaded_ = threads;
    progress_ = progress;
    PMPI_Comm_dup(world, &own_);
    weft_bootstrap bootstrap{};
    bootstrap.struct_bytes = sizeof bootstrap;
    PMPI_Comm_rank(own_, &bootstrap.rank);
    PMPI_Comm_size(own_, &bootstrap.size);
    bootstrap.arg = &own_;
    bootstrap.allgather = exchange;
    bootstrap.barrier_start = [](void* comm) {
        return PMPI_Ibarrier(*static_cast<MPI_Comm*>(comm), &barrier);
    };
    bootstrap.barrier_test = [](void*, int* done) {
        return PMPI_Test(&barrier, done, MPI_STATUS_IGNORE);
    };
    bootstrap.abort = [](void* comm, int status, const char* text) {
        std::fprintf(stderr, "weft: %s\n", text);
        PMPI_Abort(*static_cast<MPI_Comm*>(comm), status);
    };
    if (weft_init_with(&bootstrap, &runtime_) != WEFT_OK) {
        runtime_ = nullptr;
        refused_ = true;
        if (bootstrap.rank == 0)
            std::fprintf(stderr, "weft: collectives stay with MPI: %s\n", weft_last_error());
        return;
    }
    if (!progress_) return;
    weft_on_progress(
        runtime_,
        [](void* comm) {
            if (!inside_host) drive_host(*static_cast<MPI_Comm*>(comm));
        },
        &own_);
    hooked_ = on_host_progress([] { return get().progress(); });
}

void SharedRuntime::end() {
    if (runtime_ != nullptr) {
        on_host_progress(nullptr);
        drop_pending_teams();
        if (weft_finalize(std::exchange(runtime_, nullptr)) != WEFT_OK)
            std::fprintf(stderr, "weft: %s\n", weft_last_error());
    }
    if (own_ != MPI_COMM_NULL) PMPI_Comm_free(&own_);
}

// --- teams ---------------------------------------------------------------------------------------

weft_team* SharedRuntime::make_team(MPI_Comm comm, const std::vector<int>& members) {
    drop_pending_teams();
    const RuntimeLock lock(threaded_);
    weft_team* team = nullptr;
    const auto size = static_cast<int>(members.size());
    const weft_status status =
        weft_team_create(runtime_, members.data(), size, share_among_members, &comm, &team);
    return status == WEFT_OK ? team : nullptr;
}

/// The host deletes a freed communicator when its last message has completed. This may happen while
/// weft drives the host in a wait, where no team can be dropped.
void SharedRuntime::drop(weft_team* team, std::shared_ptr<const void> lists) {
    if (runtime_ == nullptr || (team == nullptr && lists == nullptr)) return;
    {
        const std::lock_guard lock(tables_mutex);
        pending_teams_.push_back({team, std::move(lists)});
    }
    if (!inside_weft && !inside_host) drop_pending_teams();
}

/// Releases tables_mutex before it waits for the runtime, whose user may need the tables.
void SharedRuntime::drop_pending_teams() {
    std::vector<Dropped> teams;
    {
        const std::lock_guard lock(tables_mutex);
        teams.swap(pending_teams_);
    }
    const RuntimeLock lock(threaded_);
    for (Dropped& one : teams) {
        one.lists.reset();
        if (one.team != nullptr) weft_team_drop(one.team);
    }
}

// --- calls ---------------------------------------------------------------------------------------

weft_status SharedRuntime::run(weft_team* team, PreparedCall& call) {
    weft_request* request = nullptr;
    inside_weft = !threaded_;  // else set by RuntimeLock
    weft_status status = threaded_ ? begin(team, call, request) : call.run(team);
    inside_weft = false;
    if (threaded_ && status == WEFT_OK && request != nullptr) status = wait(request);
    return status;
}

int SharedRuntime::finish(PreparedCall& call, weft_status status) {
    if (status != WEFT_OK) [[unlikely]]
        return raise(call.comm(), status);
    // See kBarriersDeliver: messages that were sent before the barrier must be visible after it.
    if (kBarriersDeliver && call.kind() == CallKind::barrier && progress_ && own_ != MPI_COMM_NULL)
        drive_host(own_);
    if (const int error = call.finish(); error != MPI_SUCCESS) [[unlikely]]
        return raise(call.comm(), error);
    return MPI_SUCCESS;
}

weft_status SharedRuntime::begin(weft_team* team, PreparedCall& call, weft_request*& request) {
    const RuntimeLock lock(threaded_);
    const weft_status status = call.run(team, &request);
    if (request != nullptr) begun_count_.fetch_add(1, std::memory_order_relaxed);
    return status;
}

bool SharedRuntime::test(weft_request*& request, weft_status& status) {
    int done = 0;
    {
        const RuntimeLock lock(threaded_);
        status = weft_test(&request, &done);
        if (status != WEFT_OK) done = 1;
    }
    if (done != 0) begun_count_.fetch_sub(1, std::memory_order_relaxed);
    if (done == 0 && threaded_) drive_host(own_);
    return done != 0;
}

/// With several threads, others may use the runtime between tests.
weft_status SharedRuntime::wait(weft_request*& request) {
    weft_status status = WEFT_OK;
    if (threaded_) {
        while (!test(request, status)) sched_yield();
        return status;
    }
    const RuntimeLock lock(false);
    status = weft_wait(&request);
    begun_count_.fetch_sub(1, std::memory_order_relaxed);
    return status;
}

void SharedRuntime::abandon(std::shared_ptr<PreparedCall> call, weft_request*& request) {
    const RuntimeLock lock(threaded_);
    started_.push_back({.call = std::move(call), .request = std::exchange(request, nullptr)});
    begun_count_.fetch_sub(1, std::memory_order_relaxed);
    started_count_.store(started_.size() + ended_.size(), std::memory_order_relaxed);
}

int SharedRuntime::start(weft_team* team, std::shared_ptr<PreparedCall> call,
                         MPI_Request* request) {
    StartedCalls started;
    StartedCall& made = started.emplace_back(StartedCall{.call = std::move(call)});
    weft_status status = WEFT_OK;
    {
        const RuntimeLock lock(threaded_);
        status = made.call->run(team, &made.request);
    }
    if (status != WEFT_OK) return raise(made.call->comm(), status);
    made.error = new int(MPI_SUCCESS);
    const auto cancel = [](void*, int) { return MPI_SUCCESS; };
    PMPI_Grequest_start(query_started, free_started, cancel, made.error, &made.host_request);
    *request = made.host_request;
    if (made.request == nullptr) {  // the call is complete: its communicator has one rank
        complete(started);
        return MPI_SUCCESS;
    }
    {
        const RuntimeLock lock(threaded_);
        started_.splice(started_.end(), started);
        started_count_.store(started_.size() + ended_.size(), std::memory_order_relaxed);
    }
    progress();
    return MPI_SUCCESS;
}

/// Finishes calls that have ended, and completes their requests. Returns their number.
int SharedRuntime::complete(StartedCalls& ended) {
    for (StartedCall& one : ended) {
        const int error = one.call->finish();
        if (one.error == nullptr) {
            get().drop(nullptr, std::move(one.call));
            continue;
        }
        if (*one.error == MPI_SUCCESS) *one.error = error;
        PMPI_Grequest_complete(one.host_request);
    }
    return static_cast<int>(ended.size());
}

int SharedRuntime::progress() {
    // Without started calls, peers on other nodes may still need progress of this rank.
    constexpr unsigned kIdleEvery = 64;
    const bool idle = started_count_.load(std::memory_order_relaxed) == 0 &&
                      begun_count_.load(std::memory_order_relaxed) == 0;
    if (inside_weft || runtime_ == nullptr || (idle && ++idle_calls_ % kIdleEvery != 0)) return 0;
    StartedCalls ended;
    {
        const RuntimeLock lock(threaded_, false);
        if (!lock.owned()) return 0;
        inside_host = true;
        weft_progress(runtime_);
        inside_host = false;
        for (auto at = started_.begin(); at != started_.end();) {
            const auto next = std::next(at);
            int done = 0;
            if (weft_request_ended(at->request, &done) == WEFT_OK && done != 0) {
                const weft_status status = weft_wait(&at->request);
                if (status != WEFT_OK && at->error != nullptr) *at->error = error_class(status);
                ended.splice(ended.end(), started_, at);
            }
            at = next;
        }
        if (threaded_ && !kRequestsEndInProgress) ended_.splice(ended_.end(), ended);
        started_count_.store(started_.size() + ended_.size(), std::memory_order_relaxed);
    }
    return complete(ended);
}

void SharedRuntime::complete_ended() {
    progress();
    StartedCalls ended;
    {
        const RuntimeLock lock(threaded_);
        ended.splice(ended.end(), ended_);
    }
    complete(ended);
    const RuntimeLock lock(threaded_);
    started_count_.store(started_.size() + ended_.size(), std::memory_order_relaxed);
}

}  // namespace weft::mpi
