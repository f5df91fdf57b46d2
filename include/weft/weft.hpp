// SPDX-License-Identifier: BSD-3-Clause
// weft.hpp - the C++ interface: a runtime, teams of ranks, collectives, symmetric memory.
//
// A process joins its job by making a Runtime. `weft run`, mpirun, srun or any other PMIx launcher
// starts the job; without a launcher, a process is a job of one rank. Calls on a team are
// collective unless documented otherwise: all members make them in the same order, with the same
// counts, types, operations and roots. If two ranks make different calls, both get an Error that
// names both calls.
//
// Errors     Calls throw weft::Error, with a status and a text that names the argument or rank and
//            the expected value. A call whose arguments are refused has no effect. After any other
//            Error of a collective, the team can only be freed; other teams are not affected. Calls
//            with freed teams, or with objects of an ended runtime, are refused.
// Ownership  The runtime owns teams and memory; the caller owns buffers. Destructors never
//            communicate, so a program that stops early does not hang. The destructor of an
//            OwnedTeam or Memory abandons its team or memory, which is freed after all members have
//            abandoned it, or with the runtime.
// Threads    One thread at a time may use a runtime and its objects, unless the runtime was made
//            with Threads::multiple. Several threads may construct runtimes at the same time.
// Progress   This rank sends and receives data only during calls into the library. A program should
//            call Runtime::progress() from time to time during long computations.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <ranges>
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
#include "weft/request.hpp"
#include "weft/types.hpp"

namespace weft {

/// A call that is prepared once and started repeatedly, with the same buffers each time.
class WEFT_API PersistentRequest {
  public:
    PersistentRequest() noexcept;
    PersistentRequest(PersistentRequest&& other) noexcept;
    PersistentRequest& operator=(PersistentRequest&& other) noexcept;
    /// Does not wait for a call in flight; see Request.
    ~PersistentRequest();

    /// Starts the call, which must not be in flight. Collective; does not wait.
    void start();
    /// Act as the functions of Request. A call that is not started is complete.
    bool test();
    void wait();

  private:
    friend class Team;
    struct State;
    std::unique_ptr<State> state_;
};

/// Contiguous ranges whose elements are of an Element type.
template <class R>
concept ElementBuffer = Buffer<R> && Element<std::ranges::range_value_t<R>>;

/// Element buffers other than std::span, for which Team has other overloads.
template <class R>
concept ElementContainer = ElementBuffer<R> &&
    !std::same_as<std::remove_cvref_t<R>,
                  std::span<std::remove_reference_t<std::ranges::range_reference_t<R>>>>;

/// Whether several threads may call at the same time; see weft_threads in threads.h.
enum class Threads : std::uint8_t { single, multiple };

/// An algorithm, and the predicted time of a call with it.
struct PredictedAlgorithm {
    std::string algorithm;    ///< spec that set_algorithm() accepts
    double predicted_us = 0;  ///< microseconds
};

/// Result of Team::agree(), equal on all survivors.
struct AgreedWord {
    std::uint64_t word = 0;  ///< bitwise and of the words of all survivors
    Rank dead = 0;           ///< number of dead members
};

/// Handle of a team of ranks: cheap to copy, valid until free() or drop() of any copy, or the end
/// of the runtime.
class WEFT_API Team : public OneSidedCalls {
  public:
    /// Makes an empty handle, whose calls are refused.
    Team() noexcept = default;

    /// Returns this rank's index in the team, 0 to size()-1. Not collective.
    [[nodiscard]] Rank rank() const;
    /// Returns the number of members. Not collective.
    [[nodiscard]] Rank size() const;

    /// Makes a collective call; returns when it is complete on this rank.
    void run(const Call& call);
    /// Starts a collective call and returns without waiting, even if earlier calls are in flight.
    /// The library uses the buffers until the request is complete.
    [[nodiscard]] Request start(const Call& call);
    /// Checks the arguments of a call, which PersistentRequest::start() starts any number of times.
    /// Not collective.
    [[nodiscard]] PersistentRequest prepare(const Call& call);

    /// @name Short forms of run()
    /// They have the arguments of the functions of Call with the same names.
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

