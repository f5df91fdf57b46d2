// SPDX-License-Identifier: BSD-3-Clause
#include "front/mpi/layer.hpp"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "front/mpi/host.hpp"

namespace weft::mpi {

namespace {

/// This thread is in a call of weft's: what the host calls meanwhile must not enter it again.
thread_local bool inside_weft __attribute__((tls_model("initial-exec"))) = false;

/// The host has called this thread's progress(), perhaps with locks that its entries need.
thread_local bool inside_host __attribute__((tls_model("initial-exec"))) = false;

bool says(const std::string& variable, const char* word) {
    const char* const value = std::getenv(variable.c_str());
    return value != nullptr && std::strcmp(value, word) == 0;
}

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

/// As MPI would: the communicator's handler, then the code.
int raise(MPI_Comm comm, weft_status status) {
    std::fprintf(stderr, "weft: %s\n", weft_last_error());
    const int code = error_class(status);
    PMPI_Comm_call_errhandler(comm, code);
    return code;
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
    static Layer& only = *new Layer;  // MPI may end while the process does
    return only;
}

Layer::Layer() {
    read_settings();
    if (!statistics_.wanted()) kinds_off.store(~kinds_on_, std::memory_order_relaxed);
    if (kinds_on_ == 0 && !statistics_.wanted()) return;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_deleted, &comm_key_, nullptr);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, mpi_ends, &end_key_, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, end_key_, nullptr);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size_);
    int provided = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&provided);
    threaded_ = provided == MPI_THREAD_MULTIPLE;
}

void Layer::read_settings() {
    // lint: allow(variable): those of this layer; docs/guide/mpi-backing.md
    if (says("WEFT_MPI_STATS", "1")) statistics_.want();
    if (says("WEFT_MPI", "off")) return;
    // lint: allow(variable): as above
    if (const char* const calls = std::getenv("WEFT_MPI_TEAM_AFTER"))
        calls_before_team_ = static_cast<unsigned>(std::strtoul(calls, nullptr, 10));
    // lint: allow(variable): as above
    if (const char* const file = std::getenv("WEFT_MPI_TUNING")) tuning_file_ = file;
    const bool all_chosen = says("WEFT_MPI", "auto");
    for (std::size_t kind = 0; kind < kKindNames.size(); ++kind) {
        // lint: allow(variable): as above
        std::string name = "WEFT_MPI_";
        for (const char c : kKindNames[kind])
            name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        if (!says(name, "off")) kinds_on_ |= 1U << kind;
        if (says(name, "auto") || (all_chosen && !says(name, "on"))) kinds_chosen_ |= 1U << kind;
    }
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

// --- the runtime ---------------------------------------------------------------------------------

/// Before any other thread uses the world: what starts the runtime later gets its communicator now.
void Layer::expect_threads() {
    if (kinds_on_ == 0 || !threaded_ || world_size_ < 2) return;
    PMPI_Comm_dup(MPI_COMM_WORLD, &own_);
}

int Layer::exchange(void* comm, const void* mine, void* all, std::size_t bytes) {
    const int count = static_cast<int>(bytes);
    return PMPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE,
                          *static_cast<MPI_Comm*>(comm)) == MPI_SUCCESS
               ? 0
               : 1;
}

/// The members may be elsewhere, and wait for what this rank has to forward.
int Layer::share_among_members(void* comm, const void* mine, void* all, std::size_t bytes) {
    Layer& layer = get();
    inside_weft = false;
    if (layer.threaded_) layer.turn_mutex_.unlock();
    const int failed = exchange(comm, mine, all, bytes);
    if (layer.threaded_) layer.turn_mutex_.lock();
    inside_weft = true;
    return failed;
}

// --- what earlier jobs have found ----------------------------------------------------------------

