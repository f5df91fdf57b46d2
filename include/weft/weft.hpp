// SPDX-License-Identifier: BSD-3-Clause
// weft.hpp - the C++ interface: a runtime, teams of ranks, collectives, symmetric memory.
//
// A process joins its job by making a Runtime; the job was started by `weft run`, mpirun, srun or
// any other PMIx host (a process started by itself is a job of one rank). Calls on a team are
// collective: all members make them in the same order, with the same counts, types, operations and
// roots. Ranks that disagree get an Error that names both sides.
//
// Threads: one thread at a time drives a runtime and everything made from it, unless it was made
// with Threads::multiple. Threads that make runtimes at once take turns.
// Progress: data of others moves on during calls into the library only; a program that computes for
// long calls Runtime::progress() now and then.
// Errors: weft::Error, with a status and a text that names argument, rank and what was expected. A
// call whose arguments are refused changes nothing; after any other Error of a collective the team
// can only be freed, and other teams go on. Teams that have been freed, and all that belongs to a
// runtime that is gone, are refused.
// Ownership: the runtime owns teams and memory. Destructors never communicate, so a program that
// stops in the middle does not hang: what an object of this interface owned is abandoned, and freed
// once the other members have abandoned it, too, or with the runtime.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/call.hpp"
#include "weft/elements.hpp"
#include "weft/error.hpp"
#include "weft/export.h"
#include "weft/onesided.hpp"
#include "weft/types.hpp"

namespace weft {

/// A started call. Destroying it does not wait: the buffers then have to stay valid until the team
/// is idle, for example until its next barrier() returns.
class WEFT_API Request {
  public:
    Request() noexcept;
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    /// Drives everything that is in flight once; true when this call is complete, or if there is
    /// none. An Error if the call failed.
    bool test();
    /// Returns when this call is complete. An Error if it failed.
    void wait();

  private:
    friend class Team;
    friend class PersistentRequest;
    struct State;
    explicit Request(std::unique_ptr<State> state) noexcept;
    std::unique_ptr<State> state_;
};

/// A call that is prepared once and started often, with the same buffers each time.
class WEFT_API PersistentRequest {
  public:
    PersistentRequest() noexcept;
    PersistentRequest(PersistentRequest&& other) noexcept;
    PersistentRequest& operator=(PersistentRequest&& other) noexcept;
    /// As that of a Request, if the call is in flight.
    ~PersistentRequest();

    /// Collective, never waits. The call must not be in flight.
    void start();
    /// As those of a Request; a call that is not started is complete.
    bool test();
    void wait();

  private:
    friend class Team;
    struct State;
    std::unique_ptr<State> state_;
};

class Runtime;
class Memory;

namespace detail {
struct RuntimeLink;
}  // namespace detail

/// Which threads of the program call: one at a time; or any, at once: see weft_threads in weft.h.
enum class Threads : std::uint8_t { single, multiple };

/// What a call would take by some algorithm.
struct PredictedAlgorithm {
    std::string algorithm;
    double predicted_us = 0;
};

/// A team of ranks: a handle, cheap to copy, valid until free() of any copy or the end of its
/// runtime.
class WEFT_API Team : public OneSidedCalls {
  public:
    /// No team; its calls are refused.
    Team() noexcept = default;

    /// Of this process: 0 to size()-1. Not collective.
    [[nodiscard]] Rank rank() const;
    /// Number of members. Not collective.
    [[nodiscard]] Rank size() const;

    /// @name Collectives
    /// take a Call in three forms: run() returns when it is complete here; start() never waits,
    /// whatever was started before, on this or any other team, and its buffers belong to the
    /// library until the request is complete; prepare() checks the arguments and moves nothing (it
    /// is not collective), so that PersistentRequest::start() can make the same call often.
    /// @{
    void run(const Call& call);
    [[nodiscard]] Request start(const Call& call);
    [[nodiscard]] PersistentRequest prepare(const Call& call);
    /// @}

