// SPDX-License-Identifier: BSD-3-Clause
// layer.hpp - decides for each collective call whether weft or the host serves it.
//
// Rule     Whether weft serves a call depends only on facts that MPI guarantees to be equal on all
//          members, or on an exchange in which all members take part. Each condition in this folder
//          names its guarantee or exchange.
// Idea     A blocking call uses a team that all communicators of its members share: MPI allows no
//          two blocking calls in different orders on two ranks. Started calls on two communicators
//          may be in different orders, so they use a team of the communicator alone, its lane.
//          With several threads, blocking calls use the lane, too. Ranks may start persistent calls
//          of a communicator in different orders, so each persistent call has a lane of its own
//          until it is freed. Calls with a team are served if weft supports them; all others go to
//          PMPI.
// Facts    MPI guarantees these facts to be equal on all members. `members`: the group of a
//          communicator, and whether it has two groups. `order`: the order of the collective calls
//          on a communicator. `root`: the root of a call. `bytes`: the bytes of a block between two
//          ranks, by the type signature. `same`: the count, the type and the operation of a
//          reduction.
//          Members exchange other facts. `start`: MPI_Init compares variables, the ranges of
//          `auto`, and whether a rank has several threads. `join`: the runtime starts on all ranks
//          of the job, or on none. `team`: all members of a communicator make a team or a lane, or
//          use a team that all have, or none does. `buffers`: whether the buffers of long calls
//          recur on all members. `rounds`: whether the data of neighbors is long on all members.
//          Facts of one rank (addresses, free memory, counts that only this rank knows, types of
//          moved data) never decide (prepared.hpp).
// Holds    The layer serves nothing before MPI_Init has ended or, in a program that only uses
//          sessions, before all processes have made a communicator. It makes hidden calls there; in
//          calls that make communicators, on the new one; in blocking calls, on the communicator of
//          the call or on a communicator of the layer; and in MPI_Finalize. So all ranks make them
//          at the same place in the order of the program's calls.
//          MPI_Finalize first deletes the attributes of MPI_COMM_SELF; the layer's attribute then
//          ends the runtime. Attributes of other communicators end their teams, without waiting.
// Next     settings.hpp for the comparison in MPI_Init; choices.hpp for the mode `auto`;
//          shared_runtime.hpp for weft in the program; calls.cpp for the entries.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "faces/mpi/choices.hpp"
#include "faces/mpi/handle_map.hpp"
#include "faces/mpi/host.hpp"
#include "faces/mpi/prepared.hpp"
#include "faces/mpi/recovery.hpp"
#include "faces/mpi/requests.hpp"
#include "faces/mpi/settings.hpp"
#include "faces/mpi/shared_runtime.hpp"
#include "faces/mpi/statistics.hpp"
#include "weft/weft.h"

namespace weft::mpi {

/// Team for the blocking calls on all communicators with the same members in the same order.
struct GroupTeam {
    weft_team* team = nullptr;
    std::int64_t serial = 0;             ///< equal on all members, not 0
    std::int64_t calls = 0;              ///< blocking calls with the team
    std::unique_ptr<Recovery> recovery;  ///< set after members have disagreed about a call
};

/// State of a communicator.
struct Communicator {
    Member member{};
    Why refused = Why::served;  ///< why the host serves all calls; `served`: weft may serve calls
    std::shared_ptr<GroupTeam> group;  ///< team that communicators share; nullptr: `lane`, or none
    weft_team* team = nullptr;         ///< for blocking calls
    std::shared_ptr<Lane> lane;        ///< for started calls
    std::vector<std::shared_ptr<Lane>> call_lanes;  ///< of persistent calls
    unsigned calls = 0;                       ///< blocking calls before the communicator had a team
    unsigned next_try = 1;                    ///< value of `calls` at which to try to make a team
    std::shared_ptr<Neighborhood> neighbors;  ///< made by the first neighbor call
    /// Last neighbor call. Programs repeat such calls, whose arguments are long lists.
    std::shared_ptr<PreparedCall> neighbor_call;
    std::unique_ptr<Choices> choices;  ///< for kinds in mode `auto`; nullptr: no kind, or no team

    [[nodiscard]] weft_team* lane_team() const { return lane == nullptr ? nullptr : lane->team; }
};

// --- shortcuts to the host -----------------------------------------------------------------------

// The host's fastest calls, made back to back, take 70 ns. Looking up the communicator and reading
// the arguments would add a fifth, so the entries first compare with the variables below.

/// Arguments on which the choice for a call depends.
struct Shortcut {
    static constexpr MPI_Count kNever = -1;  ///< marks calls that no shortcut keeps

    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
    // lint: allow(dead-field): operator== reads it
    MPI_Count other_count = 0;
    MPI_Datatype other_type = MPI_DATATYPE_NULL;

