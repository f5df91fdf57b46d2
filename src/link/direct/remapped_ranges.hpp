// SPDX-License-Identifier: BSD-3-Clause
// remapped_ranges.hpp - table of all remapped ranges of the process; handles forks.
//
// Idea     All runtimes of the process share the table. A range stays in it until the program frees
//          the memory or forks, or until a new range replaces the whole range. After a fork the
//          child must not share pages with its parent:
//          - An idle range becomes private memory before the fork.
//          - A range that a call, a device or a peer may be writing does not change in the parent,
//            so that no write is lost. The child copies it, and the parent waits for the copy.
// Holds    A lock protects the table. It is held during one change, such as the copy of a buffer,
//          with all signals blocked, and never while fork handlers of other libraries run. No
//          thread allocates memory under the lock. Uses of ranges begin and end without the
//          lock. During a fork, no call adds or frees pages of a range.
// Why      The table is never deleted: handlers of pthread_atfork() cannot be removed.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/blocked_signals.hpp"
#include "link/direct/address_query.hpp"
#include "link/direct/remapped_range.hpp"

namespace weft::link {

/// Reason why a buffer was not remapped although its copies had cost as much as remapping.
enum class Refusal : std::uint8_t {
    kind,      ///< the memory is not private, anonymous and writable, in pages of 4 KiB
    held,      ///< memory is pinned, or a device that can write memory is open
    property,  ///< a mapping has a property that remapping might lose
    placed,    ///< the memory has a NUMA policy, or is on another NUMA node than the thread
    overlap,   ///< the buffer overlaps a range that is in use, or that it does not contain
    limit,     ///< too many ranges, or too many bytes, are remapped
    system,    ///< no memory, descriptor or address space; limited file sizes; a fork in progress
};
inline constexpr int kRefusals = 7;

class RemappedRanges {
  public:
    using Pages = RemappedRange::Pages;
    static constexpr std::size_t kRangesMax = 256;

    /// Returns the table of this process. The first call makes it and registers handlers of forks.
    [[nodiscard]] static RemappedRanges& of_process() noexcept;
    /// Returns the table if the process has ever remapped memory, else nullptr.
    [[nodiscard]] static RemappedRanges* of_process_if_used() noexcept;

    /// Returns the number of forks between the process that made the table and this process. A
    /// runtime that sees this number change is in a child of its process.
    [[nodiscard]] int forked() const noexcept { return forked_; }

    /// Count the runtimes that use ranges. When the last one leaves, the table closes all windows
    /// and descriptors. Only the program's mappings then keep remapped memory: munmap() frees it.
    void enter_runtime() noexcept;
    void leave_runtime() noexcept;

    /// Remaps pages that the running call owns, and sets `generation` to the new range's.
    /// Returns nullopt on success. `ranges_max` and `bytes_max` limit all ranges of the process.
    [[nodiscard]] std::optional<Refusal> remap(Pages pages, std::size_t ranges_max,
                                               std::uint64_t bytes_max, LargePages& large,
                                               std::uint32_t& generation) noexcept;
    /// Begins a use of the range with this generation; end it by uses().end() of the range. Returns
    /// nullptr if the generation is 0 or its range may not be used.
    [[nodiscard]] RemappedRange* try_use(std::uint32_t generation) noexcept;
    /// Returns the range of a generation that is in use.
    [[nodiscard]] RemappedRange& used(std::uint32_t generation) noexcept {
        return ranges_[generation % kRangesMax];
    }
    /// Returns the generation of a usable range whose window contains the buffer, or 0.
    [[nodiscard]] std::uint32_t find(std::uint64_t begin, std::uint64_t end) noexcept;
    /// Retires a range that the program has partly unmapped or moved, and frees its unmapped pages.
    /// Closes all unused ranges of which no page is mapped. Does nothing during a fork.
    void recheck(std::uint32_t generation) noexcept;
    /// Returns the generation of the range in entry `index % kRangesMax`; 0: not to be used.
    [[nodiscard]] std::uint32_t usable_at(std::size_t index) const noexcept {
        return ranges_[index % kRangesMax].uses().usable();
    }
    /// Makes part of a range private, so that later writes of peers do not reach it, unless a fork
    /// is in progress or a device may write to memory. For a failed call that owns the part.
    void revoke(std::uint32_t generation, Pages part) noexcept;
    /// Returns the bytes of pages in all open ranges.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(); }
    /// Returns the number of ranges that became private memory at forks.
    [[nodiscard]] std::uint64_t made_private() const noexcept { return made_private_.load(); }

