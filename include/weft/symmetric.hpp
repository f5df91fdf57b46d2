// SPDX-License-Identifier: BSD-3-Clause
// symmetric.hpp - typed arrays in symmetric memory, and references to elements of any member.
//
//     weft::Symmetric<long> table(world, 1000);         // 1000 zeros on each member
//     table[3] = 5;                                     // this rank's element
//     table.peer(2)[3] = 7;                             // a put to rank 2
//     const long seen = table.peer(2)[3];               // a get
//     table.peer(2)[3].fetch_add(1);                    // atomic
//     table.peer(2).first(100).put(values);             // values: a std::vector<long>
//
// Elements of local peers are accessed by loads, stores and atomic instructions, without a call
// into the library. Elements of remote peers are accessed by one-sided calls of the team, under the
// rules of onesided.hpp. A put is delivered before the next quiet() of the team returns. Access to
// an element of a local peer that has died reports no error: the memory of the dead rank stays
// mapped.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/weft.hpp"

namespace weft {

namespace detail {

/// State of a Symmetric that its references use. Its address is fixed, even if the Symmetric moves.
struct SharedArray {
    static constexpr std::uint32_t kDriveEvery = 32;  ///< direct accesses until a drive

    Team team;
    std::vector<std::ptrdiff_t> offsets;  ///< by rank: bytes from this rank's array to its array
    std::vector<bool> is_local;           ///< by rank: true if its array is mapped here
    std::atomic<std::uint32_t> accesses{0};

    /// Counts a direct access, and drives transfers regularly: remote peers need this even if this
    /// rank only loads and stores.
    void count_access() {
        // Not an atomic addition: counts that concurrent threads lose only delay the drive.
        const std::uint32_t now = accesses.load(std::memory_order_relaxed) + 1;
        accesses.store(now, std::memory_order_relaxed);
        if (now % kDriveEvery == 0) team.progress();
    }
};

/// Unsigned integer of `bytes` bytes, or void.
template <std::size_t bytes>
using Bits = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t,
                       std::conditional_t<bytes == 4, std::uint32_t,
                                          std::conditional_t<bytes == 8, std::uint64_t, void>>>>;

}  // namespace detail

template <CopiedAsBytes T>
class GlobalPtr;
template <CopiedAsBytes T>
class GlobalSpan;
template <CopiedAsBytes T>
class Symmetric;

/// Reference to an element of a member's symmetric array. Reading it is a get, assigning to it a
/// put. Like GlobalPtr and GlobalSpan, it is valid until the array is freed.
template <CopiedAsBytes T>
class GlobalRef {
  public:
    GlobalRef(const GlobalRef&) = default;

    /// Gets the value.
    [[nodiscard]] T get() const {
        T* const mapped = direct();
        if (mapped == nullptr) return array_->team.g(mine_, rank_);
        T value;
        if constexpr (kIsWord) {
            const auto bits = std::atomic_ref<Bits>(*reinterpret_cast<Bits*>(mapped))
                                  .load(std::memory_order_acquire);
            std::memcpy(&value, &bits, sizeof value);
        } else {
            std::memcpy(&value, mapped, sizeof value);
            std::atomic_thread_fence(std::memory_order_acquire);
        }
        return value;
    }
    operator T() const { return get(); }
    /// Puts a value.
    void put(const T& value) const {
        T* const mapped = direct();
        if (mapped == nullptr) {
            array_->team.p(mine_, value, rank_);
        } else if constexpr (kIsWord) {
            Bits bits;
            std::memcpy(&bits, &value, sizeof bits);
            // Release: pairs with the acquire of a wait for the word.
            std::atomic_ref<Bits>(*reinterpret_cast<Bits*>(mapped))
                .store(bits, std::memory_order_release);
        } else {
            std::memcpy(mapped, &value, sizeof value);
        }
    }
    const GlobalRef& operator=(const T& value) const {
        put(value);
        return *this;
    }
    const GlobalRef& operator=(const GlobalRef& other) const {
        put(other.get());
        return *this;
    }
    /// Starts a get and returns a future of the value.
    [[nodiscard]] Future<T> iget() const { return array_->team.iget(mine_, rank_); }

