// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/layer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace weft::mpi {

// Comments refer to the facts that layer.hpp lists, by names such as `start` and `order`.

namespace {

/// Returns the least value of each word over all members, or zeros if the exchange fails.
/// Collective.
template <std::size_t kWords>
std::array<std::int64_t, kWords> least_of(MPI_Comm comm,
                                          const std::array<std::int64_t, kWords>& mine) {
    std::array<std::int64_t, kWords> least{};
    if (PMPI_Allreduce(mine.data(), least.data(), static_cast<int>(kWords), MPI_INT64_T, MPI_MIN,
                       comm) != MPI_SUCCESS)
        least.fill(0);
    return least;
}

/// Returns true on all members if `mine` is true on all of them. Collective.
bool all_agree(MPI_Comm comm, bool mine) {
    return least_of<1>(comm, {mine ? 1 : 0})[0] != 0;
}

/// Returns the ranks in `all`, the communicator of the job, of a communicator's members; an empty
/// list if a member is a process of another job. By guarantee `members`, all members get the same
/// result: a process is in one job only.
std::vector<int> ranks_in_world(const Member& member, MPI_Comm all) {
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    PMPI_Comm_group(member.comm, &members);
    PMPI_Comm_group(all, &world);
    const auto count = static_cast<std::size_t>(member.size);
    std::vector<int> ranks(count);
    std::vector<int> world_ranks(count, MPI_UNDEFINED);
    for (std::size_t rank = 0; rank < count; ++rank) ranks[rank] = static_cast<int>(rank);
    PMPI_Group_translate_ranks(members, member.size, ranks.data(), world, world_ranks.data());
    PMPI_Group_free(&members);
    PMPI_Group_free(&world);
    if (std::ranges::find(world_ranks, MPI_UNDEFINED) != world_ranks.end()) world_ranks.clear();
    return world_ranks;
}

}  // namespace

Layer& Layer::get() {
    static Layer& only = *new Layer;  // not destroyed: MPI may end while the process exits
    return only;
}

void Layer::begin(MPI_Comm world) {
    if (std::exchange(begun_, true)) return;
    int rank = 0;
    PMPI_Comm_rank(world, &rank);
    PMPI_Comm_size(world, &world_size_);
    int provided = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&provided);
    threaded_ = provided == MPI_THREAD_MULTIPLE;
    // Exchange `start`.
    Settings settings = read_settings();
    if (!compare_settings(world, settings, threaded_)) return;
    settings_ = std::move(settings);
    if (settings_.exact_sums) make_sums_exact();
    if (settings_.statistics) statistics_.enable();
    if (settings_.kinds_on == 0 && !statistics_.enabled()) return;
    const auto comm_deleted = [](MPI_Comm comm, int, void*, void*) {
        get().forget(comm);
        return MPI_SUCCESS;
    };
    const auto mpi_ends = [](MPI_Comm, int, void*, void*) {
        get().end();
        return MPI_SUCCESS;
    };
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_deleted, &comm_key_, nullptr);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, mpi_ends, &end_key_, nullptr);
    PMPI_Comm_split(world, rank, 0, &own_comm);
    PMPI_Comm_set_errhandler(own_comm, MPI_ERRORS_RETURN);
    if (world == MPI_COMM_WORLD) PMPI_Comm_set_attr(MPI_COMM_SELF, end_key_, nullptr);
    if (settings_.kinds_on != 0 && world_size_ > 1) {
        runtime_.start_on(world, threaded_, settings_.progress);
        if (runtime_.runs()) {
            std::vector<int> all(static_cast<std::size_t>(world_size_));
            std::iota(all.begin(), all.end(), 0);
            world_ = std::make_shared<GroupTeam>(runtime_.world(), last_serial_);
            groups_[all] = world_;
        }
        adopt(world);
    }
    kinds_off.store(statistics_.enabled() ? 0 : ~settings_.kinds_on, std::memory_order_relaxed);
}

void Layer::end() {
    settings_.kinds_on = 0;
    if (statistics_.enabled() && world_size_ != 0)
        statistics_.print(runtime_.own() != MPI_COMM_NULL ? runtime_.own()
                          : world_size_ == 1              ? own_comm
                                                          : MPI_COMM_WORLD);
    runtime_.end();
    if (own_comm != MPI_COMM_NULL) PMPI_Comm_free(&own_comm);
}

