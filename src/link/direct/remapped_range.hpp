// SPDX-License-Identifier: BSD-3-Clause
// remapped_range.hpp - pages of the calling process that belong to an object that peers can map.
//
// Idea     The object (a memfd) holds the pages, and one more page before and after them, the
//          *edges*:
//
//              object    | edge | page | page | ... | page | edge |
//              addresses        begin                     end
//
//          The object's pages are mapped at the addresses where the program had private pages. The
//          owner maps the whole object a second time: the *window*. A buffer may begin or end
//          within a page. The edges hold copies of such partial pages, so that the window shows the
//          whole buffer.
// Why      A range with room for a large page has a hole before its first edge, so that the offset
//          of a page in the object is equal to its address modulo 2 MiB (map_object()).
// Holds    Only replace(), in a call that owns the pages, make_private() and functions for a forked
//          child remap pages. One thread at a time changes a range, under the lock of
//          remapped_ranges.hpp. Any thread may use a range; the window stays mapped from
//          uses().try_begin() to uses().end().
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "base/reach.hpp"
#include "link/direct/address_query.hpp"
#include "link/shared/os_handles.hpp"

namespace weft::link {

inline constexpr std::uint64_t kLargePageBytes = std::uint64_t{2} << 20;

/// Name of an object, as passed to memfd_create(). A process reuses numbers of file descriptors. So
/// the name contains the generation, and a peer that opens the descriptor through /proc checks it.
struct ObjectName {
    explicit ObjectName(std::uint32_t generation) noexcept {
        std::snprintf(text, sizeof text, "weft-adopted-%u", static_cast<unsigned>(generation));
    }
    char text[32];
};

/// Returns true if a name in /proc/self/maps is that of an object, of any generation and process.
[[nodiscard]] inline bool names_object(const char* mapping) noexcept {
    constexpr char kStart[] = "/memfd:weft-adopted-";
    return std::strncmp(mapping, kStart, sizeof kStart - 1) == 0;
}

/// Returns true if `link`, a descriptor in /proc, refers to an object of this generation.
[[nodiscard]] inline bool links_to_object(const char* link, std::uint32_t generation) noexcept {
    char expected[64];
    char found[64];
    const int length = std::snprintf(expected, sizeof expected, "/memfd:%s (deleted)",
                                     ObjectName(generation).text);
    return ::readlink(link, found, sizeof found) == length &&
           std::memcmp(found, expected, static_cast<std::size_t>(length)) == 0;
}

/// Maps an object of `bytes` bytes as a window. A window of at least kLargePageBytes is aligned to
/// kLargePageBytes, because the kernel uses a large page only if the address and the offset in the
/// file are equal modulo 2 MiB. Core dumps omit windows. Without room, returns an empty range.
[[nodiscard]] inline AddressRange map_object(int file, std::uint64_t bytes) noexcept {
    const std::uint64_t spare = bytes < kLargePageBytes ? 0 : kLargePageBytes;
    void* const room = ::mmap(nullptr, bytes + spare, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return {};
    auto* const reserved = static_cast<std::byte*>(room);
    const std::uint64_t before =
        spare == 0 ? 0 : (spare - reinterpret_cast<std::uintptr_t>(room) % spare) % spare;
    std::byte* const start = reserved + before;
    if (before > 0) ::munmap(reserved, before);
    if (spare > before) ::munmap(start + bytes, spare - before);
    AddressRange window(start, bytes);
    constexpr int kProtection = PROT_READ | PROT_WRITE;
    if (::mmap(start, bytes, kProtection, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) return {};
    // The owner's core dump already has these pages, at the program's addresses. A system call,
    // because this library replaces the function madvise().
    ::syscall(SYS_madvise, start, bytes, MADV_DONTDUMP);
    return window;
}

/// Counts the uses of a range. Uses may begin between permit() and retire(). Thread-safe.
class RangeUses {
  public:
    /// Begins a use if the range has this generation and is not retired. Returns false otherwise.
    [[nodiscard]] bool try_begin(std::uint32_t generation) noexcept {
        uses_.fetch_add(1);
        if (usable_.load() == generation) return true;
        end();
        return false;
    }
    void end() noexcept { uses_.fetch_sub(1, std::memory_order_release); }
    /// Returns the range's generation if uses may begin, else 0.
    [[nodiscard]] std::uint32_t usable() const noexcept { return usable_.load(); }

    void permit(std::uint32_t generation) noexcept { usable_.store(generation); }
    void retire() noexcept { usable_.store(0); }
    /// Retires the range if no use is in progress; returns false otherwise.
    [[nodiscard]] bool retire_unused() noexcept {
        const std::uint32_t before = usable_.exchange(0);
        if (uses_.load() == 0) return true;
        usable_.store(before);
        return false;
    }
    /// For the child of a fork: the threads that use the range do not exist in the child.
    void forget() noexcept { uses_.store(0); }

  private:
    /// The generation while new uses may begin, else 0. Sequentially consistent with uses_: either
    /// try_begin() sees that the range is retired, or the retiring thread sees the use.
    std::atomic<std::uint32_t> usable_{0};
    std::atomic<std::int32_t> uses_{0};
};

/// Decides whether to request large pages for an object. A page of 2 MiB is faster than 512 small
/// ones, unless the kernel or the hypervisor must free or move memory first. So attempts are timed.
/// After a failed or slow attempt, the next kSkipMin large pages are not tried. This number doubles
/// with each further failure, up to kSkipMax, and a fast success resets it. So slow attempts cost a
/// small part of the time of remapping. No attempt is made if the system has large pages disabled.
class LargePages {
  public:
    LargePages() : allowed_(enabled_in_system()) {}

    /// Returns true if the next large page would be tried.
    [[nodiscard]] bool expected() const noexcept { return allowed_ && to_skip_ == 0; }
    /// Returns true if the next large page should be tried. Otherwise counts it as skipped.
    [[nodiscard]] bool worth_trying() noexcept {
        if (expected()) return true;
        if (to_skip_ > 0) --to_skip_;
        return false;
    }
    /// Records an attempt: whether the kernel made the page, and the processor time that it took.
    void tried(bool made, std::chrono::nanoseconds took) noexcept {
        if (made && took < kFastAttempt) {
            next_skip_ = kSkipMin;
            return;
        }
        to_skip_ = next_skip_;
        if (next_skip_ < kSkipMax) next_skip_ *= 2;
    }

  private:
    /// Longest time of a fast attempt: the time that a large page saves over 512 small pages.
    static constexpr std::chrono::microseconds kFastAttempt{600};
    static constexpr std::uint32_t kSkipMin = 32;
    static constexpr std::uint32_t kSkipMax = 1024;

    static bool enabled_in_system() {
        std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
        std::string choices;
        return std::getline(file, choices) && choices.find("[never]") == std::string::npos;
    }

    bool allowed_;
    std::uint32_t to_skip_ = 0;           ///< number of large pages that are still to be skipped
    std::uint32_t next_skip_ = kSkipMin;  ///< number to skip after the next failure
};

class RemappedRange {
  public:
    /// Addresses of whole pages.
    struct Pages {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
        [[nodiscard]] std::uint64_t count() const { return bytes() / kPageBytes; }
        [[nodiscard]] bool overlaps(const Pages& other) const {
            return begin < other.end && other.begin < end;
        }
        /// Returns the number of small pages that aligned large pages could replace.
        [[nodiscard]] std::uint64_t small_in_large() const noexcept;
    };

    // For any thread.

    [[nodiscard]] RangeUses& uses() noexcept { return uses_; }
    [[nodiscard]] const RangeUses& uses() const noexcept { return uses_; }
    /// Returns true if the buffer is within the pages and edges, and at least partly in the pages.
    [[nodiscard]] bool contains(std::uint64_t begin, std::uint64_t end) const noexcept {
        return begin >= pages_.begin - kPageBytes && end <= pages_.end + kPageBytes &&
               begin < pages_.end && end > pages_.begin;
    }
    /// Asks the kernel whether all pages are still mapped at their addresses and permit the access.
    [[nodiscard]] bool intact(AddressQuery& query, base::Access access) const noexcept;
    /// Fills in the exposure of a buffer in the range. Copies its partial pages to the edges.
    void expose(base::Exposure& exposure) noexcept;
    /// Copies the edges back to the buffer if peers may have written to them.
    void unexpose(const base::Exposure& exposure) noexcept;

    /// Returns the offset of an address in the object, which is also its offset in the window.
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t address) const noexcept {
        return pages_offset_ + address - pages_.begin;
    }
    /// Returns true if the program has not moved this mapping of the object.
    [[nodiscard]] bool is_in_place(const Mapping& mapping) const noexcept {
        return mapping.offset == offset_of(mapping.begin);
    }

    // For the thread that holds the lock of remapped_ranges.hpp.

    /// Makes an empty object and its window. Returns false if the system refuses.
    [[nodiscard]] bool open(Pages pages, std::uint32_t generation) noexcept;
    /// Copies a piece of at most kLargePageBytes, private or of another range, to the object. No
    /// thread may write to it until the end of replace(). Returns false if the system refuses.
    [[nodiscard]] bool copy_piece(Pages piece, LargePages& large) noexcept;
    /// Maps the object's pages at the addresses of a part of a copied piece. Readers see the same
    /// contents at any time. Returns false if the system refuses.
    [[nodiscard]] bool replace(Pages part) noexcept;
    /// Populates the window, then permits uses.
    void publish() noexcept;
    /// Forbids uses, unmaps the window and closes the descriptor. The program keeps its mappings.
    void release() noexcept;
    /// Closes the object and unmaps the window. The range must not be in use.
    void close() noexcept;

    /// Returns true if this entry of the table has a range.
    [[nodiscard]] bool is_open() const noexcept { return generation_ != 0; }
    [[nodiscard]] const Pages& pages() const noexcept { return pages_; }
    [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
    /// Returns true if the mapping is one of the object's pages, but not a window.
    [[nodiscard]] bool owns(const Mapping& mapping) const noexcept;
    /// Returns true if the program has not closed the object's descriptor.
    [[nodiscard]] bool has_file() const noexcept { return object_.intact(); }
    /// Maps part of a mapping of the object privately. No write of other threads is lost. Returns
    /// false if the system refuses; the part then stays shared.
    [[nodiscard]] bool make_private(const Mapping& mapping, Pages part) noexcept;
    /// Copies pages that make_private() has mapped, so that they are independent of the object. If
    /// `free` is true, frees the object's pages that were copied.
    void detach(const Mapping& mapping, Pages part, bool free) noexcept;
    /// Returns true if private mappings still need pages of the object: detach() has failed.
    [[nodiscard]] bool backs_private_pages() const noexcept { return backs_private_pages_; }
    /// Frees memory of the object, even if peers have it mapped. Returns false on failure.
    bool punch(std::uint64_t offset, std::uint64_t bytes) noexcept;
    /// For the child of a fork: replaces a shared mapping of the object by a private copy.
    void copy_in_child(const Mapping& mapping) noexcept;
    /// For the child of a fork: closes the child's descriptor and window of the object. If not all
    /// shared mappings were `copied`, unmaps the pages: the child must not share them.
    void leave_to_parent(bool copied) noexcept;

  private:
    void copy_edges(std::byte* to, const std::byte* from,
                    const base::Exposure& exposure) const noexcept;
    [[nodiscard]] bool fill(Pages pages) noexcept;
    void enlarge(Pages pages, LargePages& large) noexcept;

    RangeUses uses_;
    std::uint32_t generation_ = 0;
    bool backs_private_pages_ = false;
    Pages pages_;
    std::uint64_t pages_offset_ = 0;  ///< offset of the pages in the object and in the window
    KeptFile object_;
    AddressRange window_;
};

}  // namespace weft::link
