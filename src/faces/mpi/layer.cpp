// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/layer.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "faces/mpi/host.hpp"
#include "faces/mpi/settings.hpp"

namespace weft::mpi {

namespace {

/// True while this thread is in a call of weft, which functions called by the host must
/// not enter again.
thread_local bool inside_weft __attribute__((tls_model("initial-exec"))) = false;

/// True while the host has called progress() on this thread, perhaps with locks that
/// its entries need.
thread_local bool inside_host __attribute__((tls_model("initial-exec"))) = false;

int error_class(weft_status status) {
    switch (status) {
        case WEFT_ERR_ARGUMENT:
            return MPI_ERR_ARG;
        case WEFT_ERR_MEMORY:
            return MPI_ERR_NO_MEM;
        default:
            return MPI_ERR_OTHER;
    }
}

/// Calls the communicator's error handler, as MPI does, and returns the code.
int raise(MPI_Comm comm, int code) {
    PMPI_Comm_call_errhandler(comm, code);
    return code;
}
int raise(MPI_Comm comm, weft_status status) {
    std::fprintf(stderr, "weft: %s\n", weft_last_error());
    return raise(comm, error_class(status));
}

int comm_deleted(MPI_Comm comm, int, void*, void*) {
    Layer::get().forget(comm);
    return MPI_SUCCESS;
}

int mpi_ends(MPI_Comm, int, void*, void*) {
    Layer::get().end();
    return MPI_SUCCESS;
}

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
int cancel_started(void*, int) {
    return MPI_SUCCESS;
}

struct Fence {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
};

Fence& fence() {
    static Fence only;
    return only;
}

}  // namespace

Layer& Layer::get() {
    static Layer& only = *new Layer;  // not destroyed: MPI may end while the process exits
    return only;
}

void Layer::begin() {
    if (std::exchange(begun_, true)) return;
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size_);
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int provided = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&provided);
    threaded_ = provided == MPI_THREAD_MULTIPLE;
    // Exchange `start`.
    const Comparison compared = compare_settings(MPI_COMM_WORLD, threaded_);
    if (!compared.equal) return;
    threads_anywhere_ = compared.threads_anywhere;
    std::string complaint;
    const Settings settings = read_settings(complaint);
    if (rank == 0) report_unknown_variables();
    if (!complaint.empty()) {
        if (rank == 0)
            std::fprintf(stderr, "weft: collectives stay with MPI: %s\n", complaint.c_str());
        return;
    }
    if (settings.statistics) statistics_.want();
    kinds_on_ = settings.kinds_on;
    kinds_chosen_ = settings.kinds_chosen;
    calls_before_team_ = settings.calls_before_team;
    progress_ = settings.progress;
    tuning_file_ = settings.tuning_file;
    if (kinds_on_ == 0 && !statistics_.wanted()) return;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_deleted, &comm_key_, nullptr);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, mpi_ends, &end_key_, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, end_key_, nullptr);
    if (kinds_on_ != 0 && world_size_ > 1) PMPI_Comm_dup(MPI_COMM_WORLD, &own_);
    kinds_off.store(statistics_.wanted() ? 0 : ~kinds_on_, std::memory_order_relaxed);
}

// --- turns ---------------------------------------------------------------------------------------

Layer::Turn::Turn(Layer& layer) : layer_(layer) {
    if (layer.threaded_) layer.turn_mutex_.lock();
    inside_weft = true;
}
Layer::Turn::Turn(Layer& layer, std::try_to_lock_t) : layer_(layer) {
    taken_ = !inside_weft && (!layer.threaded_ || layer.turn_mutex_.try_lock());
    if (taken_) inside_weft = true;
}
Layer::Turn::~Turn() {
    if (!taken_) return;
    inside_weft = false;
    if (layer_.threaded_) layer_.turn_mutex_.unlock();
}

// --- exchanges over the host ---------------------------------------------------------------------