    /// @name Short forms of run()
    /// with the arguments of Call's functions of the same names, which say what they do.
    /// @{
    void barrier() { run(Call::barrier()); }
    void broadcast(void* buffer, std::size_t count, Type type, Rank root) {
        run(Call::broadcast(buffer, count, type, root));
    }
    void allreduce(const void* in, void* out, std::size_t count, Type type, Op op) {
        run(Call::allreduce(in, out, count, type, op));
    }
    void allreduce(const void* in, void* out, std::size_t count, const UserOp& op) {
        run(Call::allreduce(in, out, count, op));
    }
    void reduce(const void* in, void* out, std::size_t count, Type type, Op op, Rank root) {
        run(Call::reduce(in, out, count, type, op, root));
    }
    void reduce(const void* in, void* out, std::size_t count, const UserOp& op, Rank root) {
        run(Call::reduce(in, out, count, op, root));
    }
    void gather(const void* in, void* out, std::size_t count, Type type, Rank root) {
        run(Call::gather(in, out, count, type, root));
    }
    void scatter(const void* in, void* out, std::size_t count, Type type, Rank root) {
        run(Call::scatter(in, out, count, type, root));
    }
    void allgather(const void* in, void* out, std::size_t count, Type type) {
        run(Call::allgather(in, out, count, type));
    }
    void alltoall(const void* in, void* out, std::size_t count, Type type) {
        run(Call::alltoall(in, out, count, type));
    }
    void reduce_scatter(const void* in, void* out, std::size_t count, Type type, Op op) {
        run(Call::reduce_scatter(in, out, count, type, op));
    }
    void reduce_scatter(const void* in, void* out, std::size_t count, const UserOp& op) {
        run(Call::reduce_scatter(in, out, count, op));
    }
    void scan(const void* in, void* out, std::size_t count, Type type, Op op) {
        run(Call::scan(in, out, count, type, op));
    }
    void scan(const void* in, void* out, std::size_t count, const UserOp& op) {
        run(Call::scan(in, out, count, op));
    }
    void exscan(const void* in, void* out, std::size_t count, Type type, Op op) {
        run(Call::exscan(in, out, count, type, op));
    }
    void exscan(const void* in, void* out, std::size_t count, const UserOp& op) {
        run(Call::exscan(in, out, count, op));
    }
    void gatherv(const void* in, std::size_t count, void* out, Blocks out_blocks, Type type,
                 Rank root) {
        run(Call::gatherv(in, count, out, out_blocks, type, root));
    }
    void scatterv(const void* in, Blocks in_blocks, void* out, std::size_t count, Type type,
                  Rank root) {
        run(Call::scatterv(in, in_blocks, out, count, type, root));
    }
    void allgatherv(const void* in, void* out, Blocks out_blocks, Type type) {
        run(Call::allgatherv(in, out, out_blocks, type));
    }
    void alltoallv(const void* in, Blocks in_blocks, void* out, Blocks out_blocks, Type type) {
        run(Call::alltoallv(in, in_blocks, out, out_blocks, type));
    }
    void reduce_scatterv(const void* in, void* out, std::span<const std::size_t> counts, Type type,
                         Op op) {
        run(Call::reduce_scatterv(in, out, counts, type, op));
    }
    void reduce_scatterv(const void* in, void* out, std::span<const std::size_t> counts,
                         const UserOp& op) {
        run(Call::reduce_scatterv(in, out, counts, op));
    }
    /// @}

    /// buffer: the same size on all members.
    template <class T>
    void broadcast(std::span<T> buffer, Rank root) {
        broadcast(buffer.data(), buffer.size(), type_of<T>(), root);
    }
    /// in.size() elements; out has at least as many.
    template <class T>
    void allreduce(std::span<const std::type_identity_t<T>> in, std::span<T> out, Op op) {
        if (out.size() < in.size())
            throw Error(Status::argument, "allreduce: out is shorter than in");
        allreduce(in.data(), out.data(), in.size(), type_of<T>(), op);
    }
    /// in.size() elements; the root's out has at least as many.
    template <class T>
    void reduce(std::span<const std::type_identity_t<T>> in, std::span<T> out, Op op, Rank root) {
        if (rank() == root && out.size() < in.size())
            throw Error(Status::argument, "reduce: out is shorter than in");
        reduce(in.data(), out.data(), in.size(), type_of<T>(), op, root);
    }
    /// In place.
    template <class T>
    void allreduce(std::span<T> inout, Op op) {
        allreduce(inout.data(), inout.data(), inout.size(), type_of<T>(), op);
    }
    /// Of one value each.
    template <Element T>
    [[nodiscard]] T allreduce(T value, Op op) {
        allreduce(&value, &value, 1, type_of<T>(), op);
        return value;
    }