    /// @name Short forms of run() for buffers of elements
    /// A buffer is a std::vector, std::array, std::span or other contiguous range of an Element
    /// type. The calls throw an Error if `out` is too short.
    /// @{

    /// Copies the root's buffer to all members, where it has the same size.
    template <class T>
    void broadcast(std::span<T> buffer, Rank root) {
        broadcast(buffer.data(), buffer.size(), type_of<T>(), root);
    }
    template <ElementContainer R>
    void broadcast(R&& buffer, Rank root) {
        broadcast(span_of(buffer), root);
    }
    /// Reduces in.size() elements into out, which has at least this size.
    template <class T>
    void allreduce(std::span<const std::type_identity_t<T>> in, std::span<T> out, Op op) {
        need_room("allreduce: out is shorter than in", out.size(), in.size());
        allreduce(in.data(), out.data(), in.size(), type_of<T>(), op);
    }
    template <ElementBuffer In, ElementContainer Out>
    void allreduce(const In& in, Out&& out, Op op) {
        allreduce(span_of(in), span_of(out), op);
    }
    /// Reduces in.size() elements into the root's out, which has at least this size.
    template <class T>
    void reduce(std::span<const std::type_identity_t<T>> in, std::span<T> out, Op op, Rank root) {
        if (rank() == root) need_room("reduce: out is shorter than in", out.size(), in.size());
        reduce(in.data(), out.data(), in.size(), type_of<T>(), op, root);
    }
    template <ElementBuffer In, ElementContainer Out>
    void reduce(const In& in, Out&& out, Op op, Rank root) {
        reduce(span_of(in), span_of(out), op, root);
    }
    /// Reduces in place.
    template <class T>
    void allreduce(std::span<T> inout, Op op) {
        allreduce(inout.data(), inout.data(), inout.size(), type_of<T>(), op);
    }
    template <ElementContainer R>
    void allreduce(R&& inout, Op op) {
        allreduce(span_of(inout), op);
    }
    /// Reduces one value of each member.
    template <Element T>
    [[nodiscard]] T allreduce(T value, Op op) {
        allreduce(&value, &value, 1, type_of<T>(), op);
        return value;
    }
    /// Copies the elements of `in` of all members to out, in rank order.
    template <ElementBuffer In, BufferOf<std::ranges::range_value_t<In>> Out>
    void allgather(const In& in, Out&& out) {
        need_room("allgather: out is too short", std::ranges::size(out),
                  std::ranges::size(in) * static_cast<std::size_t>(size()));
        allgather(std::ranges::data(in), std::ranges::data(out), std::ranges::size(in),
                  type_of<std::ranges::range_value_t<In>>());
    }
    /// Returns the values of all members, in rank order.
    template <Element T>
    [[nodiscard]] std::vector<T> allgather(T value) {
        std::vector<T> all(static_cast<std::size_t>(size()));
        allgather(&value, all.data(), 1, type_of<T>());
        return all;
    }
    /// @}

    /// Makes a context: a second handle of the team. fence() and quiet() of a context cover only
    /// puts and gets through this context; calls on the team do not cover these. Not collective.
    /// The context ends with the team.
    [[nodiscard]] Team make_context();

    /// Forms one team for each color, from the members that pass this color, ordered by key, then
    /// by rank. Returns no team if color < 0. Collective. A rank can be in at most 32 teams, the
    /// world included. If a member of a new team has reached this limit, all members get an Error
    /// of Status::memory, and no team is made.
    [[nodiscard]] std::optional<Team> split(int color, int key);
    /// Forms a team of the members that share memory with this rank, in rank order. Collective.
    [[nodiscard]] Team split_by_node();
    /// Forms a team of the `size` members start, start + stride, ..., in this order. Returns no
    /// team on other members. Collective, with equal arguments. stride: not 0; may be negative.
    [[nodiscard]] std::optional<Team> split_strided(Rank start, Rank stride, Rank size);
    /// Arranges the members in rows of `columns` ranks (the last row may be shorter). Returns the
    /// team of this rank's row, then the team of its column. Collective.
    [[nodiscard]] std::pair<Team, Team> split_2d(Rank columns);
    /// Returns the rank in `other` of the member with this rank; -1 if it is not in `other`. Not
    /// collective.
    [[nodiscard]] Rank translate(Rank rank, const Team& other) const;
    /// Ends any team but the world, and frees its memory. Collective. No started call of the team
    /// may be in flight. All copies of the handle are refused afterwards. A team that has failed,
    /// or fails during this call, is only dropped, as by drop().
    void free();
    /// Ends this rank's use of any team but the world. Not collective; does not wait. Calls in
    /// flight continue, and their requests complete normally. After all members have dropped the
    /// team, the next split() of a team with all of them frees it and its memory. Without such a
    /// call, the end of the runtime does. All copies of the handle are refused afterwards.
    void drop();

