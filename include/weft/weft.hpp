// SPDX-License-Identifier: BSD-3-Clause
// weft.hpp - the C++ interface: a runtime, teams of ranks, collectives, symmetric memory.
//
// A process joins its job by making a Runtime; the job was started by `weft run`, mpirun, srun or any
// other PMIx host (a process started by itself is a job of one rank). Calls on a team are collective:
// all members make them in the same order, with the same counts, types, operations and roots. Ranks
// that disagree get an Error that names both sides.
//
// Threads: one thread at a time drives a runtime and everything made from it.
// Progress: data of others moves on during calls into the library only; a program that computes for
// long calls Runtime::progress() now and then.
// Errors: weft::Error, with a status and a text that names argument, rank and what was expected. After
// an Error with another status than Status::argument from a check of arguments, the team is not usable.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "weft/error.hpp"
#include "weft/types.hpp"

namespace weft {

/// The element type of a C++ type.
template <class T>
constexpr Type type_of() {
    static_assert(
        std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, long double>,
        "elements are integers, float or double");
    if constexpr (std::is_same_v<T, float>) return Type::float32;
    if constexpr (std::is_same_v<T, double>) return Type::float64;
    if constexpr (std::is_integral_v<T>) {
        constexpr bool is_signed = std::is_signed_v<T>;
        if constexpr (sizeof(T) == 1) return is_signed ? Type::int8 : Type::uint8;
        if constexpr (sizeof(T) == 2) return is_signed ? Type::int16 : Type::uint16;
        if constexpr (sizeof(T) == 4) return is_signed ? Type::int32 : Type::uint32;
        if constexpr (sizeof(T) == 8) return is_signed ? Type::int64 : Type::uint64;
    }
    return Type::user;
}

/// A reduction of the user's. Copies refer to the same operation; it lives as long as any of them and
/// longer than the runtime's calls that use it.
class UserOp {
  public:
    /// function: see UserFunction. element_bytes: size of one element. commutative: whether operands
    /// may be swapped; if not, contributions are combined in rank order.
    UserOp(UserFunction function, void* argument, std::size_t element_bytes, bool commutative);

  private:
    friend class Team;
    std::shared_ptr<const void> held_;
};

/// A started call; must not outlive its runtime. Destroying it does not wait: the buffers then have to stay valid until the team is
/// idle, for example until its next barrier() returns.
class Request {
  public:
    Request() noexcept;
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    /// Drives everything that is in flight once; true when this call is complete.
    bool test();
    /// Returns when this call is complete.
    void wait();

  private:
    friend class Team;
    struct State;
    std::unique_ptr<State> state_;
};

class Runtime;

/// A team of ranks: a handle, cheap to copy, valid until free() or the end of its runtime.
class Team {
  public:
    [[nodiscard]] Rank rank() const;
    [[nodiscard]] Rank size() const;

    /// Returns when all members have entered.
    void barrier();
    /// The root's `count` elements reach every member's buffer. elements: of `type`.
    void broadcast(void* buffer, std::size_t count, Type type, Rank root);
    /// out = in of rank 0 (op) in of rank 1 (op) ..., the same bits on every member. in may be out.
    void allreduce(const void* in, void* out, std::size_t count, Type type, Op op);
    /// The same with a user operation; count elements of its size.
    void allreduce(const void* in, void* out, std::size_t count, const UserOp& op);

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
    /// In place.
    template <class T>
    void allreduce(std::span<T> inout, Op op) {
        allreduce(inout.data(), inout.data(), inout.size(), type_of<T>(), op);
    }
    template <class T>
    requires std::is_arithmetic_v<T>
    [[nodiscard]] T allreduce(T value, Op op) {
        allreduce(&value, &value, 1, type_of<T>(), op);
        return value;
    }

    // Started calls never wait, whatever was started before, on this or any other team. Their buffers
    // belong to the library until the request is complete.
    [[nodiscard]] Request start_barrier();
    [[nodiscard]] Request start_broadcast(void* buffer, std::size_t count, Type type, Rank root);
    [[nodiscard]] Request start_allreduce(const void* in, void* out, std::size_t count, Type type,
                                          Op op);
    [[nodiscard]] Request start_allreduce(const void* in, void* out, std::size_t count,
                                          const UserOp& op);

    /// Collective: members with the same colour form a team, ordered by key, then rank. No team where
    /// color < 0.
    [[nodiscard]] std::optional<Team> split(int color, int key);
    /// Collective: ends a team made by split(). No started call of it may be in flight.
    void free();

    /// Which algorithm a collective uses from now on, as `weft list` names them; empty: the library's
    /// choice. All members call alike.
    void set_algorithm(std::string_view collective, std::string_view spec);
    /// The algorithm that a call would use now. Type and count do not matter to a barrier.
    [[nodiscard]] std::string algorithm_of(std::string_view collective, std::size_t count,
                                           Type type) const;

  private:
    friend class Runtime;
    explicit Team(void* team, void* runtime) : team_(team), runtime_(runtime) {}
    void* team_;
    void* runtime_;
};

/// This process's membership in its job.
class Runtime {
  public:
    /// Joins the job; returns when all ranks have joined. Settings come from the environment (WEFT_*).
    Runtime();
    Runtime(Runtime&&) noexcept;
    Runtime& operator=(Runtime&&) noexcept;
    /// Leaves without waiting for anyone: call finalize() before.
    ~Runtime();

    /// All ranks of the job.
    [[nodiscard]] Team world() noexcept;
    /// Collective over all ranks: returns when everything started is complete and all ranks are here.
    /// Afterwards calls on its teams fail, and memory from allocate() is gone with the runtime.
    void finalize();
    /// Moves started calls, and what others put to this rank, forward.
    void progress();

    /// Collective over all ranks: `bytes` bytes at the same offset of every rank's heap, aligned to
    /// `alignment` (a power of two). Owned by the caller until release().
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 64);
    /// Collective over all ranks, with what allocate() gave.
    void release(void* memory);

    /// Nodes of the job, virtual ones included.
    [[nodiscard]] int nodes() const noexcept;
    /// Provider of the network under this job, "none" if all ranks share one node.
    [[nodiscard]] std::string provider() const;
    /// How data is known to have arrived before its flag; "none" on one node.
    [[nodiscard]] std::string notify() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weft
