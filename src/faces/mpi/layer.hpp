// SPDX-License-Identifier: BSD-3-Clause
// layer.hpp - decides for each collective call of a program whether weft or its MPI serves it.
//
// Rule     Whether weft serves a call depends only on facts that MPI guarantees to be equal on all
//          members, or on an exchange in which all members take part. Each condition in this folder
//          names the guarantee or the exchange that it rests on.
// Idea     A blocking collective call on a communicator of at least two ranks finds or makes the
//          communicator's team. A started call uses an existing team. Calls with a team are served
//          if weft supports them; all others go to PMPI.
// Facts    MPI guarantees `members`, the group of a communicator, and whether it has two groups.
//          It guarantees `order`, the order of the collective calls on a communicator. It
//          guarantees `root`, the root of a call. It guarantees `bytes`, the bytes of a block
//          between two ranks, by the type signature. It guarantees `same`, the count, the type and
//          the operation of a reduction. Exchange `start`: MPI_Init compares variables, the ranges
//          of `auto`, and whether a rank has several threads. Exchange `join`: the runtime starts
//          on all ranks of the world, or on no rank. Exchange `team`: the members of a communicator
//          make a team together, or do without. Exchange `buffers`: the members agree whether the
//          buffers of long calls recur on all of them.
//          Facts of one rank are its addresses, its memory, the counts that it alone knows, and the
//          types of data that is moved. A call is served whatever they are (prepared.hpp).
// Holds    The layer serves nothing before MPI_Init has ended, and nothing in a program that uses
//          sessions alone. It makes hidden calls in MPI_Init, on MPI_COMM_WORLD; in blocking calls,
//          on the communicator of the call or on one of its own; and in MPI_Finalize. So all ranks
//          make them at the same place in the order of the program's calls.
//          Nothing of ours is left when MPI_Finalize returns: an attribute of MPI_COMM_SELF, whose
//          end MPI announces first, ends the runtime. Teams end with attributes of communicators,
//          without waiting.
// Next     settings.hpp for the comparison in MPI_Init; choices.hpp for the mode `auto`;
//          shared_runtime.hpp for weft in the program; calls.cpp for the entries.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "faces/mpi/choices.hpp"
#include "faces/mpi/handle_map.hpp"
#include "faces/mpi/host.hpp"
#include "faces/mpi/prepared.hpp"
#include "faces/mpi/shared_runtime.hpp"
#include "faces/mpi/statistics.hpp"
#include "weft/weft.h"

namespace weft::mpi {

/// State of a communicator.
struct Communicator {
    Place place{};
    Why refused = Why::served;  ///< why the host serves all calls
    weft_team* team = nullptr;
    unsigned calls = 0;                ///< blocking calls without a team
    unsigned next_try = 1;             ///< value of `calls` at which to try to make a team
    std::unique_ptr<Choices> choices;  ///< for calls that weft serves only where it is faster
};

// --- passing by ----------------------------------------------------------------------------------

// The host's fastest calls take 70 ns in a stream. Looking up the communicator and reading the
// arguments would add a fifth. So the entries first look at the following.

/// Arguments on which the choice for a call depends.
struct Shortcut {
    static constexpr MPI_Count kNever = -1;  ///< count of calls that are not remembered

    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
    MPI_Count other_count = 0;
    MPI_Datatype other_type = MPI_DATATYPE_NULL;

    [[nodiscard]] bool operator==(const Shortcut& other) const {
        return comm == other.comm && count == other.count && type == other.type && op == other.op &&
               root == other.root && other_count == other.other_count &&
               other_type == other.other_type;
    }
};

/// Last call of each Kind that the ranges of `auto` give to the host, with types and operations
/// that no program can free. Not used in programs with several threads.
inline std::array<Shortcut, kKindNames.size()> shortcuts;

/// A communicator whose calls all go to the host uncounted; else MPI_COMM_NULL.
/// Relaxed: a late store only delays the shortcut to the host.
inline std::atomic<MPI_Comm> handed_back{MPI_COMM_NULL};

/// Bits of the kinds of calls that all go to the host and are not counted: all kinds before
/// MPI_Init ends. Relaxed: as above.
inline std::atomic<std::uint32_t> kinds_off{~std::uint32_t{0}};

[[nodiscard]] constexpr bool has_kind(std::uint32_t kinds, Kind kind) {
    return (kinds >> static_cast<unsigned>(kind) & 1U) != 0;
}

/// Returns true if the host serves a blocking call without further checks.
[[nodiscard]] inline bool passes_by(Kind kind, const Shortcut& call) {
    return shortcuts[static_cast<std::size_t>(kind)] == call ||
           has_kind(kinds_off.load(std::memory_order_relaxed), kind) ||
           call.comm == handed_back.load(std::memory_order_relaxed);
}

class Layer {
  public:
    static Layer& get();

