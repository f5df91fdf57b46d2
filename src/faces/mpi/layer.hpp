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
//          the operation of a reduction. Exchange `start`: MPI_Init compares variables, and whether
//          a rank has several threads. Exchange `join`: the runtime starts on all ranks of the
//          world, or on no rank. Exchange `team`: the members of a communicator make a team
//          together, or do without. Exchange `trial`: the members compare the times of a trial.
//          Facts of one rank are its addresses, its memory, the counts that it alone knows, and the
//          types of data that is moved. A call is served whatever they are (prepared.hpp).
// Holds    The layer serves nothing before MPI_Init has ended, and nothing in a program that uses
//          sessions alone. It makes hidden calls in MPI_Init, on MPI_COMM_WORLD; in blocking calls,
//          on the communicator of the call or on one of its own; and in MPI_Finalize. So all ranks
//          make them at the same place in the order of the program's calls.
//          Nothing of ours is left when MPI_Finalize returns: an attribute of MPI_COMM_SELF, whose
//          end MPI announces first, ends the runtime. Teams end with attributes of communicators,
//          without waiting. Under MPI_THREAD_MULTIPLE no thread keeps the runtime while it waits.
// Next     settings.hpp for the comparison in MPI_Init; prepared.hpp for the form of a call in
//          weft; host.hpp for progress; calls.cpp for the entries.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "faces/mpi/choice_file.hpp"
#include "faces/mpi/choices.hpp"
#include "faces/mpi/handle_map.hpp"
#include "faces/mpi/host.hpp"
#include "faces/mpi/prepared.hpp"
#include "faces/mpi/shortcuts.hpp"
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

/// A communicator whose calls all go to the host uncounted; else MPI_COMM_NULL.
/// Relaxed: a late store only delays the shortcut to the host.
inline std::atomic<MPI_Comm> handed_back{MPI_COMM_NULL};

[[nodiscard]] inline bool is_handed_back(MPI_Comm comm) {
    return comm == handed_back.load(std::memory_order_relaxed);
}

/// Bits of the kinds of calls that all go to the host and are not counted: all kinds before
/// MPI_Init ends. Relaxed: as above.
inline std::atomic<std::uint32_t> kinds_off{~std::uint32_t{0}};

[[nodiscard]] inline bool is_off(Kind kind) {
    return (kinds_off.load(std::memory_order_relaxed) >> static_cast<unsigned>(kind) & 1U) != 0;
}

class Layer {
  public:
    static Layer& get();

    /// Makes a blocking call. prepare(PreparedCall&) returns why weft cannot serve it;
    /// host() calls PMPI.
    template <class Prepare, class Host>
    int blocking(Kind kind, const Shortcut& shortcut, Prepare prepare, Host host) {
        const MPI_Comm comm = shortcut.comm;
        const Timer timer(statistics_);
        std::size_t bytes = 0;
        Why why = Why::off;
        if (Communicator* const at = on(kind) ? find(comm) : nullptr) {
            why = at->refused != Why::served ? at->refused : have_team(*at);
            if (why == Why::served) {
                PreparedCall call(kind, at->place);
                why = prepared(call, prepare);
                if (why == Why::served && chooses(kind)) [[unlikely]]
                    return quicker(*at, call, shortcut, host, timer);
                if (why == Why::served) {
                    if (statistics_.wanted()) bytes = call.bytes();
                    const int result = serve(*at, call);
                    timer.count(statistics_, kind, why, bytes);
                    return result;
                }
            }
        }
        const int result = host();
        timer.count(statistics_, kind, why, bytes);
        return result;
    }