    [[nodiscard]] bool operator==(const Shortcut&) const = default;
};

/// Last call of each kind that the ranges of `auto` assign to the host, with types and operations
/// that no program can free. Not used under MPI_THREAD_MULTIPLE.
inline std::array<Shortcut, kKindNames.size()> shortcuts;

/// The communicator that was found last to leave all its calls to the host, uncounted;
/// MPI_COMM_NULL: none. Relaxed: a late store only delays the shortcut to the host.
inline std::atomic<MPI_Comm> handed_back{MPI_COMM_NULL};

/// The communicator that this thread frees. Callbacks of its attributes may use it, but the layer
/// must not add it again.
inline thread_local MPI_Comm freeing = MPI_COMM_NULL;

/// Bits of the kinds of calls that go to the host without being counted; all kinds are set until
/// MPI_Init ends. Relaxed: a late store only delays the first served call.
inline std::atomic<std::uint32_t> kinds_off{~std::uint32_t{0}};

[[nodiscard]] constexpr bool has_kind(std::uint32_t kinds, CallKind kind) {
    return (kinds >> static_cast<unsigned>(kind) & 1U) != 0;
}

/// Returns true if the host serves a blocking call without further checks.
[[nodiscard]] inline bool goes_to_host_at_once(CallKind kind, const Shortcut& call) {
    return shortcuts[static_cast<std::size_t>(kind)] == call ||
           has_kind(kinds_off.load(std::memory_order_relaxed), kind) ||
           call.comm == handed_back.load(std::memory_order_relaxed);
}

class Layer {
  public:
    static Layer& get();

    /// Makes a blocking call, or starts or initializes a call and sets `request`. host() calls
    /// PMPI; prepare(PreparedCall&) returns why weft cannot serve the call, or Why::served.
    template <Form kForm, class Prepare, class Host>
    int make(CallKind kind, const Shortcut& shortcut, MPI_Request* request, Prepare prepare,
             Host host) {
        constexpr bool kBlocks = kForm == Form::blocking;
        const Statistics::Time begun = statistics_.begin();
        Communicator* const at = has_kind(settings_.kinds_on, kind) ? find(shortcut.comm) : nullptr;
        Why why = at != nullptr ? at->refused : Why::off;
        if (kForm == Form::started) starts_calls_.store(true, std::memory_order_relaxed);
        if (why == Why::served && kForm == Form::started && at->lane == nullptr &&
            at->member.size > 1)
            why = Why::no_team;
        if (why == Why::served && !kBlocks && request == nullptr) why = Why::arguments;
        if (why == Why::served && kBlocks && at->team == nullptr && at->member.size > 1)
            why = try_team(*at);
        if (why == Why::served) {
            const bool is_kept =
                kForm != Form::persistent && kind >= CallKind::neighbor_allgather && !threaded_;
            std::optional<PreparedCall> made;
            PreparedCall& call =
                is_kept ? kept_call(*at, kind, kForm)
                        : made.emplace(kind, at->member, kForm, neighbors_for(*at, kind));
            why = locked([&] { return prepare(call); });
            if (why == Why::served && at->choices != nullptr &&
                has_kind(settings_.kinds_chosen, kind)) [[unlikely]]
                why = choose(*at, call, kBlocks ? &shortcut : nullptr);
            std::shared_ptr<Lane> lane;
            if (why == Why::served && kForm == Form::persistent && at->member.size > 1)
                why = take_lane(*at, lane);
            if (why == Why::served) {
                const std::size_t bytes = statistics_.enabled() ? call.bytes() : 0;
                int result = MPI_SUCCESS;
                if constexpr (kBlocks) {
                    if (is_kept && !settings_.threads_anywhere && at->member.size > 1)
                        agree_on_rounds(*at, call);
                    if (at->group != nullptr) ++at->group->calls;
                    const weft_status status = runtime_.run(at->team, call);
                    if (status != WEFT_OK && resumes(*at, call, status)) [[unlikely]]
                        why = Why::no_team;
                    else
                        result = runtime_.finish(call, status);
                } else {
                    auto shared = is_kept ? at->neighbor_call
                                          : std::make_shared<PreparedCall>(std::move(call));
                    shared->keep_types();
                    result = kForm == Form::started
                                 ? runtime_.start(at->lane_team(), std::move(shared), request)
                                 : PersistentCalls::get().add(std::move(shared), std::move(lane),
                                                              request);
                }
                if (is_kept && result == MPI_SUCCESS &&
                    at->neighbor_call->packed_bytes() > kKeptMax)
                    at->neighbor_call = nullptr;
                if (why == Why::served) {
                    statistics_.count(kind, why, bytes, begun);
                    return result;
                }
            }
        }
        const int result = host();
        statistics_.count(kind, why, 0, begun);
        return result;
    }

