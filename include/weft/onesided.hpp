// SPDX-License-Identifier: BSD-3-Clause
// onesided.hpp - the one-sided calls of a team, as weft::Team has them.
//
// On memory of a peer, named by this rank's address of the same symmetric memory
// (Team::allocate()). Peers are ranks of the team, this rank included; they do nothing but make
// calls into the library now and then. Not collective. Semantics where OpenSHMEM 1.5 has the call:
// as there.
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "weft/error.hpp"
#include "weft/export.h"
#include "weft/types.hpp"

namespace weft {

namespace detail {
struct TeamLink;
}  // namespace detail

/// A word that atomic operations and waits work on.
template <class T>
concept Word = std::is_integral_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

/// What can be fetched and set atomically: words, float and double.
template <class T>
concept Cell = Word<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// What a Team can do to the memory of its members.
class WEFT_API OneSidedCalls {
  public:
    /// Copies into a peer's memory. Returns when `src` may be changed; the data lands some time
    /// before the next quiet() returns.
    void put(void* dst, const void* src, std::size_t bytes, Rank peer);
    /// Copies from a peer's memory. Returns when the data is here.
    void get(void* dst, const void* src, std::size_t bytes, Rank peer);
    /// The same, and return at once: memory of this rank belongs to the library until quiet().
    void put_nbi(void* dst, const void* src, std::size_t bytes, Rank peer);
    void get_nbi(void* dst, const void* src, std::size_t bytes, Rank peer);
    /// put(), and then, when the data is there, sets the peer's `signal` to value or adds to it. A
    /// rank that sees the signal changed sees the data. bytes may be 0.
    void put_signal(void* dst, const void* src, std::size_t bytes, std::uint64_t* signal,
                    std::uint64_t value, SignalOp op, Rank peer);
    void put_signal_nbi(void* dst, const void* src, std::size_t bytes, std::uint64_t* signal,
                        std::uint64_t value, SignalOp op, Rank peer);

    /// Elements of src; dst has at least as many.
    template <class T>
    void put(std::span<T> dst, std::span<const std::type_identity_t<T>> src, Rank peer) {
        static_assert(std::is_trivially_copyable_v<T>, "elements travel as bytes");
        if (dst.size() < src.size()) throw Error(Status::argument, "put: dst is shorter than src");
        put(dst.data(), src.data(), src.size_bytes(), peer);
    }
    template <class T>
    void get(std::span<T> dst, std::span<const std::type_identity_t<T>> src, Rank peer) {
        static_assert(std::is_trivially_copyable_v<T>, "elements travel as bytes");
        if (dst.size() < src.size()) throw Error(Status::argument, "get: dst is shorter than src");
        get(dst.data(), src.data(), src.size_bytes(), peer);
    }

    /// Blocks of `bytes` bytes, block i at i * stride bytes from the first on either side. Strides
    /// may be negative. They return as put() and get() do.
    void put_strided(void* dst, std::ptrdiff_t dst_stride, const void* src,
                     std::ptrdiff_t src_stride, std::size_t bytes, std::size_t count, Rank peer);
    void get_strided(void* dst, std::ptrdiff_t dst_stride, const void* src,
                     std::ptrdiff_t src_stride, std::size_t bytes, std::size_t count, Rank peer);

    /// One element.
    template <class T>
    void p(T* dst, std::type_identity_t<T> value, Rank peer) {
        static_assert(std::is_trivially_copyable_v<T>, "elements travel as bytes");
        put(dst, &value, sizeof value, peer);
    }
    template <class T>
    [[nodiscard]] T g(const T* src, Rank peer) {
        static_assert(std::is_trivially_copyable_v<T>, "elements travel as bytes");
        T value;
        get(&value, src, sizeof value, peer);
        return value;
    }

    /// Atomic operations on a peer's word, aligned to its size, with those of all ranks. They
    /// return what the word was.
    template <Word T>
    T fetch_add(T* word, std::type_identity_t<T> add, Rank peer) {
        return value<T>(change(AtomicKind::add, word, sizeof(T), bits(add), 0, peer));
    }
    template <Word T>
    T fetch_and(T* word, std::type_identity_t<T> with, Rank peer) {
        return value<T>(change(AtomicKind::band, word, sizeof(T), bits(with), 0, peer));
    }
    template <Word T>
    T fetch_or(T* word, std::type_identity_t<T> with, Rank peer) {
        return value<T>(change(AtomicKind::bor, word, sizeof(T), bits(with), 0, peer));
    }
    template <Word T>
    T fetch_xor(T* word, std::type_identity_t<T> with, Rank peer) {
        return value<T>(change(AtomicKind::bxor, word, sizeof(T), bits(with), 0, peer));
    }
    template <Cell T>
    [[nodiscard]] T fetch(const T* word, Rank peer) {
        return value<T>(change(AtomicKind::fetch, const_cast<T*>(word), sizeof(T), 0, 0, peer));
    }
    template <Cell T>
    T swap(T* word, std::type_identity_t<T> wanted, Rank peer) {
        return value<T>(change(AtomicKind::set, word, sizeof(T), bits(wanted), 0, peer));
    }
    /// Stores value if the word is `expected`.
    template <Word T>
    T compare_swap(T* word, std::type_identity_t<T> expected, std::type_identity_t<T> wanted,
                   Rank peer) {
        return value<T>(
            change(AtomicKind::compare_swap, word, sizeof(T), bits(wanted), bits(expected), peer));
    }
    /// The same without the former value: they return at once, and the change lands some time
    /// before the next quiet() returns. kind: none of fetch and compare_swap; those of floating
    /// point have set() only.
    template <Word T>
    void atomic(AtomicKind kind, T* word, std::type_identity_t<T> operand, Rank peer) {
        apply(kind, word, sizeof(T), bits(operand), peer);
    }
    template <Word T>
    void add(T* word, std::type_identity_t<T> operand, Rank peer) {
        apply(AtomicKind::add, word, sizeof(T), bits(operand), peer);
    }
    template <Cell T>
    void set(T* word, std::type_identity_t<T> operand, Rank peer) {
        apply(AtomicKind::set, word, sizeof(T), bits(operand), peer);
    }
    /// With the former value, which is in *result when quiet() returns.
    template <Word T>
    void atomic_nbi(AtomicKind kind, T* word, std::type_identity_t<T> operand, T* result, Rank peer,
                    std::type_identity_t<T> expected = 0) {
        start_change(kind, word, sizeof(T), bits(operand), bits(expected), peer, result);
    }