int Layer::exchange(void* comm, const void* mine, void* all, std::size_t bytes) {
    const int count = static_cast<int>(bytes);
    return PMPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE,
                          *static_cast<MPI_Comm*>(comm)) == MPI_SUCCESS
               ? 0
               : 1;
}

/// Exchanges data to make a team. The other members may be in other calls, and wait for data that
/// this rank must forward.
int Layer::share_among_members(void* comm, const void* mine, void* all, std::size_t bytes) {
    Layer& layer = get();
    inside_weft = false;
    if (layer.threaded_) layer.turn_mutex_.unlock();
    const int failed = exchange(comm, mine, all, bytes);
    if (layer.threaded_) layer.turn_mutex_.lock();
    inside_weft = true;
    return failed;
}

// --- the runtime ---------------------------------------------------------------------------------

/// Exchange `join`: all ranks of the world call it, in the same blocking call or in calls of
/// several threads. Returns true if the runtime runs.
bool Layer::join() {
    const std::lock_guard lock(join_mutex_);
    if (runtime_ != nullptr || refused_) return runtime_ != nullptr;
    weft_bootstrap bootstrap{};
    bootstrap.struct_bytes = sizeof bootstrap;
    PMPI_Comm_rank(own_, &bootstrap.rank);
    bootstrap.size = world_size_;
    bootstrap.arg = &own_;
    bootstrap.allgather = exchange;
    bootstrap.barrier_start = [](void* comm) {
        return PMPI_Ibarrier(*static_cast<MPI_Comm*>(comm), &fence().request);
    };
    bootstrap.barrier_test = [](void*, int* done) {
        return PMPI_Test(&fence().request, done, MPI_STATUS_IGNORE);
    };
    bootstrap.abort = [](void* comm, int status, const char* text) {
        std::fprintf(stderr, "weft: %s\n", text);
        PMPI_Abort(*static_cast<MPI_Comm*>(comm), status);
    };
    read_tuning();
    if (weft_init_with(&bootstrap, &runtime_) != WEFT_OK) {
        runtime_ = nullptr;
        refused_ = true;
        if (bootstrap.rank == 0)
            std::fprintf(stderr, "weft: collectives stay with MPI: %s\n", weft_last_error());
        return false;
    }
    if (!progress_) return true;
    weft_on_progress(
        runtime_,
        [](void* comm) {
            if (!inside_host) drive_host(*static_cast<MPI_Comm*>(comm));
        },
        &own_);
    on_host_progress([] { return get().progress(); });
    return true;
}

/// Called when MPI_Finalize has begun on this rank.
void Layer::end() {
    kinds_on_ = 0;
    write_tuning();
    if (statistics_.wanted() && world_size_ != 0)
        statistics_.print(own_ != MPI_COMM_NULL ? own_ : MPI_COMM_WORLD);
    if (runtime_ != nullptr) {
        on_host_progress(nullptr);
        drop_late();
        if (weft_finalize(std::exchange(runtime_, nullptr)) != WEFT_OK)
            std::fprintf(stderr, "weft: %s\n", weft_last_error());
    }
    if (own_ != MPI_COMM_NULL) PMPI_Comm_free(&own_);
}

// --- communicators -------------------------------------------------------------------------------

Communicator* Layer::find(MPI_Comm comm) {
    if (!threaded_) {
        Communicator* const known = communicators_.find(comm);
        return known != nullptr ? known : learn(comm);
    }
    const std::lock_guard lock(tables_mutex());
    Communicator* const known = communicators_.find(comm);
    return known != nullptr ? known : learn(comm);
}