    /// @name Deaths of ranks
    /// These functions need WEFT_ON_FAILURE=continue. They act as the C functions in failures.h.
    /// @{
    void revoke();
    /// Agrees with all surviving members on the bitwise and of their words.
    AgreedWord agree(std::uint64_t word);
    [[nodiscard]] Team shrink();
    /// Returns the members that this rank knows to be dead, in ascending order.
    [[nodiscard]] std::vector<Rank> dead() const;
    /// @}

    /// Allocates `bytes` bytes at the same offset of every member's heap, not cleared. Collective.
    /// alignment: in bytes, a power of two, at most 1 GiB and at most the heap's size. release(),
    /// free() of the team or the end of the runtime frees the memory. Throws an Error of
    /// Status::memory if no range is free on all members.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 64);
    /// Allocates memory that is 0 on all members when the call returns.
    [[nodiscard]] void* allocate_zeroed(std::size_t bytes, std::size_t alignment = 64);
    /// Frees memory of allocate(): does a quiet() and returns when all members have entered.
    /// Collective. nullptr is ignored: the call returns at once.
    void release(void* memory);
    /// Translates an address in memory of allocate(), or a name from register_memory(), to the same
    /// byte of a member. Returns a pointer for loads and stores, or nullptr if this rank has not
    /// mapped the peer's memory. Not collective. Like shmem_ptr() of OpenSHMEM 1.5, but `peer` is a
    /// rank of the team.
    [[nodiscard]] void* ptr(const void* symmetric, Rank peer) const;

    /// Lets members access memory of this rank with puts, gets, signals and atomic operations.
    /// Collective; each member registers its own range, of any size. The result is a name, not an
    /// address: in one-sided calls of this team, the name plus i is byte i of the peer's range. The
    /// caller owns the memory, and keeps it mapped until unregister_memory(), free() of the team or
    /// the end of the runtime. weft_register() in onesided.h gives further rules.
    [[nodiscard]] void* register_memory(void* memory, std::size_t bytes);
    template <CopiedAsBytes T>
    [[nodiscard]] T* register_memory(std::span<T> memory) {
        return static_cast<T*>(register_memory(memory.data(), memory.size_bytes()));
    }
    /// Ends a registration: does a quiet() and returns when all members have entered. Collective.
    /// name: from register_memory().
    void unregister_memory(const void* name);
    /// Returns the number of bytes that a member has registered under the name; 0 if the name is
    /// unknown. Not collective.
    [[nodiscard]] std::size_t registered_bytes(const void* name, Rank peer) const;

    /// Sets the algorithm of later calls of a collective. spec: a name from `weft list`, with
    /// optional parameters; empty: the library chooses. All members make the same call. Unknown
    /// names are refused here, unsupported team sizes by the first call.
    void set_algorithm(std::string_view collective, std::string_view spec);
    /// Returns the algorithm that a call would use now. count: elements of the buffer or of each
    /// block. For a barrier, type and count are ignored. Not collective.
    [[nodiscard]] std::string algorithm_of(std::string_view collective, std::size_t count,
                                           Type type) const;
    /// Returns the algorithms that a call can use, ordered by predicted time. Arguments as in
    /// algorithm_of(). A v-collective has the algorithms of the collective with equal blocks. Not
    /// collective.
    [[nodiscard]] std::vector<PredictedAlgorithm> candidates_of(std::string_view collective,
                                                                std::size_t count, Type type) const;

