// SPDX-License-Identifier: BSD-3-Clause
// onesided.hpp - one-sided calls of a team; base class of weft::Team.
//
// These calls access the memory of one peer: another rank of the team or this rank itself. For the
// peer's memory, pass this rank's address of the same symmetric memory (Team::allocate()), or the
// name that Team::register_memory() returned, plus an offset. The calls are not collective, but the
// peer must call into the library from time to time. The rules of weft.hpp for threads and errors
// apply. Calls of OpenSHMEM 1.5 (sections 9.6 to 9.8 and 9.10 to 9.12) behave as specified there.
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/error.hpp"
#include "weft/export.h"
#include "weft/request.hpp"
#include "weft/types.hpp"

namespace weft {

namespace detail {

struct TeamLink;

/// Atomic operation on a peer's word. Operands are bits, sign-extended if the word is signed.
struct AtomicChange {
    AtomicKind kind = AtomicKind::fetch;
    void* word = nullptr;
    std::size_t width = 8;  ///< bytes: 4 or 8
    bool is_real = false;   ///< true if the word is a float or double
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;  ///< for compare_swap
};

/// Condition `word <compare> wanted` on `count` words of this rank.
struct WordCondition {
    const void* words = nullptr;
    std::size_t count = 1;
    std::size_t width = 8;  ///< bytes of a word: 4 or 8
    bool is_signed = false;
    Compare compare = Compare::eq;
    std::uint64_t wanted = 0;  ///< bits, sign-extended if is_signed
};

}  // namespace detail

/// Word types of atomic operations and waits.
template <class T>
concept Word = std::is_integral_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

/// Types of atomic fetch, set, swap and add: words, float and double.
template <class T>
concept Cell = Word<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// Types that puts, gets and collectives copy byte by byte.
template <class T>
concept CopiedAsBytes = std::is_trivially_copyable_v<T>;

/// Contiguous ranges of elements that are CopiedAsBytes, such as std::vector and std::span.
template <class R>
concept Buffer = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    CopiedAsBytes<std::ranges::range_value_t<R>>;
/// Buffers with elements of type T.
template <class R, class T>
concept BufferOf = Buffer<R> && std::is_same_v<std::ranges::range_value_t<R>, T>;
/// Buffers with words, for waits.
template <class R>
concept BufferOfWords = Buffer<R> && Word<std::ranges::range_value_t<R>>;
/// Buffers that a call may use after it has returned: no temporary that owns its elements.
template <class R, class T>
concept LastingBufferOf = BufferOf<R, T> && std::ranges::borrowed_range<R>;

/// Blocks in several dimensions, 1 to 8. Block (i, j, ...), with i < counts[0], j < counts[1], ...,
/// is read at src + i * src_strides[0] + j * src_strides[1] + ... and written at dst + i *
/// dst_strides[0] + j * dst_strides[1] + ... Written blocks must not overlap. The arrays are read
/// during the call only.
struct BlockGrid {
    std::size_t bytes = 0;  ///< size of a block
    std::span<const std::size_t> counts;
    std::span<const std::ptrdiff_t> dst_strides;  ///< bytes; may be negative
    std::span<const std::ptrdiff_t> src_strides;  ///< bytes; may be negative
};

/// One-sided access to the memory of a team's members.
class WEFT_API OneSidedCalls {
  public:
    /// Copies from src to dst in the peer's memory. Returns when src may be changed. The data is
    /// delivered before the next quiet() returns.
    void put(void* dst, const void* src, std::size_t bytes, Rank peer);
    /// Copies from src in the peer's memory to dst. Returns when dst holds the data.
    void get(void* dst, const void* src, std::size_t bytes, Rank peer);
    /// Start a put() or get() and return at once. The library reads src of the put, or writes dst
    /// of the get, until quiet() returns.
    void put_nbi(void* dst, const void* src, std::size_t bytes, Rank peer);
    void get_nbi(void* dst, const void* src, std::size_t bytes, Rank peer);
    /// Does a put(). After its delivery, sets the peer's `signal` to value or adds value to it. A
    /// rank that sees the change also sees the data. bytes may be 0.
    void put_signal(void* dst, const void* src, std::size_t bytes, std::uint64_t* signal,
                    std::uint64_t value, SignalOp op, Rank peer);
    /// Starts a put_signal() and returns at once; src as in put_nbi().
    void put_signal_nbi(void* dst, const void* src, std::size_t bytes, std::uint64_t* signal,
                        std::uint64_t value, SignalOp op, Rank peer);