/// Adds the state of a new communicator. Returns nullptr if it is invalid; the host reports that.
Communicator* Layer::add(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return nullptr;
    Communicator fresh{.member = {.comm = comm, .rank = 0, .size = 0}};
    int inter = 0;
    const ReturnedErrors errors;
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &fresh.member.rank) != MPI_SUCCESS ||
        PMPI_Comm_size(comm, &fresh.member.size) != MPI_SUCCESS ||
        PMPI_Comm_set_attr(comm, comm_key_, nullptr) != MPI_SUCCESS)
        return nullptr;
    if (inter != 0) fresh.refused = Why::inter;
    if (fresh.refused != Why::served && !statistics_.enabled())
        handed_back.store(comm, std::memory_order_relaxed);
    fresh.next_try = settings_.calls_before_team + 1;
    if (settings_.kinds_chosen != 0) {
        fresh.choices = std::make_unique<Choices>(fresh.member.size);
        fresh.choices->apply(shipped_ranges());
        fresh.choices->apply(settings_.ranges);
    }
    return &communicators_.add(comm, std::move(fresh));
}

void Layer::forget(MPI_Comm comm) {
    if (comm == handed_back.load(std::memory_order_relaxed))
        handed_back.store(MPI_COMM_NULL, std::memory_order_relaxed);
    for (Shortcut& one : shortcuts)  // a new communicator may get this handle on some ranks
        if (one.comm == comm) one = {};
    // Destroyed without tables_mutex: its lanes may wait for the runtime, whose user may need it.
    std::optional<Communicator> removed;
    {
        const std::lock_guard lock(tables_mutex);
        Communicator* const known = communicators_.find(comm);
        if (known == nullptr) return;
        removed.emplace(std::move(*known));
        communicators_.remove(comm);
    }
    // Before the teams of its lists. Both own the lists.
    runtime_.drop(nullptr, std::move(removed->neighbor_call));
    runtime_.drop(nullptr, std::move(removed->neighbors));
    removed.reset();
    drop_unused();
}

/// Drops the oldest shared teams that no communicator uses, down to kUnusedMax. Members that still
/// have such a team drop it when they make a new one (share_team()).
void Layer::drop_unused() {
    for (;;) {
        auto oldest = groups_.end();
        std::size_t unused = 0;
        for (auto at = groups_.begin(); at != groups_.end(); ++at) {
            if (at->second.use_count() > 1) continue;
            ++unused;
            if (oldest == groups_.end() || at->second->serial < oldest->second->serial) oldest = at;
        }
        if (unused <= kUnusedMax) return;
        groups_.erase(oldest);
    }
}

/// Counts a blocking call without a team, and tries to get one when `calls` reaches `next_try`. By
/// guarantee `order`, all members count the same calls, so all try in the same call. After a
/// failure, they try again each time the count has doubled.
Why Layer::try_team(Communicator& at) {
    const bool is_due = ++at.calls >= at.next_try;
    if (!runtime_.runs() || !is_due) return runtime_.refused() ? Why::off : Why::no_team;
    at.next_try *= 2;
    const std::vector<int> members = ranks_in_world(at.member, runtime_.own());
    if (members.empty()) return at.refused = Why::other_jobs;
    if (settings_.threads_anywhere) {
        make_lane(at, members, true);
    } else {
        share_team(at, members);
        if (at.team != nullptr && at.lane == nullptr) make_lane(at, members, false);
    }
    return at.team != nullptr ? Why::served : Why::no_team;
}

void Layer::adopt(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL || settings_.kinds_on == 0 || !runtime_.runs()) return;
    Communicator* const at = find(comm);
    if (at == nullptr || at->refused != Why::served || at->member.size == 1) return;
    const std::vector<int> members = ranks_in_world(at->member, runtime_.own());
    if (!members.empty()) make_lane(*at, members, ++adopted_ <= kWantedLanes);
}

/// Uses the team of other communicators with these members, or makes it. Exchange `team`: a member
/// may have dropped the team, or may have it for communicators that others have freed.
void Layer::share_team(Communicator& at, const std::vector<int>& members) {
    std::shared_ptr<GroupTeam>& known = groups_[members];
    const bool usable = known != nullptr && known->recovery == nullptr;
    const std::int64_t serial = usable ? known->serial : 0;
    const auto [least, greatest, last] =
        least_of<3>(at.member.comm, {serial, -serial, -last_serial_});
    if (least != 0 && least == -greatest) {
        at.group = known;
        at.team = known->team;
        return;
    }
    known.reset();  // dropped now, or when its communicators are deleted
    weft_team* const made = runtime_.make_team(at.member.comm, members);
    last_serial_ = -last + 1;
    if (made == nullptr) {
        groups_.erase(members);
        return;
    }
    known = std::shared_ptr<GroupTeam>(new GroupTeam{made, last_serial_, 0, nullptr},
                                       [](GroupTeam* ended) {
                                           SharedRuntime::get().drop(ended->team, nullptr);
                                           delete ended;
                                       });
    at.group = known;
    at.team = made;
}