    /// @name Atomic operations
    /// They act as the functions of OneSidedCalls. Operations that return the former value are
    /// complete when they return; add() and set() are complete when quiet() returns.
    /// @{
    T fetch_add(T operand) const requires Cell<T> {
        if (T* const mapped = direct()) return std::atomic_ref<T>(*mapped).fetch_add(operand);
        return array_->team.fetch_add(mine_, operand, rank_);
    }
    T fetch_and(T operand) const requires Word<T> {
        if (T* const mapped = direct()) return std::atomic_ref<T>(*mapped).fetch_and(operand);
        return array_->team.fetch_and(mine_, operand, rank_);
    }
    T fetch_or(T operand) const requires Word<T> {
        if (T* const mapped = direct()) return std::atomic_ref<T>(*mapped).fetch_or(operand);
        return array_->team.fetch_or(mine_, operand, rank_);
    }
    T fetch_xor(T operand) const requires Word<T> {
        if (T* const mapped = direct()) return std::atomic_ref<T>(*mapped).fetch_xor(operand);
        return array_->team.fetch_xor(mine_, operand, rank_);
    }
    [[nodiscard]] T fetch() const requires Cell<T> {
        if (T* const mapped = direct())
            return std::atomic_ref<T>(*mapped).load(std::memory_order_acquire);
        return array_->team.fetch(mine_, rank_);
    }
    T swap(T wanted) const requires Cell<T> {
        if (T* const mapped = direct()) return std::atomic_ref<T>(*mapped).exchange(wanted);
        return array_->team.swap(mine_, wanted, rank_);
    }
    /// Stores `wanted` if the word equals `expected`. Returns the former value.
    T compare_swap(T expected, T wanted) const requires Word<T> {
        if (T* const mapped = direct()) {
            std::atomic_ref<T>(*mapped).compare_exchange_strong(expected, wanted);
            return expected;
        }
        return array_->team.compare_swap(mine_, expected, wanted, rank_);
    }
    void add(T operand) const requires Cell<T> {
        if (T* const mapped = direct()) return void(std::atomic_ref<T>(*mapped).fetch_add(operand));
        array_->team.add(mine_, operand, rank_);
    }
    void set(T operand) const requires Cell<T> {
        if (T* const mapped = direct())
            return std::atomic_ref<T>(*mapped).store(operand, std::memory_order_release);
        array_->team.set(mine_, operand, rank_);
    }
    /// @}

    /// Returns a reference to a field of the element, as in slots.peer(2)[5].field(&Slot::key).
    template <class Object, CopiedAsBytes Field>
    requires std::is_same_v<Object, T>
    [[nodiscard]] GlobalRef<Field> field(Field Object::*member) const {
        return {array_, &(mine_->*member), rank_};
    }
    [[nodiscard]] GlobalPtr<T> operator&() const { return {array_, mine_, rank_}; }

  private:
    template <CopiedAsBytes>
    friend class GlobalRef;
    friend class GlobalPtr<T>;
    friend class GlobalSpan<T>;

    using Bits = detail::Bits<sizeof(T)>;
    static constexpr bool kIsWord = !std::is_void_v<Bits> && alignof(T) == sizeof(T);

    GlobalRef(detail::SharedArray* array, T* mine, Rank rank)
        : array_(array), mine_(mine), rank_(rank) {}
    /// Returns the address of the element in this process, or nullptr if it is not mapped.
    [[nodiscard]] T* direct() const {
        if (!array_->is_local[static_cast<std::size_t>(rank_)]) return nullptr;
        array_->count_access();
        return reinterpret_cast<T*>(
            reinterpret_cast<std::uintptr_t>(mine_) +
            static_cast<std::uintptr_t>(array_->offsets[static_cast<std::size_t>(rank_)]));
    }

    detail::SharedArray* array_;
    T* mine_;  ///< the element with the same index in this rank's array
    Rank rank_;
};

/// Address of an element of a member's symmetric array.
template <CopiedAsBytes T>
class GlobalPtr {
  public:
    GlobalPtr() = default;