    /// Makes a started call.
    template <class Prepare, class Host>
    int started(Kind kind, MPI_Comm comm, MPI_Request* request, Prepare prepare, Host host) {
        const Timer timer(statistics_);
        Why why = Why::off;
        if (Communicator* const at = on(kind) ? find(comm) : nullptr) {
            why = at->refused;
            if (why == Why::served && (at->team == nullptr || request == nullptr))
                why = Why::no_team;
            // Exchange `start`: a rank with one thread also hands the call back.
            if (why == Why::served && threads_anywhere_ && !kRequestsEndInProgress)
                why = Why::threads;
            if (why == Why::served) {
                auto call = std::make_unique<StartedCall>(kind, at->place);
                why = prepared(call->call, prepare);
                if (why == Why::served && chooses(kind) && hosts_are_quicker(*at, call->call))
                    why = Why::slower;
                if (why == Why::served) {
                    timer.count(statistics_, kind, why, call->call.bytes());
                    return start(*at, std::move(call), request);
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
    /// Drives started calls. Returns the number of calls that have completed.
    int progress();

  private:
    struct StartedCall {
        StartedCall(Kind kind, const Place& place) : call(kind, place), comm(place.comm) {}
        PreparedCall call;
        MPI_Comm comm;
        weft_request* request = nullptr;
        MPI_Request hosts = MPI_REQUEST_NULL;  ///< request that the program waits for
        int* error = nullptr;                  ///< result of the host's request, freed with it
    };
    using StartedCalls = std::list<std::unique_ptr<StartedCall>>;

    /// Measures the time of a call if statistics are wanted.
    class Timer {
      public:
        explicit Timer(const Statistics& statistics) {
            if (statistics.wanted()) begun_ = std::chrono::steady_clock::now();
        }
        void count(Statistics& statistics, Kind kind, Why why, std::size_t bytes) const {
            if (!statistics.wanted()) return;
            const auto ns = std::chrono::steady_clock::now() - begun_;
            statistics.count(kind, why, bytes, static_cast<std::uint64_t>(ns.count()));
        }

      private:
        std::chrono::steady_clock::time_point begun_;
    };

    /// Exclusive use of weft by this thread.
    class Turn {
      public:
        explicit Turn(Layer& layer);
        Turn(Layer& layer, std::try_to_lock_t);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        [[nodiscard]] bool taken() const { return taken_; }

      private:
        Layer& layer_;
        bool taken_ = true;
    };

    Layer() = default;
    [[nodiscard]] bool on(Kind kind) const {
        return (kinds_on_ >> static_cast<unsigned>(kind) & 1U) != 0;
    }
    [[nodiscard]] Communicator* find(MPI_Comm comm);
    Communicator* learn(MPI_Comm comm);
    [[nodiscard]] Why have_team(Communicator& at) {
        return at.team != nullptr ? Why::served : try_team(at);
    }
    Why try_team(Communicator& at);
    void make_team(Communicator& at, const std::vector<int>& members);
    template <class Prepare>
    Why prepared(PreparedCall& call, Prepare& prepare) {
        if (!threaded_) return prepare(call);
        const std::lock_guard lock(tables_mutex());
        return prepare(call);
    }
    int serve(Communicator& at, PreparedCall& call);
    weft_status run_shared(weft_team* team, PreparedCall& call);
    [[nodiscard]] bool chooses(Kind kind) const {
        return (kinds_chosen_ >> static_cast<unsigned>(kind) & 1U) != 0;
    }
    [[nodiscard]] bool hosts_are_quicker(Communicator& at, const PreparedCall& call);
    void share_choices(Communicator& at);
    void compare(Communicator& at, Choices::Place place);
    void remember_host(Kind kind, const Shortcut& shortcut, Glances* left);
    /// Makes a blocking call with the faster library.
    template <class Host>
    int quicker(Communicator& at, PreparedCall& call, const Shortcut& shortcut, Host& host,
                const Timer& timer) {
        Choices& choices = *at.choices;
        const Choices::Place place = Choices::place_of(call.kind(), call.common_bytes());
        const Choices::Turn turn = choices.next(place);
        const double begun_us = turn.begins ? now_us() : 0;
        const int result = turn.host ? host() : serve(at, call);
        if (turn.tried && choices.tried(place, turn, begun_us, turn.ends ? now_us() : 0))
            compare(at, place);
        if (turn.host && !turn.tried) remember_host(call.kind(), shortcut, &no_end);
        if (turn.tried) remember_host(call.kind(), shortcut, choices.glances(place));
        timer.count(statistics_, call.kind(), turn.host ? Why::slower : Why::served,
                    turn.host || !statistics_.wanted() ? 0 : call.bytes());
        return result;
    }
    [[nodiscard]] static double now_us() {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration<double, std::micro>(now).count();
    }
    int start(Communicator& at, std::unique_ptr<StartedCall> call, MPI_Request* request);
    [[nodiscard]] std::vector<int> ranks_in_world(const Place& place) const;
    void drop(weft_team* team);
    void drop_late();
    bool join();
    void read_tuning();
    void write_tuning();

    static int exchange(void* comm, const void* mine, void* all, std::size_t bytes);
    static int share_among_members(void* comm, const void* mine, void* all, std::size_t bytes);

    std::uint32_t kinds_on_ = 0;      ///< bits of Kind
    std::uint32_t kinds_chosen_ = 0;  ///< subset of kinds_on_: served where weft is faster
    unsigned calls_before_team_ = 8;
    bool begun_ = false;
    bool threaded_ = false;          ///< this rank has MPI_THREAD_MULTIPLE, so it takes locks
    bool threads_anywhere_ = false;  ///< some rank has MPI_THREAD_MULTIPLE
    bool progress_ = true;
    bool refused_ = false;   ///< the runtime failed to start
    bool creating_ = false;  ///< a thread is making a team
    int comm_key_ = MPI_KEYVAL_INVALID;
    int end_key_ = MPI_KEYVAL_INVALID;
    int world_size_ = 0;
    MPI_Comm own_ = MPI_COMM_NULL;  ///< duplicate of MPI_COMM_WORLD, used by the layer only
    weft_runtime* runtime_ = nullptr;
    std::mutex join_mutex_;
    std::mutex turn_mutex_;
    HandleMap<MPI_Comm, Communicator> communicators_;
    std::vector<weft_team*> late_teams_;  ///< dropped when no call of weft is in progress
    StartedCalls started_;
    std::atomic<std::size_t> started_count_{0};
    unsigned idle_looks_ = 0;
    Statistics statistics_;
    std::string tuning_file_;
    KnownWays known_;    ///< verdicts of the file and of trials in this job
    bool news_ = false;  ///< trials have added a verdict
};

}  // namespace weft::mpi