/// Makes a lane if a member wants it: the program has made a started call before, or
/// `wanted`. With several threads, blocking calls need it. Exchange `team`: a member may have too
/// many lanes, or may be making a team in another thread.
void Layer::make_lane(Communicator& at, const std::vector<int>& members, bool wanted) {
    wanted = wanted || starts_calls_ || settings_.threads_anywhere;
    const bool ready = is_ready_for_lane();
    const auto [all_ready, none_wants] =
        least_of<2>(at.member.comm, {ready ? 1 : 0, wanted ? -1 : 0});
    at.lane = new_lane(at, members, ready, all_ready == 1 && none_wants == -1);
    if (settings_.threads_anywhere) at.team = at.lane_team();
}

/// Gives a persistent call a lane of its communicator that has no call on any member, or a new one.
/// By guarantee `order`, all members take lanes in the same order. Exchange `team`: members may
/// free calls at different times.
Why Layer::take_lane(Communicator& at, std::shared_ptr<Lane>& lane) {
    if (!runtime_.runs()) return runtime_.refused() ? Why::off : Why::no_team;
    const std::vector<int> members = ranks_in_world(at.member, runtime_.own());
    if (members.empty()) return at.refused = Why::other_jobs;
    const bool ready = is_ready_for_lane();
    std::uint64_t mine = ready ? std::uint64_t{1} << kLanesMax : 0;
    for (std::size_t i = 0; i < at.call_lanes.size(); ++i)
        if (!at.call_lanes[i]->taken) mine |= std::uint64_t{1} << i;
    std::uint64_t free = 0;
    if (PMPI_Allreduce(&mine, &free, 1, MPI_UINT64_T, MPI_BAND, at.member.comm) != MPI_SUCCESS)
        free = 0;
    const int first = std::countr_zero(free);
    lane = new_lane(at, members, ready, first == kLanesMax);
    if (lane != nullptr) at.call_lanes.push_back(lane);
    if (first < kLanesMax) lane = at.call_lanes[static_cast<std::size_t>(first)];
    if (lane == nullptr) return Why::no_team;
    lane->taken = true;
    return Why::served;
}

/// After a call in which members disagreed, the members agree on a call from which on the host
/// serves the communicators of their team, until these get a new team. Returns true for such calls;
/// earlier calls fail.
bool Layer::resumes(Communicator& at, const PreparedCall& call, weft_status status) {
    if (at.group == nullptr || SharedRuntime::error_class(status) != MPI_ERR_TRUNCATE) return false;
    GroupTeam& failed = *at.group;
    if (failed.recovery == nullptr)
        failed.recovery =
            std::make_unique<Recovery>(runtime_.own(), ranks_in_world(at.member, runtime_.own()),
                                       failed.serial, failed.calls + (call.keeps_input() ? 0 : 1));
    if (!failed.recovery->agreed() || failed.calls < failed.recovery->first_call()) return false;
    at.group.reset();
    at.team = nullptr;
    at.next_try = at.calls + 1;
    return true;
}

/// Returns true if this rank can make a lane; the caller then calls new_lane().
bool Layer::is_ready_for_lane() {
    return lanes_ < kLanesMax && !creating_.test_and_set();
}

/// Makes a lane if `makes`, which is equal on all members. ready: result of is_ready_for_lane().
std::shared_ptr<Lane> Layer::new_lane(const Communicator& at, const std::vector<int>& members,
                                      bool ready, bool makes) {
    weft_team* const team = makes ? runtime_.make_team(at.member.comm, members) : nullptr;
    if (ready) creating_.clear();
    return team == nullptr ? nullptr : std::make_shared<Lane>(team, lanes_);
}

/// Exchange `rounds`. By guarantee `order`, all members make it in the same call.
void Layer::agree_on_rounds(Communicator& at, const PreparedCall& call) {
    if (at.neighbors->must_agree(call.kind()))
        at.neighbors->agree(all_agree(at.member.comm, call.longest() >= kRoundMin));
}

/// Returns Why::served if weft serves the call by the rules of the mode `auto`, else Why::slower.
/// By guarantees `order` and `bytes`, all members make the exchange `buffers` in the same call.
Why Layer::choose(Communicator& at, const PreparedCall& call, const Shortcut* shortcut) {
    Choices& choices = *at.choices;
    const CallKind kind = call.kind();
    const std::size_t bytes = call.common_bytes();
    const bool known = choices.library(kind, bytes) != Library::unknown;
    if (!known && shortcut != nullptr && bytes >= Choices::kLongBytes &&
        choices.long_calls(kind).count(call.in(), call.out()))
        choices.long_calls(kind).agree(
            all_agree(at.member.comm, choices.long_calls(kind).reuse_buffers()));
    if (!choices.goes_to_host(kind, bytes)) return Why::served;
    if (known && shortcut != nullptr && !threaded_ && !statistics_.enabled() &&
        is_builtin(shortcut->type) && is_builtin(shortcut->other_type) &&
        is_builtin_operation(shortcut->op) && shortcut->count != Shortcut::kNever)
        shortcuts[static_cast<std::size_t>(kind)] = *shortcut;
    return Why::slower;
}

}  // namespace weft::mpi