    /// A lock is one word of symmetric memory, 0 on all members at first: one member at a time
    /// holds it, in the order in which they came. unlock() begins with a quiet().
    void lock(std::uint64_t* lock);
    [[nodiscard]] bool try_lock(std::uint64_t* lock);
    void unlock(std::uint64_t* lock);

    /// A message to a peer, handled there by what Runtime::on_message() has set for `handler`; see
    /// messages.h. Returns when the bytes may be changed. In a handler it never waits.
    void send(Rank peer, int handler, const void* data, std::size_t bytes);

    /// At each peer, what was put (signals and atomic operations included) before lands before what
    /// is put after. Says nothing about gets.
    void fence();
    /// Returns when all that was put and got is done, here and at the peers.
    void quiet();
    /// Returns when this rank's word compares so; drives everything meanwhile. Others change the
    /// word by put() of just this word, put_signal() or an atomic operation.
    template <Word T>
    void wait_until(const T* word, Compare compare, std::type_identity_t<T> wanted) {
        static_cast<void>(wait(word, sizeof(T), std::is_signed_v<T>, compare, bits(wanted)));
    }
    /// The same for so long at most; whether the word compares so.
    template <Word T>
    [[nodiscard]] bool wait_until(const T* word, Compare compare, std::type_identity_t<T> wanted,
                                  std::chrono::nanoseconds time) {
        return wait_for(word, sizeof(T), std::is_signed_v<T>, compare, bits(wanted), time);
    }
    /// The same for a row of words: one of them, whose place is returned; all of them, each at some
    /// time.
    template <Word T>
    std::size_t wait_until_any(std::span<const T> words, Compare compare,
                               std::type_identity_t<T> wanted) {
        return wait_any(words.data(), words.size(), sizeof(T), std::is_signed_v<T>, compare,
                        bits(wanted));
    }
    template <Word T>
    void wait_until_all(std::span<const T> words, Compare compare, std::type_identity_t<T> wanted) {
        wait_all(words.data(), words.size(), sizeof(T), std::is_signed_v<T>, compare, bits(wanted));
    }
    /// Whether wait_until() would return, after everything was driven once.
    template <Word T>
    [[nodiscard]] bool test_until(const T* word, Compare compare, std::type_identity_t<T> wanted) {
        return test(word, sizeof(T), std::is_signed_v<T>, compare, bits(wanted));
    }

  protected:
    OneSidedCalls() noexcept = default;
    explicit OneSidedCalls(std::shared_ptr<detail::TeamLink> link) noexcept
        : link_(std::move(link)) {}

    std::shared_ptr<detail::TeamLink> link_;  ///< what the handle stands for

  private:
    template <Cell T>
    static constexpr std::uint64_t bits(T value) {
        if constexpr (sizeof(T) == 4 && !std::is_integral_v<T>) {
            return std::bit_cast<std::uint32_t>(value);
        } else if constexpr (!std::is_integral_v<T>) {
            return std::bit_cast<std::uint64_t>(value);
        } else {
            return static_cast<std::uint64_t>(value);  // a sign goes on into the upper half
        }
    }
    template <Cell T>
    static constexpr T value(std::uint64_t bits) {
        if constexpr (sizeof(T) == 4 && !std::is_integral_v<T>) {
            return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
        } else if constexpr (!std::is_integral_v<T>) {
            return std::bit_cast<T>(bits);
        } else {
            return static_cast<T>(bits);
        }
    }
    std::uint64_t change(AtomicKind kind, void* word, std::size_t width, std::uint64_t operand,
                         std::uint64_t compare, Rank peer);
    void apply(AtomicKind kind, void* word, std::size_t width, std::uint64_t operand, Rank peer);
    void start_change(AtomicKind kind, void* word, std::size_t width, std::uint64_t operand,
                      std::uint64_t compare, Rank peer, void* result);
    std::uint64_t wait(const void* word, std::size_t width, bool is_signed, Compare compare,
                       std::uint64_t value);
    bool wait_for(const void* word, std::size_t width, bool is_signed, Compare compare,
                  std::uint64_t value, std::chrono::nanoseconds time);
    bool test(const void* word, std::size_t width, bool is_signed, Compare compare,
              std::uint64_t value);
    std::size_t wait_any(const void* words, std::size_t count, std::size_t width, bool is_signed,
                         Compare compare, std::uint64_t value);
    void wait_all(const void* words, std::size_t count, std::size_t width, bool is_signed,
                  Compare compare, std::uint64_t value);
};

}  // namespace weft