    /// Makes a blocking call, or starts one. prepare(PreparedCall&) returns why weft cannot serve
    /// it; host() calls PMPI. request: of a started call.
    template <bool kStarts, class Prepare, class Host>
    int make(Kind kind, const Shortcut& shortcut, MPI_Request* request, Prepare prepare,
             Host host) {
        const CallTimer timer(statistics_);
        Why why = Why::off;
        if (Communicator* const at = has_kind(kinds_on_, kind) ? find(shortcut.comm) : nullptr) {
            why = at->refused;
            if (why == Why::served) why = kStarts ? can_start(*at, request) : have_team(*at);
            if (why == Why::served) {
                PreparedCall call(kind, at->place);
                why = locked([&] { return prepare(call); });
                if (why == Why::served && has_kind(kinds_chosen_, kind)) [[unlikely]]
                    why = choose(*at, call, kStarts ? nullptr : &shortcut);
                if (why == Why::served) {
                    const std::size_t bytes = statistics_.wanted() ? call.bytes() : 0;
                    const int result = kStarts ? runtime_.start(at->team, std::move(call), request)
                                               : runtime_.run(at->team, call);
                    timer.count(statistics_, kind, why, bytes);
                    return result;
                }
            }
        }
        const int result = host();
        timer.count(statistics_, kind, why, 0);
        return result;
    }

    /// Called when MPI_Init has returned on this rank. Collective over MPI_COMM_WORLD: ranks
    /// compare their settings. Never called in a program that uses sessions alone.
    void begin();
    /// Returns true if begin() was called.
    [[nodiscard]] bool begun() const { return begun_; }
    /// Called when an attribute of this layer is deleted: with its communicator, or when MPI ends.
    void forget(MPI_Comm comm);
    void end();

  private:
    Layer() = default;
    /// Calls act() with the tables, which other threads may use, too.
    template <class Act>
    auto locked(Act act) const {
        if (!threaded_) return act();
        const std::lock_guard lock(tables_mutex());
        return act();
    }
    [[nodiscard]] Communicator* find(MPI_Comm comm) {
        return locked([&] {
            Communicator* const known = communicators_.find(comm);
            return known != nullptr ? known : learn(comm);
        });
    }
    Communicator* learn(MPI_Comm comm);
    [[nodiscard]] Why have_team(Communicator& at) {
        return at.team != nullptr ? Why::served : try_team(at);
    }
    Why try_team(Communicator& at);
    [[nodiscard]] Why can_start(const Communicator& at, const MPI_Request* request) const {
        if (at.team == nullptr || request == nullptr) return Why::no_team;
        // Exchange `start`: a rank with one thread also hands the call back.
        return threads_anywhere_ && !kRequestsEndInProgress ? Why::threads : Why::served;
    }
    /// shortcut: nullptr for a started call.
    [[nodiscard]] Why choose(Communicator& at, const PreparedCall& call, const Shortcut* shortcut);
    [[nodiscard]] std::vector<int> ranks_in_world(const Place& place) const;

    std::uint32_t kinds_on_ = 0;      ///< bits of Kind
    std::uint32_t kinds_chosen_ = 0;  ///< subset of kinds_on_: served where weft is faster
    unsigned calls_before_team_ = 8;
    bool begun_ = false;
    bool threaded_ = false;          ///< this rank has MPI_THREAD_MULTIPLE, so it takes locks
    bool threads_anywhere_ = false;  ///< some rank has MPI_THREAD_MULTIPLE
    bool creating_ = false;          ///< a thread is making a team
    int comm_key_ = MPI_KEYVAL_INVALID;
    int end_key_ = MPI_KEYVAL_INVALID;
    int world_size_ = 0;
    SharedRuntime& runtime_ = SharedRuntime::get();
    HandleMap<MPI_Comm, Communicator> communicators_;
    Statistics statistics_;
    std::vector<ChoiceRange> ranges_;  ///< content of the file of ranges
};

/// Ends the process with a message if the code at `caller` was built for the other MPI. `caller` is
/// the return address of MPI_Init (loading.cpp).
void check_caller(const void* caller);

}  // namespace weft::mpi