    /// Copy all elements of src. Throw an Error if dst is shorter.
    template <CopiedAsBytes T>
    void put(std::span<T> dst, std::span<const std::type_identity_t<T>> src, Rank peer) {
        need_room("put: dst is shorter than src", dst.size(), src.size());
        put(dst.data(), src.data(), src.size_bytes(), peer);
    }
    template <CopiedAsBytes T>
    void get(std::span<T> dst, std::span<const std::type_identity_t<T>> src, Rank peer) {
        need_room("get: dst is shorter than src", dst.size(), src.size());
        get(dst.data(), src.data(), src.size_bytes(), peer);
    }
    /// Put all elements of a buffer, such as a vector, or fill a buffer by a get.
    template <CopiedAsBytes T, BufferOf<T> Source>
    void put(T* dst, const Source& src, Rank peer) {
        put(dst, std::ranges::data(src), std::ranges::size(src) * sizeof(T), peer);
    }
    template <CopiedAsBytes T, BufferOf<T> Source>
    void put_signal(T* dst, const Source& src, std::uint64_t* signal, std::uint64_t value,
                    SignalOp op, Rank peer) {
        put_signal(dst, std::ranges::data(src), std::ranges::size(src) * sizeof(T), signal, value,
                   op, peer);
    }
    template <CopiedAsBytes T, BufferOf<T> Target>
    void get(Target&& dst, const T* src, Rank peer) {
        get(std::ranges::data(dst), src, std::ranges::size(dst) * sizeof(T), peer);
    }

    /// Start a put or get and return a future. The future of a put is ready when the peer has the
    /// data and src may be changed; the future of a get, when dst holds the data.
    [[nodiscard]] Future<void> iput(void* dst, const void* src, std::size_t bytes, Rank peer) {
        return future_of(start_put(dst, src, bytes, peer));
    }
    [[nodiscard]] Future<void> iget(void* dst, const void* src, std::size_t bytes, Rank peer) {
        return future_of(start_get(dst, src, bytes, peer, nullptr));
    }
    template <CopiedAsBytes T, LastingBufferOf<T> Source>
    [[nodiscard]] Future<void> iput(T* dst, Source&& src, Rank peer) {
        return iput(dst, std::ranges::data(src), std::ranges::size(src) * sizeof(T), peer);
    }
    template <CopiedAsBytes T, LastingBufferOf<T> Target>
    [[nodiscard]] Future<void> iget(Target&& dst, const T* src, Rank peer) {
        return iget(std::ranges::data(dst), src, std::ranges::size(dst) * sizeof(T), peer);
    }
    /// Starts a get of one element, which the future returns.
    template <CopiedAsBytes T>
    [[nodiscard]] Future<T> iget(const T* src, Rank peer) {
        auto value = std::make_shared<T>();
        Request request = start_get(value.get(), src, sizeof(T), peer, value);
        return Future<T>(
            std::make_shared<detail::RequestState<T>>(std::move(request), std::move(value)));
    }

    /// Copy `count` blocks of `bytes` bytes. Block i is read at src + i * src_stride and written at
    /// dst + i * dst_stride. Strides are in bytes and may be negative; written blocks must not
    /// overlap. The calls return when put() or get() would.
    void put_strided(void* dst, std::ptrdiff_t dst_stride, const void* src,
                     std::ptrdiff_t src_stride, std::size_t bytes, std::size_t count, Rank peer);
    void get_strided(void* dst, std::ptrdiff_t dst_stride, const void* src,
                     std::ptrdiff_t src_stride, std::size_t bytes, std::size_t count, Rank peer);

    /// Does a put_strided(). After the delivery of all blocks, changes `signal` like put_signal().
    void put_strided_signal(void* dst, std::ptrdiff_t dst_stride, const void* src,
                            std::ptrdiff_t src_stride, std::size_t bytes, std::size_t count,
                            std::uint64_t* signal, std::uint64_t value, SignalOp op, Rank peer);
    /// Act as put_strided(), put_strided_signal() and get_strided(), for blocks in several
    /// dimensions.
    void put_grid(void* dst, const void* src, const BlockGrid& grid, Rank peer);
    void put_grid_signal(void* dst, const void* src, const BlockGrid& grid, std::uint64_t* signal,
                         std::uint64_t value, SignalOp op, Rank peer);
    void get_grid(void* dst, const void* src, const BlockGrid& grid, Rank peer);