    /// Called when MPI_Init has returned on this rank, with MPI_COMM_WORLD; in a program that only
    /// uses sessions, with the first communicator of all processes. Collective over `world`: ranks
    /// compare their settings and start the runtime.
    void begin(MPI_Comm world);
    /// Called when the program has made a communicator. Collective over it: makes its lane.
    void adopt(MPI_Comm comm);
    /// Returns true if begin() was called.
    [[nodiscard]] bool begun() const { return begun_; }
    /// Removes a communicator's state. MPI calls this when it deletes the layer's attribute.
    void forget(MPI_Comm comm);
    /// Ends the runtime. Called at the start of MPI_Finalize.
    void end();

  private:
    Layer() = default;
    /// Calls act() with the lock of the tables, if the program has several threads.
    template <class Act>
    auto locked(Act act) const {
        if (!threaded_) return act();
        const std::lock_guard lock(tables_mutex);
        return act();
    }
    [[nodiscard]] Communicator* find(MPI_Comm comm) {
        return locked([&] {
            Communicator* const known = communicators_.find(comm);
            if (known == nullptr && comm == freeing) return known;
            return known != nullptr ? known : add(comm);
        });
    }
    /// Number of communicators that get a lane although the program has not started calls yet.
    /// Making a lane takes the time of hundreds of calls, and most communicators have no started
    /// call.
    static constexpr int kWantedLanes = 16;
    static constexpr int kLanesMax = 22;          ///< a rank can be in 32 teams; others are shared
    static constexpr std::size_t kUnusedMax = 4;  ///< shared teams that no communicator uses

    static constexpr std::size_t kRoundMin = 64 << 10;  ///< data for a neighbor, for rounds
    static constexpr std::size_t kKeptMax = 64 << 10;   ///< packed bytes of a kept neighbor call

    Communicator* add(MPI_Comm comm);
    Why try_team(Communicator& at);
    void share_team(Communicator& at, const std::vector<int>& members);
    void make_lane(Communicator& at, const std::vector<int>& members, bool wanted);
    Why take_lane(Communicator& at, std::shared_ptr<Lane>& lane);
    static void agree_on_rounds(Communicator& at, const PreparedCall& call);
    bool resumes(Communicator& at, const PreparedCall& call, weft_status status);
    [[nodiscard]] bool is_ready_for_lane();
    std::shared_ptr<Lane> new_lane(const Communicator& at, const std::vector<int>& members,
                                   bool ready, bool makes);
    void drop_unused();
    [[nodiscard]] static std::shared_ptr<Neighborhood> neighbors_for(Communicator& at,
                                                                     CallKind kind) {
        if (kind < CallKind::neighbor_allgather) [[likely]]
            return nullptr;
        if (at.neighbors == nullptr) at.neighbors = Neighborhood::of(at.member.comm);
        return at.neighbors;
    }
    /// Returns the last neighbor call if it has this kind and form and is complete, else a new one.
    [[nodiscard]] static PreparedCall& kept_call(Communicator& at, CallKind kind, Form form) {
        std::shared_ptr<PreparedCall>& kept = at.neighbor_call;
        if (kept == nullptr || !kept->is(kind, form) || kept.use_count() > 1)
            kept = std::make_shared<PreparedCall>(kind, at.member, form, neighbors_for(at, kind));
        return *kept;
    }
    /// shortcut: nullptr for a started call.
    [[nodiscard]] Why choose(Communicator& at, const PreparedCall& call, const Shortcut* shortcut);

    Settings settings_;  ///< kinds_on is 0 before begin() and after end()
    bool begun_ = false;
    bool threaded_ = false;      ///< this rank has MPI_THREAD_MULTIPLE, so it takes locks
    std::atomic_flag creating_;  ///< a thread is making a team
    int comm_key_ = MPI_KEYVAL_INVALID;
    int end_key_ = MPI_KEYVAL_INVALID;
    int world_size_ = 0;
    SharedRuntime& runtime_ = SharedRuntime::get();
    HandleMap<MPI_Comm, Communicator> communicators_;
    std::map<std::vector<int>, std::shared_ptr<GroupTeam>> groups_;  ///< by ranks in the world
    std::shared_ptr<GroupTeam> world_;                               ///< never dropped
    std::int64_t last_serial_ = 1;
    std::atomic<int> lanes_{0};               ///< lanes of communicators and of persistent calls
    std::atomic<int> adopted_{0};             ///< calls of adopt() for several ranks
    std::atomic<bool> starts_calls_ = false;  ///< the program makes started calls
    Statistics statistics_;
};

/// Ends the process with a message if the code at `caller` was built for the other MPI. `caller` is
/// the return address of MPI_Init (loading.cpp).
void check_caller(const void* caller);

}  // namespace weft::mpi