/// Returns nullptr for an invalid communicator; the host reports the error.
Communicator* Layer::learn(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return nullptr;
    Communicator fresh{.place = {.comm = comm, .rank = 0, .size = 0}};
    int inter = 0;
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &fresh.place.rank) != MPI_SUCCESS ||
        PMPI_Comm_size(comm, &fresh.place.size) != MPI_SUCCESS ||
        PMPI_Comm_set_attr(comm, comm_key_, nullptr) != MPI_SUCCESS)
        return nullptr;
    if (fresh.place.size == 1) fresh.refused = Why::one_rank;
    if (inter != 0) fresh.refused = Why::inter;
    if (fresh.refused != Why::served && !statistics_.wanted())
        handed_back.store(comm, std::memory_order_relaxed);
    // Making a team takes as long as hundreds of calls save, and many communicators have few calls.
    if (comm != MPI_COMM_WORLD) fresh.next_try = calls_before_team_ + 1;
    return &communicators_.add(comm, std::move(fresh));
}

void Layer::forget(MPI_Comm comm) {
    if (is_handed_back(comm)) handed_back.store(MPI_COMM_NULL, std::memory_order_relaxed);
    forget_shortcuts(comm);  // shortcuts are not used in programs with several threads
    weft_team* team = nullptr;
    {
        const std::lock_guard lock(tables_mutex());
        Communicator* const known = communicators_.find(comm);
        if (known == nullptr) return;
        team = known->team;
        communicators_.remove(comm);
    }
    if (team != nullptr && runtime_ != nullptr && team != weft_world(runtime_)) drop(team);
}

/// Drops a team whose communicator the host has deleted, now or in drop_late(). The host deletes a
/// freed communicator when its last message ends. That may be inside a call of weft that drives the
/// host, where no team can be dropped.
void Layer::drop(weft_team* team) {
    {
        const std::lock_guard lock(tables_mutex());
        late_teams_.push_back(team);
    }
    if (!inside_weft && !inside_host) drop_late();
}

/// Waits for its turn without the mutex: the thread whose turn it is may need the tables.
void Layer::drop_late() {
    std::vector<weft_team*> teams;
    {
        const std::lock_guard lock(tables_mutex());
        teams.swap(late_teams_);
    }
    const Turn turn(*this);
    for (weft_team* const team : teams) weft_team_drop(team);
}

/// Returns the ranks in MPI_COMM_WORLD of a communicator's members; an empty list if a member is
/// a process of another job. Guarantee `members`: all members get the same answer, since jobs
/// share no process.
std::vector<int> Layer::ranks_in_world(const Place& place) const {
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    PMPI_Comm_group(place.comm, &members);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    const auto count = static_cast<std::size_t>(place.size);
    std::vector<int> ranks(count);
    std::vector<int> world_ranks(count, MPI_UNDEFINED);
    for (std::size_t rank = 0; rank < count; ++rank) ranks[rank] = static_cast<int>(rank);
    PMPI_Group_translate_ranks(members, place.size, ranks.data(), world, world_ranks.data());
    PMPI_Group_free(&members);
    PMPI_Group_free(&world);
    if (std::ranges::find(world_ranks, MPI_UNDEFINED) != world_ranks.end()) world_ranks.clear();
    return world_ranks;
}

/// Counts a blocking call without a team, and tries to make the team when the count is due.
/// Guarantee `order`: all members count the same calls, so all try in the same call. They try again
/// each time the count has doubled.
Why Layer::try_team(Communicator& at) {
    if (++at.calls < at.next_try) return refused_ ? Why::off : Why::no_team;
    at.next_try *= 2;
    const std::vector<int> members = ranks_in_world(at.place);
    if (members.empty()) return at.refused = Why::other_jobs;
    if (at.place.size == world_size_) join();
    // Exchange `team`. A member may not have joined yet, or another of its threads may be
    // making a team.
    int ready = 0;
    {
        const std::lock_guard lock(tables_mutex());
        ready = runtime_ != nullptr && !creating_ ? 1 : 0;
        if (ready != 0) creating_ = true;
    }
    int all_ready = 0;
    const int outcome = PMPI_Allreduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, at.place.comm);
    if (outcome == MPI_SUCCESS && all_ready != 0) make_team(at, members);
    if (ready != 0) {
        const std::lock_guard lock(tables_mutex());
        creating_ = false;
    }
    if (at.team != nullptr) share_choices(at);
    if (at.team != nullptr) return Why::served;
    return refused_ ? Why::off : Why::no_team;
}