    [[nodiscard]] GlobalRef<T> operator*() const { return {array_, mine_, rank_}; }
    [[nodiscard]] GlobalRef<T> operator[](std::ptrdiff_t index) const {
        return {array_, mine_ + index, rank_};
    }
    [[nodiscard]] GlobalPtr operator+(std::ptrdiff_t elements) const {
        return {array_, mine_ + elements, rank_};
    }
    [[nodiscard]] GlobalPtr operator-(std::ptrdiff_t elements) const {
        return {array_, mine_ - elements, rank_};
    }
    GlobalPtr& operator+=(std::ptrdiff_t elements) {
        mine_ += elements;
        return *this;
    }
    GlobalPtr& operator-=(std::ptrdiff_t elements) { return *this += -elements; }
    GlobalPtr& operator++() { return *this += 1; }
    GlobalPtr& operator--() { return *this -= 1; }
    /// Returns the number of elements from `other`, which must point into the same array of the
    /// same rank.
    [[nodiscard]] std::ptrdiff_t operator-(const GlobalPtr& other) const {
        return mine_ - other.mine_;
    }
    [[nodiscard]] explicit operator bool() const { return mine_ != nullptr; }
    [[nodiscard]] friend bool operator==(const GlobalPtr&, const GlobalPtr&) = default;

    /// Returns the rank that owns the element.
    [[nodiscard]] Rank rank() const { return rank_; }
    /// Returns the element with the same index in this rank's array: the name of the element in
    /// one-sided calls.
    [[nodiscard]] T* symmetric() const { return mine_; }
    /// Returns the element's address for loads and stores, or nullptr if its rank is remote.
    [[nodiscard]] T* local() const {
        return mine_ == nullptr ? nullptr : static_cast<T*>(array_->team.ptr(mine_, rank_));
    }

  private:
    friend class GlobalRef<T>;
    friend class GlobalSpan<T>;
    GlobalPtr(detail::SharedArray* array, T* mine, Rank rank)
        : array_(array), mine_(mine), rank_(rank) {}

    detail::SharedArray* array_ = nullptr;
    T* mine_ = nullptr;
    Rank rank_ = 0;
};

/// Consecutive elements of a member's symmetric array. Indices are not checked.
template <CopiedAsBytes T>
class GlobalSpan {
  public:
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] GlobalPtr<T> data() const { return {array_, mine_, rank_}; }
    [[nodiscard]] GlobalRef<T> operator[](std::size_t index) const {
        return {array_, mine_ + index, rank_};
    }
    /// Returns `count` elements from `offset`. Throws an Error if the span has fewer.
    [[nodiscard]] GlobalSpan subspan(std::size_t offset, std::size_t count) const {
        if (offset > size_ || count > size_ - offset)
            throw Error(Status::argument, "subspan: " + std::to_string(count) + " elements from " +
                                              std::to_string(offset) + ", but the span has " +
                                              std::to_string(size_));
        return {array_, mine_ + offset, count, rank_};
    }
    [[nodiscard]] GlobalSpan first(std::size_t count) const { return subspan(0, count); }
    /// Returns the last `count` elements. Throws an Error if the span has fewer.
    [[nodiscard]] GlobalSpan last(std::size_t count) const {
        return subspan(size_ - std::min(count, size_), count);
    }
    /// Returns the elements for loads and stores; empty if the member is remote.
    [[nodiscard]] std::span<T> local() const {
        T* const mapped = data().local();
        return {mapped, mapped == nullptr ? 0 : size_};
    }

