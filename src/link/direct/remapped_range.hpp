// SPDX-License-Identifier: BSD-3-Clause
// remapped_range.hpp - pages of the calling process that belong to an object which peers can map.
//
// Idea     The object (a memfd) is sparse. It holds the pages, a page before them, and one page at
//          its very end:
//
//              object    | edge | page | page | ... | page |   hole of terabytes   | edge |
//              addresses        begin                     end
//
//          The pages are mapped, shared, at the addresses where the program had private ones. The
//          owner maps edge, pages and edge a second time, next to each other: the *window*. A
//          buffer that begins or ends within a page is seen through the window; the edges hold its
//          partial pages.
// Why      The hole is for mremap(): memory that the program extends reads as zeros. Large pages
//          need the same offset within 2 MiB in memory and in the object, so a range in which one
//          fits begins later in the object, after a hole; the window keeps the offset, too.
// Holds    The pages change only in replace(), under a call that owns them, and in make_private().
//          One thread changes a range (remapped_ranges.hpp has the lock); any thread uses one,
//          between try_use() and end_use(), during which the window stays.
// Next     remapped_ranges.hpp for all ranges of a process, remapped_memory.hpp for when one is
//          made.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/reach.hpp"
#include "link/direct/address_query.hpp"
#include "link/direct/kept_file.hpp"
#include "link/direct/large_pages.hpp"
#include "link/shared/os_handles.hpp"

namespace weft::link {

/// Memory is copied in pieces of this size, so that no more than one piece is there twice.
inline constexpr std::uint64_t kPieceBytes = kLargePageBytes;

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
    };

    /// Returns the number of small pages that would be part of large ones.
    [[nodiscard]] static std::uint64_t small_in_large_pages(Pages pages) noexcept;

    RemappedRange() = default;
    RemappedRange(const RemappedRange&) = delete;
    RemappedRange& operator=(const RemappedRange&) = delete;

    // For any thread.

    /// Begins a use of the range if it is of that generation and may still be used.
    [[nodiscard]] bool try_use(std::uint32_t generation) noexcept;
    void end_use() noexcept { uses_.fetch_sub(1, std::memory_order_release); }
    /// Returns the generation if uses may begin, else 0.
    [[nodiscard]] std::uint32_t usable() const noexcept { return usable_.load(); }
    /// Returns true if the window shows the buffer, with partial pages at its ends in the edges.
    [[nodiscard]] bool shows(std::uint64_t begin, std::uint64_t end) const noexcept {
        return begin >= pages_.begin - kPageBytes && end <= pages_.end + kPageBytes &&
               begin < pages_.end && end > pages_.begin;
    }
    /// Returns true if the object's pages are where they were put, in one mapping that permits the
    /// access. One question to the kernel.
    [[nodiscard]] bool intact(AddressQuery& query, base::Access access) const noexcept;
    /// Fills in an exposure of a buffer that the range shows, and copies the edges from it.
    void expose(base::Exposure& exposure) noexcept;
    /// Copies the edges that peers may have written to the buffer.
    void conceal(const base::Exposure& exposure) noexcept;

    // For the thread that holds the lock of all ranges.

    /// Makes the object, empty, and its window. False if the system has no memory, descriptor or
    /// address for it.
    [[nodiscard]] bool open(Pages pages, std::uint32_t generation) noexcept;
    /// Copies one piece, at most kPieceBytes, into the object and maps it in place. The memory must
    /// be private or another range's, and may not be written meanwhile. False: nothing has changed.
    [[nodiscard]] bool replace(Pages piece, LargePages& large, AddressQuery& query) noexcept;
    /// Maps all pages of the window, then permits uses.
    void publish() noexcept;
    /// Permits no further uses. Returns true if none is under way.
    bool retire() noexcept;
    /// Closes the object and unmaps the window. Only when no use is under way.
    void close() noexcept;

    /// False: nothing is in this place of the table.
    [[nodiscard]] bool is_open() const noexcept { return generation_ != 0; }
    [[nodiscard]] bool is_used() const noexcept { return uses_.load() > 0; }
    [[nodiscard]] const Pages& pages() const noexcept { return pages_; }
    [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
    /// Returns true if the mapping shows pages of the object, and is no window.
    [[nodiscard]] bool owns(const Mapping& mapping) const noexcept;
    /// Returns true if the program has not closed the object's descriptor.
    [[nodiscard]] bool has_file() const noexcept { return object_.intact(); }
    /// Maps part of a mapping of the object privately: other threads go on reading and writing it
    /// and lose nothing. False: the system has no room, and the part stays shared.
    [[nodiscard]] bool make_private(const Mapping& mapping, Pages part) noexcept;
    /// Copies pages that make_private() has mapped, so that none is the object's any more.
    /// With `free`, the object's own pages are freed.
    void detach(const Mapping& mapping, Pages part, bool free) noexcept;
    /// Returns true if private memory of the process still shows pages of the object: detach()
    /// could not copy all.
    [[nodiscard]] bool is_source() const noexcept { return is_source_; }
    /// Frees memory of the object, also where peers have it mapped.
    void punch(std::uint64_t offset, std::uint64_t bytes) noexcept;
    /// For a child of the process: puts a private copy in place of a shared mapping of the object.
    void copy_in_child(const Mapping& mapping) noexcept;
    /// For a child that cannot find out where the object is mapped: takes the pages away from it.
    void unmap_in_child() noexcept;
    /// For a child: closes the object, which is its parent's, whatever its parent was doing with
    /// it.
    void forget() noexcept;

  private:
    [[nodiscard]] bool fill(Pages pages) noexcept;
    void enlarge(Pages pages, LargePages& large) noexcept;
    /// Returns the offset of an address within the window, pages or edges.
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t address) const noexcept {
        return first_ + address - pages_.begin;
    }

    /// The generation while new uses may begin, else 0. Sequentially consistent with uses_: either
    /// try_use() sees that the range was retired, or retire() sees the use.
    std::atomic<std::uint32_t> usable_{0};
    std::atomic<std::int32_t> uses_{0};
    std::uint32_t generation_ = 0;
    bool is_source_ = false;
    Pages pages_;
    std::uint64_t first_ = 0;  ///< offset of the pages in the object and in the window
    KeptFile object_;
    AddressRange window_;
};

}  // namespace weft::link
