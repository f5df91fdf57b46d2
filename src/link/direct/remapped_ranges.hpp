// SPDX-License-Identifier: BSD-3-Clause
// remapped_ranges.hpp - all remapped pages of the process, and what happens to them at a fork and
// when the program advises or moves them.
//
// Idea     One table for all runtimes. A range stays in it, and its pages stay where they are,
//          until the program frees the memory or forks, or a call that owns the whole range
//          replaces it. At a fork the child must not share pages with its parent:
//          - A range that nothing else can be writing becomes private memory before the fork. The
//          kernel
//            then copies pages as it does for any private memory.
//          - Any other range stays as it is in the parent, so that no write of a thread, a device
//          or a
//            local peer is lost. The child copies it, and the parent waits for that.
// Holds    The lock is held for short changes only, with all signals blocked, and never while
//          handlers of other libraries run. From the first handler of a fork to the last one
//          nothing is changed. Uses of a range take no lock. No thread allocates memory under the
//          lock.
// Why      A process has one list of handlers for forks and no way to leave it. Hence the table is
//          the one state of this room that no object owns; the library is never unloaded.
// Next     remapped_range.hpp for one range; interposers.cpp for calls of the program.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "link/direct/address_query.hpp"
#include "link/direct/remapped_range.hpp"

namespace weft::link {

inline constexpr int kGuardInstall = 102;  ///< MADV_GUARD_INSTALL, since Linux 6.13

/// Why a buffer that was due was not remapped.
enum class Refusal : std::uint8_t {
    kind,      ///< not private memory of the process that it may write, in pages of 4 KiB
    held,      ///< memory is pinned, or a device that may write memory is open
    property,  ///< its mapping has a property that remapping might lose
    placed,    ///< it has a memory policy, or is on another memory node than new pages would be
    overlap,   ///< part of it belongs to a range that is in use, or that reaches beyond it
    limit,     ///< too many ranges, or too many bytes, are remapped
    system,    ///< no memory, descriptor or address; limited files; a fork is under way
};
inline constexpr int kRefusals = 7;

class RemappedRanges {
  public:
    using Pages = RemappedRange::Pages;
    static constexpr std::size_t kRangesMax = 256;

    struct Limits {
        std::size_t ranges_max = kRangesMax;
        std::uint64_t bytes_max = ~std::uint64_t{0};
    };

    /// The table of this process, made at the first call. Its handlers of forks are registered
    /// then.
    [[nodiscard]] static RemappedRanges& of_process() noexcept;
    /// The same if there is a range that the program's calls could concern; else nullptr.
    [[nodiscard]] static RemappedRanges* of_process_if_used() noexcept;

    /// Returns the number of forks between this process and the one that made the table: a runtime
    /// belongs to the process that made it.
    [[nodiscard]] int forked() const noexcept { return forked_; }

    /// Remaps pages that the running call owns. `generation` gets that of the new range.
    [[nodiscard]] std::optional<Refusal> remap(Pages pages, Limits limits, LargePages& large,
                                               std::uint32_t& generation) noexcept;
    /// Begins a use of the range of that generation; nullptr if it may not be used.
    [[nodiscard]] RemappedRange* try_use(std::uint32_t generation) noexcept;
    /// Returns the range that is in use under this generation.
    [[nodiscard]] RemappedRange& used(std::uint32_t generation) noexcept {
        return ranges_[generation % kRangesMax];
    }
    /// Returns the generation of a range that shows the buffer; 0: none does.
    [[nodiscard]] std::uint32_t find(std::uint64_t begin, std::uint64_t end) noexcept;
    /// Permits no further uses of the range, which has lost some of its memory. It is closed when
    /// none is left.
    void recheck(std::uint32_t generation) noexcept;
    /// Returns the generation of the range in a place of the table; 0: none is there that may be
    /// used.
    [[nodiscard]] std::uint32_t usable_at(std::size_t place) const noexcept {
        return ranges_[place % kRangesMax].usable();
    }
    /// Takes part of a range away from peers: their later writes are not seen in it. For a failed
    /// call, which owns the part and still uses the range.
    void revoke(std::uint32_t generation, Pages part) noexcept;
    /// Returns true if the mapping is of pages that this process remapped.
    [[nodiscard]] bool is_remapped(const Mapping& mapping) noexcept;
    /// Returns the number of bytes in all ranges.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(); }
    /// Returns the number of ranges that forks have made private memory.
    [[nodiscard]] std::uint64_t made_private() const noexcept { return made_private_.load(); }

    /// madvise() with advice that clears pages, where some may be remapped. `next` is the function
    /// that the program would have called.
    using Madvise = int (*)(void*, std::size_t, int);
    [[nodiscard]] int clear(Pages pages, int advice, Madvise next) noexcept;
    /// mremap() of memory that is several mappings because part of it is remapped: moves and
    /// extends them
    /// one by one. MAP_FAILED and errno as the kernel gives them for one private mapping.
    [[nodiscard]] void* move(Pages from, std::uint64_t bytes, int flags, void* fixed) noexcept;

  private:
    class Change;
    /// A fork under way whose child copies ranges.
    struct Fork {
        pthread_t thread;
        int depth = 0;  ///< handlers may fork, too; 0: no fork
        std::array<int, 2> pipe{-1, -1};
    };

    RemappedRanges() = default;

    void prepare_fork() noexcept;
    void find_idle_ranges() noexcept;
    [[nodiscard]] bool make_idle_ranges_private() noexcept;
    void await_child() noexcept;
    void enter_child() noexcept;
    [[nodiscard]] Fork* fork_of_this_thread() noexcept;

    [[nodiscard]] bool ask(std::uint64_t address, Mapping& mapping) noexcept;
    [[nodiscard]] std::size_t place(const RemappedRange& range) const noexcept {
        return static_cast<std::size_t>(&range - ranges_.data());
    }
    /// Calls `body(mapping, range)` for each mapping of an open range, but for windows.
    template <class Body>
    void for_each_mapping(std::uint64_t begin, std::uint64_t end, Body body) noexcept;
    [[nodiscard]] RemappedRange* owner(const Mapping& mapping) noexcept;
    [[nodiscard]] std::optional<Refusal> check_replaced(Pages pages) noexcept;
    [[nodiscard]] bool replace_pieces(RemappedRange& range, LargePages& large) noexcept;
    [[nodiscard]] RemappedRange* find_place(Pages pages, Limits limits) noexcept;
    void close_unmapped_ranges() noexcept;
    void close(RemappedRange& range) noexcept;
    [[nodiscard]] bool has_remapped(Pages pages) noexcept;
    [[nodiscard]] int clear_part(const Mapping& mapping, Pages part, int advice,
                                 Madvise next) noexcept;

    std::atomic<int> lock_{0};
    std::atomic<bool> any_{false};  ///< a range was ever made
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> made_private_{0};
    int forks_ = 0;  ///< under way: nothing is changed meanwhile
    int forked_ = 0;
    std::uint32_t last_generation_ = 0;  ///< without the place in the table
    AddressQuery query_;
    std::array<RemappedRange, kRangesMax> ranges_;
    std::array<bool, kRangesMax> idle_{};  ///< at a fork: nothing else can be writing the range
    std::array<Fork, 4> pending_{};
};

/// Returns true if calls of madvise() and mremap() that the program makes reach the interposers.
/// Makes one such call of each, without an effect.
[[nodiscard]] bool interposers_are_reached() noexcept;

}  // namespace weft::link