    /// A handle of the same team whose one-sided calls have a fence and a quiet of their own: those
    /// of the context concern what was put and got through it, those of the team leave it out. Not
    /// collective. It ends with the team.
    [[nodiscard]] Team make_context();

    /// Collective: members with the same color form a team, ordered by key, then rank. No team
    /// where color < 0. If any of the new teams finds no place (each rank can be in 32 at a time),
    /// all members get an Error of Status::memory.
    [[nodiscard]] std::optional<Team> split(int color, int key);
    /// Collective: members that share memory with this one form a team, in the same order.
    [[nodiscard]] Team split_by_node();
    /// Collective: ends a team made by a split and release()s its memory. No started call of it may
    /// be in flight. All copies of the handle are refused afterwards. A team that has failed is
    /// dropped instead; one that fails now, too, with that Error.
    void free();
    /// This rank has no more use for a team made by a split. Not collective, never waits: calls in
    /// flight go on, and their requests end as ever. The team and its memory are reclaimed by a
    /// later split() of a team that has all its members, once all of them have dropped it, or with
    /// the runtime. All copies of the handle are refused afterwards.
    void drop();

    /// Collective: `bytes` bytes at the same offset of every member's heap, not cleared; alignment:
    /// a power of two, at most the size of the heap and 1 GiB. Ends with release(), free() of the
    /// team, or the runtime.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 64);
    /// Collective, with what allocate() gave: a quiet() of each; returns when all have entered.
    void release(void* memory);
    /// Where a member has what this rank has at `symmetric`, which lies in memory of allocate(): a
    /// pointer for loads and stores, nullptr if the two share no memory. Not collective. As
    /// shmem_ptr() of OpenSHMEM 1.5, with ranks of the team.
    [[nodiscard]] void* ptr(const void* symmetric, Rank peer) const;

    /// Collective: lets members put to, get from and change words in memory of this rank, any that
    /// it may read and write; each registers what it likes, or 0 bytes. The result is a name, not
    /// memory: where one-sided calls of this team take memory of a peer, byte i behind it is byte i
    /// of what that peer has registered. The memory stays the caller's, and where it is, until
    /// unregister_memory(), free() of the team, or the end of the runtime. See weft_register() in
    /// onesided.h.
    [[nodiscard]] void* register_memory(void* memory, std::size_t bytes);
    template <class T>
    [[nodiscard]] T* register_memory(std::span<T> memory) {
        static_assert(std::is_trivially_copyable_v<T>, "elements travel as bytes");
        return static_cast<T*>(register_memory(memory.data(), memory.size_bytes()));
    }
    /// Collective, with what register_memory() gave: a quiet() of each; returns when all have
    /// entered.
    void unregister_memory(const void* name);
    /// Bytes that a member has registered by that name; 0 if it is none. Not collective.
    [[nodiscard]] std::size_t registered_bytes(const void* name, Rank peer) const;

    /// Which algorithm a collective uses from now on, as `weft list` names them; empty: the
    /// library's choice. All members make the same call. A name that there is not is refused here,
    /// one that does not serve so many ranks by the call that would use it.
    void set_algorithm(std::string_view collective, std::string_view spec);
    /// The algorithm that a call would use now. Type and count do not matter to a barrier.
    [[nodiscard]] std::string algorithm_of(std::string_view collective, std::size_t count,
                                           Type type) const;
    /// Algorithms that such a call could use, the one with the least predicted time first, without
    /// those that do not give it what it needs. Not for calls whose counts only the two ends of a
    /// message know.
    [[nodiscard]] std::vector<PredictedAlgorithm> candidates_of(std::string_view collective,
                                                                std::size_t count, Type type) const;