namespace {

#if defined(OPEN_MPI)
constexpr std::string_view kHostName = "openmpi";
#else
constexpr std::string_view kHostName = "mpich";
#endif

/// Nothing, and a line about it, if that is larger than such a file ever is: it may be no file.
std::optional<std::string> content_of(const std::string& file) {
    constexpr std::size_t kBytesMax = std::size_t{4} << 20;
    std::ifstream stream(file);
    std::string text(kBytesMax + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (text.size() <= kBytesMax) return text;
    std::fprintf(stderr, "weft: %s has more than %zu bytes\n", file.c_str(), kBytesMax);
    return std::nullopt;
}

}  // namespace

/// All ranks of the world start from what rank 0 has read.
void Layer::read_tuning() {
    if (tuning_file_.empty()) return;
    int rank = 0;
    PMPI_Comm_rank(own_, &rank);
    const auto content = rank == 0 ? content_of(tuning_file_) : "";
    if (!content) tuning_file_.clear();  // nor is it written
    std::string text = content.value_or("");
    int length = static_cast<int>(text.size());
    PMPI_Bcast(&length, 1, MPI_INT, 0, own_);
    text.resize(static_cast<std::size_t>(length));
    PMPI_Bcast(text.data(), length, MPI_CHAR, 0, own_);
    std::string complaint;
    known_ = read_ways(text, kHostName, complaint);
    if (rank == 0 && !complaint.empty())
        std::fprintf(stderr, "weft: %s: a line that says nothing of use: %s\n",
                     tuning_file_.c_str(), complaint.c_str());
}

void Layer::write_tuning() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (tuning_file_.empty() || !news_ || rank != 0) return;
    const auto content = content_of(tuning_file_);
    if (!content) return;
    const std::string fresh = tuning_file_ + ".new";
    std::ofstream stream(fresh);
    stream << write_ways(*content, kHostName, known_);
    stream.close();
    if (!stream || std::rename(fresh.c_str(), tuning_file_.c_str()) != 0)
        std::fprintf(stderr, "weft: %s cannot be written\n", tuning_file_.c_str());
}

/// Called by all ranks of the world: whether the runtime runs.
bool Layer::join() {
    const std::lock_guard lock(join_mutex_);
    if (runtime_ != nullptr || refused_) return runtime_ != nullptr;
    if (own_ == MPI_COMM_NULL && (threaded_ || PMPI_Comm_dup(MPI_COMM_WORLD, &own_) != 0)) {
        refused_ = true;
        return false;
    }
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
    // lint: allow(variable): for tests: shows which programs need it
    if (says("WEFT_MPI_PROGRESS", "off")) return true;
    weft_on_progress(
        runtime_,
        [](void* comm) {
            if (!inside_host) drive_host(*static_cast<MPI_Comm*>(comm));
        },
        &own_);
    on_host_progress([] { return get().progress(); });
    return true;
}

/// MPI_Finalize has begun on this rank.
void Layer::end() {
    kinds_on_ = 0;
    write_tuning();
    if (statistics_.wanted() && world_size_ != 0)
        statistics_.print(own_ != MPI_COMM_NULL ? own_ : MPI_COMM_WORLD);
    if (runtime_ != nullptr) {
        on_host_progress(nullptr);
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
    const std::lock_guard lock(tables_mutex_);
    Communicator* const known = communicators_.find(comm);
    return known != nullptr ? known : learn(comm);
}

/// nullptr: the host will say what is wrong.
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
    // A team costs as much as hundreds of calls gain, and many communicators live for a few only.
    if (comm != MPI_COMM_WORLD) fresh.next_try = calls_before_team_ + 1;
    return &communicators_.add(comm, std::move(fresh));
}

void Layer::forget(MPI_Comm comm) {
    if (is_handed_back(comm)) handed_back.store(MPI_COMM_NULL, std::memory_order_relaxed);
    forget_shortcuts(comm);  // none are remembered where threads may be in calls meanwhile
    weft_team* team = nullptr;
    {
        const std::lock_guard lock(tables_mutex_);
        Communicator* const known = communicators_.find(comm);
        if (known == nullptr) return;
        team = known->team;
        communicators_.remove(comm);
    }
    if (team == nullptr || runtime_ == nullptr || team == weft_world(runtime_)) return;
    const Turn turn(*this);
    weft_team_drop(team);
}

