// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/layer.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "faces/mpi/settings.hpp"

namespace weft::mpi {

namespace {

int comm_deleted(MPI_Comm comm, int, void*, void*) {
    Layer::get().forget(comm);
    return MPI_SUCCESS;
}

int mpi_ends(MPI_Comm, int, void*, void*) {
    Layer::get().end();
    return MPI_SUCCESS;
}

// `start`, `order` and other names in backquotes: facts that layer.hpp lists.

/// Prints complaints about the settings on rank 0. Returns the ranges in the file of ranges.
std::vector<ChoiceRange> report(const Settings& settings) {
    std::string line;
    std::vector<ChoiceRange> ranges = read_ranges(settings.ranges, line);
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) return ranges;
    report_unknown_variables();
    if (!settings.warning.empty()) std::fprintf(stderr, "weft: %s\n", settings.warning.c_str());
    if (!line.empty())
        std::fprintf(stderr, "weft: %s: this line is not understood: %s\n",
                     settings.ranges_file.c_str(), line.c_str());
    if (!settings.complaint.empty())
        std::fprintf(stderr, "weft: collectives stay with MPI: %s\n", settings.complaint.c_str());
    return ranges;
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
    const Settings settings = read_settings();
    const Comparison compared = compare_settings(MPI_COMM_WORLD, settings, threaded_);
    if (!compared.equal) return;
    threads_anywhere_ = compared.threads_anywhere;
    ranges_ = report(settings);
    if (!settings.complaint.empty()) return;
    if (settings.statistics) statistics_.enable();
    kinds_on_ = settings.kinds_on;
    kinds_chosen_ = settings.kinds_chosen;
    calls_before_team_ = settings.calls_before_team;
    if (kinds_on_ == 0 && !statistics_.enabled()) return;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_deleted, &comm_key_, nullptr);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, mpi_ends, &end_key_, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, end_key_, nullptr);
    if (kinds_on_ != 0 && world_size_ > 1) runtime_.prepare(threaded_, settings.progress);
    kinds_off.store(statistics_.enabled() ? 0 : ~kinds_on_, std::memory_order_relaxed);
}

void Layer::end() {
    kinds_on_ = 0;
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
    // Making a team costs what hundreds of calls save, and many communicators have few calls.
    if (comm != MPI_COMM_WORLD) fresh.next_try = calls_before_team_ + 1;
    return &communicators_.add(comm, std::move(fresh));
}

void Layer::forget(MPI_Comm comm) {
    if (comm == handed_back.load(std::memory_order_relaxed))
        handed_back.store(MPI_COMM_NULL, std::memory_order_relaxed);
    for (Shortcut& one : shortcuts)  // a new communicator may get this handle on some ranks
        if (one.comm == comm) one = {};
    weft_team* team = nullptr;
    {
        const std::lock_guard lock(tables_mutex());
        Communicator* const known = communicators_.find(comm);
        if (known == nullptr) return;
        team = known->team;
        communicators_.remove(comm);
    }
    if (team != nullptr && runtime_.runs() && comm != MPI_COMM_WORLD) runtime_.drop(team);
}

/// Returns the ranks in MPI_COMM_WORLD of a communicator's members; an empty list if a member is
/// a process of another job. Guarantee `members`: all members get the same answer, since jobs
/// share no process.
std::vector<int> Layer::ranks_in_world(const Member& member) const {
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

/// Counts a blocking call without a team, and tries to make the team when `calls` reaches
/// `next_try`. Guarantee `order`: all members count the same calls, so all try in the same call.
/// They try again each time the count has doubled.
Why Layer::try_team(Communicator& at) {
    if (++at.calls < at.next_try) return runtime_.refused() ? Why::off : Why::no_team;
    at.next_try *= 2;
    const std::vector<int> members = ranks_in_world(at.member);
    if (members.empty()) return at.refused = Why::other_jobs;
    if (at.member.size == world_size_) runtime_.join();
    // Exchange `team`. A member may not have joined yet, or may be making a team in another thread.
    int ready = 0;
    {
        const std::lock_guard lock(tables_mutex());
        ready = runtime_.runs() && !creating_ ? 1 : 0;
        if (ready != 0) creating_ = true;
    }
    int all_ready = 0;
    const int outcome = PMPI_Allreduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, at.member.comm);
    if (outcome == MPI_SUCCESS && all_ready != 0)
        at.team = runtime_.make_team(at.member.comm, members);
    if (ready != 0) {
        const std::lock_guard lock(tables_mutex());
        creating_ = false;
    }
    if (at.team == nullptr) return runtime_.refused() ? Why::off : Why::no_team;
    if (kinds_chosen_ != 0) {
        at.choices = std::make_unique<Choices>(at.member.size);
        at.choices->apply(shipped_ranges());
        at.choices->apply(ranges_);
    }
    return Why::served;
}

/// Returns Why::served if weft serves the call by the rules of the mode `auto`, else Why::slower.
/// Guarantees `order` and `bytes`: all members make exchange `buffers` in the same call.
Why Layer::choose(Communicator& at, const PreparedCall& call, const Shortcut* shortcut) {
    Choices& choices = *at.choices;
    const CallKind kind = call.kind();
    const std::size_t bytes = call.common_bytes();
    const bool known = choices.library(kind, bytes) != Library::unknown;
    if (!known && shortcut != nullptr && bytes >= Choices::kLongBytes &&
        choices.long_calls(kind).count(call.in(), call.out())) {
        const int mine = choices.long_calls(kind).reuse_buffers() ? 1 : 0;
        int all = 0;
        const int outcome = PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, at.member.comm);
        choices.long_calls(kind).agree(outcome == MPI_SUCCESS && all != 0);
    }
    if (!choices.goes_to_host(kind, bytes)) return Why::served;
    const auto cannot_be_freed = [](MPI_Datatype type) {
        return type == MPI_DATATYPE_NULL || is_builtin(type);
    };
    if (known && shortcut != nullptr && !threaded_ && !statistics_.enabled() &&
        cannot_be_freed(shortcut->type) && cannot_be_freed(shortcut->other_type) &&
        is_builtin_operation(shortcut->op) && shortcut->count != Shortcut::kNever)
        shortcuts[static_cast<std::size_t>(kind)] = *shortcut;
    return Why::slower;
}

}  // namespace weft::mpi