    /// Sets the peer's signal to value, or adds value to it. Returns at once.
    void signal(std::uint64_t* signal, std::uint64_t value, SignalOp op, Rank peer) {
        put_signal_nbi(nullptr, nullptr, 0, signal, value, op, peer);
    }

    /// Put or get one element.
    template <CopiedAsBytes T>
    void p(T* dst, std::type_identity_t<T> value, Rank peer) {
        put(dst, &value, sizeof value, peer);
    }
    template <CopiedAsBytes T>
    [[nodiscard]] T g(const T* src, Rank peer) {
        T value;
        get(&value, src, sizeof value, peer);
        return value;
    }

    /// @name Atomic operations that return the former value
    /// They change a peer's word, aligned to its size, and are atomic for all ranks.
    /// @{
    template <Cell T>
    T fetch_add(T* word, std::type_identity_t<T> add, Rank peer) {
        return change(AtomicKind::add, word, add, peer);
    }
    template <Word T>
    T fetch_and(T* word, std::type_identity_t<T> with, Rank peer) {
        return change(AtomicKind::band, word, with, peer);
    }
    template <Word T>
    T fetch_or(T* word, std::type_identity_t<T> with, Rank peer) {
        return change(AtomicKind::bor, word, with, peer);
    }
    template <Word T>
    T fetch_xor(T* word, std::type_identity_t<T> with, Rank peer) {
        return change(AtomicKind::bxor, word, with, peer);
    }
    template <Cell T>
    [[nodiscard]] T fetch(const T* word, Rank peer) {
        return change(AtomicKind::fetch, const_cast<T*>(word), T{}, peer);
    }
    template <Cell T>
    T swap(T* word, std::type_identity_t<T> wanted, Rank peer) {
        return change(AtomicKind::set, word, wanted, peer);
    }
    /// Stores `wanted` if the word equals `expected`.
    template <Word T>
    T compare_swap(T* word, std::type_identity_t<T> expected, std::type_identity_t<T> wanted,
                   Rank peer) {
        return change(AtomicKind::compare_swap, word, wanted, peer, expected);
    }
    /// @}

    /// Start an atomic operation without a result, and return at once. The change is made before
    /// the next quiet() returns. kind: neither fetch nor compare_swap.
    template <Word T>
    void atomic(AtomicKind kind, T* word, std::type_identity_t<T> operand, Rank peer) {
        apply(change_of(kind, word, operand), peer);
    }
    template <Cell T>
    void add(T* word, std::type_identity_t<T> operand, Rank peer) {
        apply(change_of(AtomicKind::add, word, operand), peer);
    }
    template <Cell T>
    void set(T* word, std::type_identity_t<T> operand, Rank peer) {
        apply(change_of(AtomicKind::set, word, operand), peer);
    }
    /// Starts an atomic operation and returns at once. When quiet() returns, *result holds the
    /// former value. expected: for compare_swap, whose operand is the wanted value.
    template <Word T>
    void atomic_nbi(AtomicKind kind, T* word, std::type_identity_t<T> operand, T* result, Rank peer,
                    std::type_identity_t<T> expected = 0) {
        start_change(change_of(kind, word, operand, expected), peer, result);
    }

    /// Waits until this rank holds a lock. A lock is one word of symmetric memory, initially 0 on
    /// all members. At most one member holds it; members get it in the order of their requests. The
    /// algorithm is the MCS queue lock (reference in onesided.h).
    void lock(std::uint64_t* lock);
    /// Tries to get a lock without waiting. Returns true if this rank now holds it.
    [[nodiscard]] bool try_lock(std::uint64_t* lock);
    /// Does a quiet() and releases a lock, so the next holder sees all data that this rank has put.
    void unlock(std::uint64_t* lock);

    /// Sends a message to the peer's handler with this number (Runtime::on_message()). bytes: up to
    /// 2048, or 256 in jobs of more than 1024 ranks. Returns when data may be changed. Outside
    /// handlers, it may wait until the peer has received earlier messages.
    void send(Rank peer, int handler, const void* data, std::size_t bytes);