    /// @name Transfers
    /// They copy a whole buffer, such as a std::vector<T>, to or from the first elements of the
    /// span, and throw an Error if the buffer is longer. Otherwise they act as the functions of
    /// OneSidedCalls with the same names.
    /// @{
    template <BufferOf<T> Source>
    void put(const Source& src) const {
        check_fits("put", std::ranges::size(src));
        array_->team.put(mine_, src, rank_);
    }
    template <LastingBufferOf<T> Source>
    void put_nbi(Source&& src) const {
        check_fits("put_nbi", std::ranges::size(src));
        array_->team.put_nbi(mine_, std::ranges::data(src), std::ranges::size(src) * sizeof(T),
                             rank_);
    }
    template <LastingBufferOf<T> Source>
    [[nodiscard]] Future<void> iput(Source&& src) const {
        check_fits("iput", std::ranges::size(src));
        return array_->team.iput(mine_, src, rank_);
    }
    /// Puts, then changes `signal`, which must be a word of the same member.
    template <BufferOf<T> Source>
    void put_signal(const Source& src, const GlobalRef<std::uint64_t>& signal, std::uint64_t value,
                    SignalOp op = SignalOp::set) const {
        check_fits("put_signal", std::ranges::size(src));
        const GlobalPtr<std::uint64_t> word = &signal;
        if (word.rank() != rank_)
            throw Error(Status::argument, "put_signal: the signal is on rank " +
                                              std::to_string(word.rank()) + ", expected rank " +
                                              std::to_string(rank_));
        array_->team.put_signal(mine_, std::ranges::data(src), std::ranges::size(src) * sizeof(T),
                                word.symmetric(), value, op, rank_);
    }
    template <BufferOf<T> Target>
    void get(Target&& dst) const {
        check_fits("get", std::ranges::size(dst));
        array_->team.get(std::ranges::data(dst), mine_, std::ranges::size(dst) * sizeof(T), rank_);
    }
    /// Returns copies of all elements.
    [[nodiscard]] std::vector<T> get() const {
        std::vector<T> copies(size_);
        get(copies);
        return copies;
    }
    template <LastingBufferOf<T> Target>
    [[nodiscard]] Future<void> iget(Target&& dst) const {
        check_fits("iget", std::ranges::size(dst));
        return array_->team.iget(std::ranges::data(dst), mine_, std::ranges::size(dst) * sizeof(T),
                                 rank_);
    }
    /// @}

  private:
    friend class Symmetric<T>;
    GlobalSpan(detail::SharedArray* array, T* mine, std::size_t size, Rank rank)
        : array_(array), mine_(mine), size_(size), rank_(rank) {}
    void check_fits(const char* call, std::size_t elements) const {
        if (elements > size_)
            throw Error(Status::argument, call + (": " + std::to_string(elements)) +
                                              " elements, but the span has " +
                                              std::to_string(size_));
    }

    detail::SharedArray* array_;
    T* mine_;
    std::size_t size_;
    Rank rank_;
};

/// An array of equal size on each member of a team; as a range, this rank's elements. The
/// destructor abandons the memory without waiting; see Memory.
template <CopiedAsBytes T>
class Symmetric {
  public:
    using value_type = T;

    /// Allocates `count` elements on each member; all bytes are 0 on all members when the
    /// constructor returns. Collective, with an equal count on all members.
    Symmetric(Team team, std::size_t count)
        : memory_(team, bytes_of(count), alignof(T) > 64 ? alignof(T) : 64),
          count_(count),
          array_(std::make_unique<detail::SharedArray>()) {
        if (count != 0) std::memset(memory_.data(), 0, count * sizeof(T));
        array_->team = team;
        const auto here = reinterpret_cast<std::uintptr_t>(memory_.data());
        for (Rank rank = 0; rank < team.size(); ++rank) {
            const auto there = reinterpret_cast<std::uintptr_t>(team.ptr(memory_.data(), rank));
            array_->is_local.push_back(there != 0);
            array_->offsets.push_back(static_cast<std::ptrdiff_t>(there - here));
        }
        team.barrier();  // no member accesses the memory before it is clear
    }

    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] T* data() const { return static_cast<T*>(memory_.data()); }
    [[nodiscard]] T* begin() const { return data(); }
    [[nodiscard]] T* end() const { return data() + count_; }
    [[nodiscard]] T& operator[](std::size_t index) const { return data()[index]; }
    [[nodiscard]] Team& team() const { return array_->team; }

    /// Returns a member's elements. Throws an Error if `rank` is not a rank of the team.
    [[nodiscard]] GlobalSpan<T> peer(Rank rank) const {
        if (rank < 0 || static_cast<std::size_t>(rank) >= array_->is_local.size())
            throw Error(Status::argument, "peer: " + std::to_string(rank) +
                                              " is not a rank of the team, expected 0.." +
                                              std::to_string(array_->is_local.size() - 1));
        return {array_.get(), data(), count_, rank};
    }
    /// Frees the memory. Collective. The array is then empty.
    void free() {
        memory_.free();
        count_ = 0;
    }

  private:
    static std::size_t bytes_of(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
            throw Error(Status::memory, std::to_string(count) + " elements of " +
                                            std::to_string(sizeof(T)) +
                                            " bytes exceed the address space");
        return count * sizeof(T);
    }

    Memory memory_;
    std::size_t count_ = 0;
    std::unique_ptr<detail::SharedArray> array_;  ///< references to elements point to it
};

}  // namespace weft