/// A blocking call without a team: at every power of two of them all members try to make one.
Why Layer::try_team(Communicator& at) {
    if (++at.calls < at.next_try) return refused_ ? Why::off : Why::no_team;
    at.next_try *= 2;
    if (at.place.size == world_size_) join();
    if (refused_) return Why::off;
    int ready = 0;
    {
        const std::lock_guard lock(tables_mutex_);
        ready = runtime_ != nullptr && !creating_ ? 1 : 0;
        if (ready != 0) creating_ = true;
    }
    int all_ready = 0;
    const int outcome = PMPI_Allreduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, at.place.comm);
    if (outcome == MPI_SUCCESS && all_ready != 0) make_team(at);
    if (ready != 0) {
        const std::lock_guard lock(tables_mutex_);
        creating_ = false;
    }
    return at.team != nullptr ? Why::served : Why::no_team;
}

/// All members are ready. Only the world's own team is there already.
void Layer::make_team(Communicator& at) {
    if (at.place.comm == MPI_COMM_WORLD) {
        at.team = weft_world(runtime_);
        return;
    }
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    PMPI_Comm_group(at.place.comm, &members);
    PMPI_Comm_group(own_, &world);
    const auto count = static_cast<std::size_t>(at.place.size);
    std::vector<int> ranks(count);
    std::vector<int> world_ranks(count);
    for (std::size_t rank = 0; rank < count; ++rank) ranks[rank] = static_cast<int>(rank);
    PMPI_Group_translate_ranks(members, at.place.size, ranks.data(), world, world_ranks.data());
    PMPI_Group_free(&members);
    PMPI_Group_free(&world);
    const Turn turn(*this);
    if (weft_team_create(runtime_, world_ranks.data(), at.place.size, share_among_members,
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
    call.finish();
    return MPI_SUCCESS;
}

/// Of several threads, each has the runtime for one look at a time.
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

Choices& Layer::choices_of(Communicator& at) {
    if (at.choices != nullptr) return *at.choices;
    const std::lock_guard lock(tables_mutex_);
    at.choices = std::make_unique<Choices>(known_[at.place.size]);
    return *at.choices;
}

bool Layer::hosts_are_quicker(Communicator& at, const PreparedCall& call) {
    return choices_of(at).goes_to_host(Choices::place_of(call.kind(), call.common_bytes()));
}

/// All members have made the last call that is tried.
void Layer::compare(Communicator& at, Choices::Place place) {
    const Choices::Blocks mine = at.choices->blocks(place);
    Choices::Blocks longest{};
    PMPI_Allreduce(mine.data(), longest.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX,
                   at.place.comm);
    forget_shortcuts(at.place.comm);  // they count in what may end now
    if (!at.choices->decide(place, longest)) return;
    const std::lock_guard lock(tables_mutex_);
    known_[at.place.size][place] = at.choices->way(place);
    news_ = true;
}

/// The next calls of this kind go to the host, as many as `left` counts; nullptr: none.
void Layer::remember_host(Kind kind, const Shortcut& shortcut, Glances* left) {
    const auto lasts = [](MPI_Datatype type) {
        return type == MPI_DATATYPE_NULL || is_builtin(type);
    };
    if (left == nullptr || threaded_ || statistics_.wanted()) return;
    if (lasts(shortcut.type) && lasts(shortcut.other_type) && is_builtin_operation(shortcut.op))
        remember(kind, shortcut, left);
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
    constexpr unsigned kIdleEvery = 64;  // with nothing started, peers on the network may need it
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
        if (started_.empty() && !threaded_) drop_ended_operations();
    }
    for (const auto& call : ended) {
        call->call.finish();
        PMPI_Grequest_complete(call->hosts);
    }
    return static_cast<int>(ended.size());
}

}  // namespace weft::mpi