    /// Drives all transfers once, unless another thread does so. Does not wait.
    void progress();
    /// Orders deliveries at each peer: earlier puts, signals and atomic operations of this rank
    /// before later ones. Does not order gets.
    void fence();
    /// Waits until all puts, gets, signals and atomic operations of this rank, on all teams but not
    /// through contexts (Team::make_context()), are complete here and at the peers. On a context,
    /// waits only for operations through this context.
    void quiet();
    /// Waits until `*word <compare> wanted` holds for a word of this rank, and drives all transfers
    /// meanwhile. Peers change the word by a put() of only this word, put_signal() or an atomic
    /// operation.
    template <Word T>
    void wait_until(const T* word, Compare compare, std::type_identity_t<T> wanted) {
        wait(condition(std::span(word, 1), compare, wanted));
    }
    /// Waits for at most `time`. Returns true if the condition holds.
    template <Word T>
    [[nodiscard]] bool wait_until(const T* word, Compare compare, std::type_identity_t<T> wanted,
                                  std::chrono::nanoseconds time) {
        return wait_for(condition(std::span(word, 1), compare, wanted), time);
    }
    /// Waits until one of the words satisfies the condition, and returns its index.
    template <BufferOfWords R>
    std::size_t wait_until_any(const R& words, Compare compare,
                               std::ranges::range_value_t<R> wanted) {
        return wait_any(condition(span_of_words(words), compare, wanted));
    }
    /// Waits until each word has satisfied the condition once.
    template <BufferOfWords R>
    void wait_until_all(const R& words, Compare compare, std::ranges::range_value_t<R> wanted) {
        wait(condition(span_of_words(words), compare, wanted));
    }
    /// Returns true if the condition holds; if not, drives all transfers once and tests again.
    template <Word T>
    [[nodiscard]] bool test_until(const T* word, Compare compare, std::type_identity_t<T> wanted) {
        return test(condition(std::span(word, 1), compare, wanted));
    }

  protected:
    OneSidedCalls() noexcept = default;
    explicit OneSidedCalls(std::shared_ptr<detail::TeamLink> link) noexcept
        : link_(std::move(link)) {}

    template <BufferOfWords R>
    [[nodiscard]] static std::span<const std::ranges::range_value_t<R>> span_of_words(
        const R& words) {
        return {std::ranges::data(words), std::ranges::size(words)};
    }
    /// Throws an Error with the text `problem` if a buffer has fewer than `needed` elements.
    static void need_room(const char* problem, std::size_t elements, std::size_t needed) {
        if (elements < needed)
            throw Error(Status::argument, problem + (": " + std::to_string(elements)) +
                                              " elements, expected " + std::to_string(needed));
    }

    std::shared_ptr<detail::TeamLink> link_;  ///< state of the team that this handle refers to

  private:
    template <Cell T>
    using Unsigned = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    template <Cell T>
    static constexpr std::uint64_t bits(T value) {
        if constexpr (std::is_integral_v<T>)
            return static_cast<std::uint64_t>(value);
        else
            return std::bit_cast<Unsigned<T>>(value);
    }
    template <Cell T>
    static detail::AtomicChange change_of(AtomicKind kind, T* word, T operand, T expected = {}) {
        return {kind, word, sizeof(T), !Word<T>, bits(operand), bits(expected)};
    }
    template <Cell T>
    T change(AtomicKind kind, T* word, T operand, Rank peer, T expected = {}) {
        const std::uint64_t former = change(change_of(kind, word, operand, expected), peer);
        return std::bit_cast<T>(static_cast<Unsigned<T>>(former));
    }
    template <Word T>
    static detail::WordCondition condition(std::span<const T> words, Compare compare, T wanted) {
        return {words.data(), words.size(), sizeof(T), std::is_signed_v<T>, compare, bits(wanted)};
    }
    [[nodiscard]] Request start_put(void* dst, const void* src, std::size_t bytes, Rank peer);
    /// kept: owner of dst, held until the get is complete; nullptr: the caller owns dst.
    [[nodiscard]] Request start_get(void* dst, const void* src, std::size_t bytes, Rank peer,
                                    std::shared_ptr<void> kept);
    std::uint64_t change(const detail::AtomicChange& change, Rank peer);
    void apply(const detail::AtomicChange& change, Rank peer);
    void start_change(const detail::AtomicChange& change, Rank peer, void* result);
    void wait(const detail::WordCondition& condition);
    bool wait_for(const detail::WordCondition& condition, std::chrono::nanoseconds time);
    bool test(const detail::WordCondition& condition);
    std::size_t wait_any(const detail::WordCondition& condition);
};

}  // namespace weft