/// Makes the team; all members are ready. The team of MPI_COMM_WORLD exists already.
void Layer::make_team(Communicator& at, const std::vector<int>& members) {
    if (at.place.comm == MPI_COMM_WORLD) {
        at.team = weft_world(runtime_);
        return;
    }
    drop_late();
    const Turn turn(*this);
    if (weft_team_create(runtime_, members.data(), at.place.size, share_among_members,
                         &at.place.comm, &at.team) != WEFT_OK)
        at.team = nullptr;
}

// --- calls ---------------------------------------------------------------------------------------

int Layer::serve(Communicator& at, PreparedCall& call) {
    weft_status status = WEFT_OK;
    if (threaded_) {
        status = run_shared(at.team, call);
    } else {
        inside_weft = true;
        status = call.run(at.team);
        inside_weft = false;
    }
    if (status != WEFT_OK) [[unlikely]]
        return raise(at.place.comm, status);
    // As after the host's own barrier, the program sees messages that came before it.
    if (kBarriersDeliver && call.kind() == Kind::barrier && progress_) drive_host(own_);
    if (const int error = call.finish(); error != MPI_SUCCESS) [[unlikely]]
        return raise(at.place.comm, error);
    return MPI_SUCCESS;
}

/// Gives each thread the runtime for one step at a time.
weft_status Layer::run_shared(weft_team* team, PreparedCall& call) {
    weft_request* request = nullptr;
    {
        const Turn turn(*this);
        if (const weft_status status = call.start(team, &request); status != WEFT_OK) return status;
    }
    for (;;) {
        {
            const Turn turn(*this);
            int done = 0;
            const weft_status status = weft_test(&request, &done);
            if (status != WEFT_OK || done != 0) return status;
        }
        drive_host(own_);
        sched_yield();
    }
}

int Layer::start(Communicator& at, std::unique_ptr<StartedCall> call, MPI_Request* request) {
    weft_status status = WEFT_OK;
    {
        const Turn turn(*this);
        status = call->call.start(at.team, &call->request);
    }
    if (status != WEFT_OK) return raise(at.place.comm, status);
    call->error = new int(MPI_SUCCESS);
    PMPI_Grequest_start(query_started, free_started, cancel_started, call->error, &call->hosts);
    *request = call->hosts;
    {
        const Turn turn(*this);
        started_.push_back(std::move(call));
        started_count_.store(started_.size(), std::memory_order_relaxed);
    }
    progress();
    return MPI_SUCCESS;
}

int Layer::progress() {
    constexpr unsigned kIdleEvery =
        64;  // without started calls, network peers may still need progress
    const bool idle = started_count_.load(std::memory_order_relaxed) == 0;
    if (inside_weft || runtime_ == nullptr || (idle && ++idle_looks_ % kIdleEvery != 0)) return 0;
    StartedCalls ended;
    {
        const Turn turn(*this, std::try_to_lock);
        if (!turn.taken()) return 0;
        inside_host = true;
        weft_progress(runtime_);
        inside_host = false;
        for (auto at = started_.begin(); at != started_.end();) {
            const auto next = std::next(at);
            int done = 0;
            if (weft_request_ended((*at)->request, &done) == WEFT_OK && done != 0) {
                if (const weft_status status = weft_wait(&(*at)->request); status != WEFT_OK)
                    *(*at)->error = error_class(status);
                ended.splice(ended.end(), started_, at);
            }
            at = next;
        }
        started_count_.store(started_.size(), std::memory_order_relaxed);
    }
    for (const auto& call : ended) {
        if (const int error = call->call.finish(); *call->error == MPI_SUCCESS)
            *call->error = error;
        PMPI_Grequest_complete(call->hosts);
    }
    return static_cast<int>(ended.size());
}

}  // namespace weft::mpi
