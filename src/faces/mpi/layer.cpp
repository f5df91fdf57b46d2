// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/layer.hpp"

#include <algorithm>
#include <utility>

namespace weft::mpi {

// Comments refer to the facts that layer.hpp lists, by names such as `start` and `order`.

namespace {

/// Returns true on all members if `mine` is true on all of them. Collective.
bool all_agree(MPI_Comm comm, bool mine) {
    const int given = mine ? 1 : 0;
    int least = 0;
    const int outcome = PMPI_Allreduce(&given, &least, 1, MPI_INT, MPI_MIN, comm);
    return outcome == MPI_SUCCESS && least != 0;
}

/// Returns the ranks in MPI_COMM_WORLD of a communicator's members; an empty list if a member is a
/// process of another job. By guarantee `members`, all members get the same result: a process is in
/// one job only.
std::vector<int> ranks_in_world(const Member& member) {
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    PMPI_Comm_group(member.comm, &members);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
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

void Layer::begin() {
    if (std::exchange(begun_, true)) return;
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size_);
    int provided = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&provided);
    threaded_ = provided == MPI_THREAD_MULTIPLE;
    // Exchange `start`.
    Settings settings = read_settings();
    if (!compare_settings(MPI_COMM_WORLD, settings, threaded_)) return;
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
    PMPI_Comm_set_attr(MPI_COMM_SELF, end_key_, nullptr);
    if (settings_.kinds_on != 0 && world_size_ > 1) runtime_.prepare(threaded_, settings_.progress);
    kinds_off.store(statistics_.enabled() ? 0 : ~settings_.kinds_on, std::memory_order_relaxed);
}

void Layer::end() {
    settings_.kinds_on = 0;
    if (statistics_.enabled() && world_size_ != 0)
        statistics_.print(runtime_.own() != MPI_COMM_NULL ? runtime_.own() : MPI_COMM_WORLD);
    runtime_.end();
}

/// Adds the state of a new communicator. Returns nullptr if it is invalid; the host reports that.
Communicator* Layer::add(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return nullptr;
    Communicator fresh{.member = {.comm = comm, .rank = 0, .size = 0}};
    int inter = 0;
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &fresh.member.rank) != MPI_SUCCESS ||
        PMPI_Comm_size(comm, &fresh.member.size) != MPI_SUCCESS ||
        PMPI_Comm_set_attr(comm, comm_key_, nullptr) != MPI_SUCCESS)
        return nullptr;
    if (fresh.member.size == 1) fresh.refused = Why::one_rank;
    if (inter != 0) fresh.refused = Why::inter;
    if (fresh.refused != Why::served && !statistics_.enabled())
        handed_back.store(comm, std::memory_order_relaxed);
    // Making a team takes the time that hundreds of calls save; many communicators have few calls.
    if (comm != MPI_COMM_WORLD) fresh.next_try = settings_.calls_before_team + 1;
    return &communicators_.add(comm, std::move(fresh));
}

void Layer::forget(MPI_Comm comm) {
    if (comm == handed_back.load(std::memory_order_relaxed))
        handed_back.store(MPI_COMM_NULL, std::memory_order_relaxed);
    for (Shortcut& one : shortcuts)  // a new communicator may get this handle on some ranks
        if (one.comm == comm) one = {};
    weft_team* team = nullptr;
    {
        const std::lock_guard lock(tables_mutex);
        Communicator* const known = communicators_.find(comm);
        if (known == nullptr) return;
        team = known->team;
        communicators_.remove(comm);
    }
    if (team != nullptr && runtime_.runs() && comm != MPI_COMM_WORLD) runtime_.drop(team);
}

/// Counts a blocking call without a team, and tries to make the team when `calls` reaches
/// `next_try`. By guarantee `order`, all members count the same calls, so all try in the same call.
/// After a failure, they try again each time the count has doubled.
Why Layer::try_team(Communicator& at) {
    if (++at.calls < at.next_try) return runtime_.refused() ? Why::off : Why::no_team;
    at.next_try *= 2;
    const std::vector<int> members = ranks_in_world(at.member);
    if (members.empty()) return at.refused = Why::other_jobs;
    if (at.member.size == world_size_) runtime_.join();
    // Exchange `team`. A member may not have joined yet, or may be making a team in another thread.
    const bool ready = runtime_.runs() && !creating_.test_and_set();
    if (all_agree(at.member.comm, ready)) at.team = runtime_.make_team(at.member.comm, members);
    if (ready) creating_.clear();
    if (at.team == nullptr) return runtime_.refused() ? Why::off : Why::no_team;
    if (settings_.kinds_chosen != 0) {
        at.choices = std::make_unique<Choices>(at.member.size);
        at.choices->apply(shipped_ranges());
        at.choices->apply(settings_.ranges);
    }
    return Why::served;
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