  private:
    friend class Runtime;
    friend class Memory;
    friend class OwnedTeam;
    void abandon() noexcept;
    explicit Team(std::shared_ptr<detail::TeamLink> link) noexcept
        : OneSidedCalls(std::move(link)) {}
};

/// A team that ends with this object, which drop()s it: members do not wait for each other. Where
/// that is too late, call free().
class WEFT_API OwnedTeam : public Team {
  public:
    /// Owns a team that split() or split_by_node() made. No copy of the handle may be used
    /// afterwards.
    explicit OwnedTeam(Team team) noexcept : Team(std::move(team)) {}
    OwnedTeam(OwnedTeam&& other) noexcept;
    OwnedTeam& operator=(OwnedTeam&& other) noexcept;
    ~OwnedTeam();
};

/// Symmetric memory that ends with this object, which members abandon without waiting for each
/// other: it is freed by a later allocate() of the same team, once all members have abandoned it,
/// or with the team. Where that is too late, call free().
class WEFT_API Memory {
  public:
    Memory() noexcept = default;
    /// Collective over the team; see Team::allocate().
    Memory(Team team, std::size_t bytes, std::size_t alignment = 64);
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    ~Memory();

    [[nodiscard]] void* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_; }
    /// As elements; those that fit as a whole.
    template <class T>
    [[nodiscard]] std::span<T> as() const noexcept {
        static_assert(std::is_trivially_copyable_v<T>, "peers write elements as bytes");
        return {static_cast<T*>(data_), bytes_ / sizeof(T)};
    }
    /// A member's, for loads and stores; empty if it shares no memory with this rank.
    template <class T>
    [[nodiscard]] std::span<T> on(Rank peer) const {
        static_assert(std::is_trivially_copyable_v<T>, "peers write elements as bytes");
        void* const there = team_.ptr(data_, peer);
        return {static_cast<T*>(there), there == nullptr ? 0 : bytes_ / sizeof(T)};
    }
    /// Collective: frees it now.
    void free();

  private:
    void abandon() noexcept;

    Team team_;
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// This process's membership in its job.
class WEFT_API Runtime {
  public:
    /// Joins the job; returns when all ranks have joined. Settings come from the environment
    /// (WEFT_*).
    Runtime();
    /// The same for a program whose threads call so. WEFT_THREADS=multiple says the same.
    explicit Runtime(Threads threads);
    /// The other one is left empty, to be destroyed or assigned to.
    Runtime(Runtime&&) noexcept;
    Runtime& operator=(Runtime&&) noexcept;
    /// Leaves without waiting for anyone: call finalize() before.
    ~Runtime();

    /// All ranks of the job.
    [[nodiscard]] Team world();
    /// Collective over all ranks: returns when everything started is complete and all ranks are
    /// here. Afterwards calls on its teams are refused, and memory from allocate() is gone with the
    /// runtime.
    void finalize();
    /// Moves started calls, and what others put to this rank, forward. Not collective; does not
    /// wait.
    void progress();
    /// From now on, whatever waits in this runtime also calls function(argument) again and again
    /// while it waits: the progress of another library that this thread has to serve. It must not
    /// use this runtime, nor throw. One at a time: the last one stays; nullptr takes it away.
    void on_progress(void (*function)(void* argument), void* argument);

    /// From now on messages for this number (0 to 255) are handled by function(argument, sender's
    /// rank in the world, bytes): one at a time, inside calls that drive the runtime. It may send()
    /// messages, must make no other call, nor throw. nullptr: they wait. See rpc.hpp for functions
    /// with arguments and a result.
    void on_message(int handler,
                    void (*function)(void* argument, Rank peer, const std::byte* data,
                                     std::size_t bytes),
                    void* argument);

    /// The same as world().allocate() and release().
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 64);
    void release(void* memory);

    /// Nodes of the job, virtual ones included.
    [[nodiscard]] int nodes() const noexcept;
    /// Provider of the network under this job, "none" if all ranks share one node.
    [[nodiscard]] std::string provider() const;
    /// How data is known to have arrived before its flag; "none" on one node.
    [[nodiscard]] std::string notify() const;
    /// Writes that this rank has made over the network so far.
    [[nodiscard]] std::uint64_t network_writes() const noexcept;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weft
