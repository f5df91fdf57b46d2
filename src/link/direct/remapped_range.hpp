// SPDX-License-Identifier: BSD-3-Clause
// remapped_range.hpp - pages of the calling process that belong to an object that peers can map.
//
// Idea     The object (a memfd) holds the pages, and a page before and after them:
//
//              object    | edge | page | page | ... | page | edge |
//              addresses        begin                     end
//
//          The shared pages are mapped at the addresses where the program had private ones. The
//          owner maps the whole object a second time: the *window*. The edges hold the partial
//          pages of a buffer that begins or ends within a page.
// Why      A range with room for a large page has a hole before its first edge. It makes the offset
//          in the object, and in the window, equal to the address modulo 2 MiB.
// Holds    Only replace(), in a call that owns the pages, and make_private() remap pages. One
//          thread at a time changes a range, under the lock of remapped_ranges.hpp. Any thread may
//          use a range; the window stays mapped from uses().try_begin() to uses().end().
// Next     remapped_ranges.hpp; remapped_memory.hpp for when a range is made.
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

/// Counts the uses of a range. They may begin from permit() until the range is retired. For any
/// thread.
class RangeUses {
  public:
    /// Begins a use of the range if it is of that generation and may still be used.
    [[nodiscard]] bool try_begin(std::uint32_t generation) noexcept {
        uses_.fetch_add(1);
        if (usable_.load() == generation) return true;
        end();
        return false;
    }
    void end() noexcept { uses_.fetch_sub(1, std::memory_order_release); }
    /// Returns the generation if uses may begin, else 0.
    [[nodiscard]] std::uint32_t usable() const noexcept { return usable_.load(); }

    void permit(std::uint32_t generation) noexcept { usable_.store(generation); }
    void retire() noexcept { usable_.store(0); }
    /// Returns false if a use is in progress. Otherwise forbids further uses.
    [[nodiscard]] bool retire_unused() noexcept {
        const std::uint32_t before = usable_.exchange(0);
        if (uses_.load() == 0) return true;
        usable_.store(before);
        return false;
    }
    /// For a child of the process: the threads that use the range do not exist there.
    void forget() noexcept { uses_.store(0); }

  private:
    /// The generation while new uses may begin, else 0. Sequentially consistent with uses_: either
    /// try_begin() sees that the range is retired, or the retiring thread sees the use.
    std::atomic<std::uint32_t> usable_{0};
    std::atomic<std::int32_t> uses_{0};
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
    };

    /// Returns the number of small pages that large pages of the object could replace.
    [[nodiscard]] static std::uint64_t small_in_large_pages(Pages pages) noexcept;

    RemappedRange() = default;
    RemappedRange(const RemappedRange&) = delete;
    RemappedRange& operator=(const RemappedRange&) = delete;

    // For any thread.

    [[nodiscard]] RangeUses& uses() noexcept { return uses_; }
    [[nodiscard]] const RangeUses& uses() const noexcept { return uses_; }
    /// Returns true if the window contains the buffer; the edges hold its partial pages.
    [[nodiscard]] bool shows(std::uint64_t begin, std::uint64_t end) const noexcept {
        return begin >= pages_.begin - kPageBytes && end <= pages_.end + kPageBytes &&
               begin < pages_.end && end > pages_.begin;
    }
    /// Returns true if the object's pages are still mapped at their addresses, in one mapping that
    /// permits the access. Queries the kernel once.
    [[nodiscard]] bool intact(AddressQuery& query, base::Access access) const noexcept;
    /// Fills in an exposure of a buffer that the window contains. Copies its partial pages to the
    /// edges.
    void expose(base::Exposure& exposure) noexcept;
    /// Copies the edges back to the buffer if peers may have written to them.
    void conceal(const base::Exposure& exposure) noexcept;

    /// Returns the offset in the object of an address among the pages, and in the window.
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t address) const noexcept {
        return first_ + address - pages_.begin;
    }
    /// Returns true if a mapping of the object shows its pages where they were put.
    [[nodiscard]] bool is_in_place(const Mapping& mapping) const noexcept {
        return mapping.offset == offset_of(mapping.begin);
    }

    // For the thread that holds the lock of all ranges.

    /// Makes the empty object and its window. Returns false if the system has no memory, descriptor
    /// or address for it.
    [[nodiscard]] bool open(Pages pages, std::uint32_t generation) noexcept;
    /// Copies a piece of at most kLargePageBytes to the object and maps it in place. The memory is
    /// private or another range's, and no thread may write to it. Returns false if the system
    /// refuses; the contents are unchanged then.
    [[nodiscard]] bool replace(Pages piece, LargePages& large, AddressQuery& query) noexcept;
    /// Populates the window, then permits uses.
    void publish() noexcept;
    /// Forbids further uses, and gives up the window and the descriptor.
    void let_go() noexcept;
    /// Closes the object and unmaps the window. The range must not be in use.
    void close() noexcept;

    /// Returns true if this entry of the table has a range.
    [[nodiscard]] bool is_open() const noexcept { return generation_ != 0; }
    [[nodiscard]] const Pages& pages() const noexcept { return pages_; }
    [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
    /// Returns true if the mapping maps pages of the object and is not a window.
    [[nodiscard]] bool owns(const Mapping& mapping) const noexcept;
    /// Returns true if the program has not closed the object's descriptor.
    [[nodiscard]] bool has_file() const noexcept { return object_.intact(); }
    /// Maps part of a mapping of the object privately. Other threads may write to it meanwhile; no
    /// write is lost. Returns false if the system has no room; the part stays shared then.
    [[nodiscard]] bool make_private(const Mapping& mapping, Pages part) noexcept;
    /// Copies pages that make_private() has mapped, so that they are independent of the object.
    /// With `free`, frees the object's own pages.
    void detach(const Mapping& mapping, Pages part, bool free) noexcept;
    /// Returns true if detach() could not copy all pages: private mappings still show the object's.
    [[nodiscard]] bool is_source() const noexcept { return is_source_; }
    /// Frees memory of the object, even if peers have it mapped.
    bool punch(std::uint64_t offset, std::uint64_t bytes) noexcept;
    /// In a child of the process: replaces a shared mapping of the object by a private copy.
    void copy_in_child(const Mapping& mapping) noexcept;
    /// For a child: closes the object, which is the parent's. Without copies of the shared mappings
    /// it also unmaps the pages.
    void leave_to_parent(bool copied) noexcept;

  private:
    [[nodiscard]] bool fill(Pages pages) noexcept;
    void enlarge(Pages pages, LargePages& large) noexcept;
    RangeUses uses_;
    std::uint32_t generation_ = 0;
    bool is_source_ = false;
    Pages pages_;
    std::uint64_t first_ = 0;  ///< offset of the pages in the object and in the window
    KeptFile object_;
    AddressRange window_;
};

}  // namespace weft::link