  private:
    friend class Runtime;
    friend class Memory;
    friend class OwnedTeam;
    template <class R>
    static auto span_of(R& buffer) {
        return std::span<std::remove_reference_t<std::ranges::range_reference_t<R>>>(buffer);
    }
    void abandon() noexcept;
    explicit Team(std::shared_ptr<detail::TeamLink> link) noexcept
        : OneSidedCalls(std::move(link)) {}
};

/// A team that this object owns. The destructor does a drop(), so members do not wait for each
/// other. Call free() to free the team at once.
class WEFT_API OwnedTeam : public Team {
  public:
    /// Takes ownership of any team but the world. Copies of its handle must not be used afterwards.
    explicit OwnedTeam(Team team) noexcept : Team(std::move(team)) {}
    OwnedTeam(OwnedTeam&& other) noexcept;
    OwnedTeam& operator=(OwnedTeam&& other) noexcept;
    ~OwnedTeam();
};

/// Symmetric memory that this object owns. The destructor abandons the memory without waiting for
/// other members. After all members have abandoned it, the next allocate() or the end of the team
/// frees it. Call free() to free it at once.
class WEFT_API Memory {
  public:
    Memory() noexcept = default;
    /// Allocates memory. Collective over the team; see Team::allocate().
    Memory(Team team, std::size_t bytes, std::size_t alignment = 64);
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    ~Memory();

    [[nodiscard]] void* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_; }
    /// Returns this rank's memory as elements, without a last element that is not complete.
    template <CopiedAsBytes T>
    [[nodiscard]] std::span<T> as() const noexcept {
        return {static_cast<T*>(data_), bytes_ / sizeof(T)};
    }
    /// Returns a member's memory for loads and stores, as elements; empty if the member is remote.
    template <CopiedAsBytes T>
    [[nodiscard]] std::span<T> on(Rank peer) const {
        void* const mapped = team_.ptr(data_, peer);
        return {static_cast<T*>(mapped), mapped == nullptr ? 0 : bytes_ / sizeof(T)};
    }
    /// Frees the memory. Collective.
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
    /// Joins the job with a thread level. WEFT_THREADS=multiple raises it to Threads::multiple.
    explicit Runtime(Threads threads);
    /// Leaves the other object empty: it may only be destroyed or assigned to.
    Runtime(Runtime&&) noexcept;
    Runtime& operator=(Runtime&&) noexcept;
    /// Leaves the job without waiting for other ranks. Call finalize() before.
    ~Runtime();

    /// Returns the team of all ranks.
    [[nodiscard]] Team world();
    /// Leaves the job: waits until all started calls are complete and all ranks have called
    /// finalize(). Afterwards calls on the runtime's teams are refused. The destructor frees memory
    /// of allocate().
    void finalize();
    /// Advances started calls and puts of other ranks to this rank. Not collective; does not wait.
    void progress();
    /// Sets a function that each wait in this runtime calls repeatedly, to drive another library
    /// that this thread must serve. `function` must not use this runtime or throw. It replaces the
    /// function of an earlier call; nullptr only removes that function.
    void on_progress(void (*function)(void* argument), void* argument);

    /// Sets the handler of messages with the number `handler`, 0 to 255. The function runs during
    /// calls that drive the runtime, one message at a time. peer: the sender's rank in the world.
    /// data: aligned to 8 bytes, valid until the function returns. The function may send()
    /// messages, but must not make other calls or throw. With nullptr, messages wait for a
    /// later handler. See rpc.hpp for functions with arguments and a result.
    void on_message(int handler,
                    void (*function)(void* argument, Rank peer, const std::byte* data,
                                     std::size_t bytes),
                    void* argument);

    /// Act as world().allocate() and world().release().
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 64);
    void release(void* memory);

    /// Returns the number of nodes in the job, virtual ones included.
    [[nodiscard]] int nodes() const noexcept;
    /// Returns the libfabric provider of the job's network; "none" if all ranks share one node.
    [[nodiscard]] std::string provider() const;
    /// Returns the notify strategy (docs/one-sided.md); "none" if all ranks share one node.
    [[nodiscard]] std::string notify() const;
    /// Returns the number of network writes that this rank has made.
    [[nodiscard]] std::uint64_t network_writes() const noexcept;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weft