  private:
    friend class RemappedCalls;  // works on the mappings of ranges, under the lock
    class Lock;
    /// A fork in progress whose child copies ranges.
    struct Fork {
        pthread_t thread;
        int depth = 0;  ///< nested forks of the thread: its handlers may fork; 0: entry is free
        std::array<int, 2> ends{-1, -1};  ///< sockets of the parent and of the child
        bool uses_reserve = false;        ///< `ends` are those of reserve_
    };

    RemappedRanges() = default;

    [[nodiscard]] bool open_reserve() noexcept;
    void prepare_fork() noexcept;
    [[nodiscard]] bool try_prepare_fork() noexcept;
    void retire_idle_ranges() noexcept;
    [[nodiscard]] bool make_idle_ranges_private() noexcept;
    void await_child() noexcept;
    void enter_child() noexcept;
    [[nodiscard]] Fork* fork_of_this_thread() noexcept;

    [[nodiscard]] std::size_t index_of(const RemappedRange& range) const noexcept {
        return static_cast<std::size_t>(&range - ranges_.data());
    }
    /// Calls `body(mapping, range)` for each mapping of an open range, except windows.
    template <class Body>
    void for_each_mapping(std::uint64_t begin, std::uint64_t end, Body body) noexcept;
    [[nodiscard]] RemappedRange* owner(const Mapping& mapping) noexcept;
    [[nodiscard]] std::optional<Refusal> retire_replaced(Pages pages) noexcept;
    [[nodiscard]] bool replace_pieces(RemappedRange& range, LargePages& large) noexcept;
    [[nodiscard]] bool replace_parts(RemappedRange& range, Pages piece) noexcept;
    [[nodiscard]] RemappedRange* find_entry(Pages pages, std::size_t ranges_max,
                                            std::uint64_t bytes_max) noexcept;
    void close_unmapped_ranges() noexcept;
    void free_unmapped_pages(RemappedRange& range) noexcept;
    void close(RemappedRange& range) noexcept;

    std::atomic<int> lock_{0};
    std::atomic<bool> any_{false};  ///< a range was made in this process, now or earlier
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> made_private_{0};
    int runtimes_ = 0;
    int forks_ = 0;                      ///< forks in progress; while positive, no range changes
    int forked_ = 0;                     ///< see forked()
    std::uint32_t last_generation_ = 0;  ///< upper 24 bits of the last generation
    AddressQuery query_;
    std::array<RemappedRange, kRangesMax> ranges_;
    std::array<bool, kRangesMax> idle_{};  ///< ranges that prepare_fork() makes private
    std::array<Fork, 64> pending_{};       ///< forks whose child this process awaits
    std::array<KeptFile, 2> reserve_;      ///< sockets for a fork that cannot open new ones
};

/// Holds lock_. Blocks signals, because a signal handler may fork, which needs lock_.
class RemappedRanges::Lock {
  public:
    explicit Lock(RemappedRanges& ranges) noexcept : lock_(ranges.lock_) {
        while (lock_.exchange(1, std::memory_order_acquire) != 0) lock_.wait(1);
    }
    ~Lock() {
        lock_.store(0, std::memory_order_release);
        lock_.notify_one();
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

  private:
    std::atomic<int>& lock_;
    const base::BlockedSignals blocked_;
};

/// Returns true if the program's calls of madvise() and mremap() reach weft's replacements
/// (interposers.cpp). Calls each function once, with arguments that have no effect.
[[nodiscard]] bool interposers_are_reached() noexcept;

}  // namespace weft::link
