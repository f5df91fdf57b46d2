// SPDX-License-Identifier: BSD-3-Clause
// adopted_range.hpp - pages of the calling process that belong to an object which mates can map.
//
// Idea     The object (a memfd) has a page more at either end than the range:
//
//              object    | edge | page | page | ... | page | edge |
//              addresses        begin                     end
//
//          Its pages lie at the range's own addresses, in place of the private ones that were
//          there, and the whole object is mapped a second time, as the *window*. A buffer that
//          begins or ends within a page is seen through the window: its partial pages are copied
//          into the edges.
// Holds    Replacing pages is atomic for all threads, both ways, and their contents stay: adoption
//          needs only that no one writes the pages meanwhile, giving them back not even that. What
//          is at the addresses is touched only after the kernel has said that it is still this
//          object (Mapping).
// Why      Giving back maps the object privately: pages not written since are read from it, and a
//          write copies them. When every page has been copied, the object's own are freed, and what
//          is left behaves as private memory does, to the zeros after MADV_DONTNEED.
//          Large pages need the same offset within 2 MiB in memory and in the object, so a range
//          in which one fits begins later in the object, after a hole; the window and mates keep
//          the offset, too. The kernel makes, copies and maps one of them in less time than the
//          512 small pages that would take its place (large_pages.hpp).
// Next     adopted_memory.hpp for when a range is made, used and given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/reach.hpp"
#include "link/direct/address_query.hpp"
#include "link/direct/kept_file.hpp"
#include "link/direct/large_pages.hpp"
#include "link/shared/os_handles.hpp"

namespace weft::link {

class AdoptedRange {
  public:
    /// Addresses of whole pages.
    struct Pages {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
        [[nodiscard]] std::uint64_t count() const { return bytes() / kPageBytes; }
    };

    /// How many of these lie where a large page fits.
    [[nodiscard]] static std::uint64_t small_in_large_pages(Pages pages) noexcept;
    /// Replaces the pages, which must be readable and writable private memory that is not written
    /// meanwhile. None if the system has no memory or descriptor for it: nothing has changed then.
    [[nodiscard]] static std::optional<AdoptedRange> create(Pages pages, std::uint32_t generation,
                                                            LargePages& large,
                                                            AddressQuery& query) noexcept;

    [[nodiscard]] const Pages& pages() const noexcept { return pages_; }
    [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
    /// Does the window show the buffer, with partial pages at its ends in the edges?
    [[nodiscard]] bool shows(std::uint64_t begin, std::uint64_t end) const noexcept {
        return begin >= pages_.begin - kPageBytes && end <= pages_.end + kPageBytes &&
               begin < pages_.end && end > pages_.begin;
    }
    /// Is this the object, as it lies in the place of the pages?
    [[nodiscard]] bool is_ours(const Mapping& mapping) const noexcept;
    /// Are the pages those of the object still, in one mapping, readable, and writable if asked
    /// for? One question to the kernel.
    [[nodiscard]] bool intact(AddressQuery& query, base::Access access) const noexcept;

    /// Fills in an exposure of a buffer that shows() holds for, and copies the edges from it.
    void expose(base::Exposure& exposure) noexcept;
    /// Copies the edges that mates may have written to the buffer; everything, if the pages became
    /// private.
    void conceal(const base::Exposure& exposure) noexcept;
    [[nodiscard]] bool exposed() const noexcept { return exposures_ > 0; }

    /// Maps the object privately wherever its pages still are: what the process writes from now on
    /// is its own. The window stays. Calls under way go on through it.
    void make_private(AddressQuery& query) noexcept;
    [[nodiscard]] bool is_private() const noexcept { return private_; }
    /// A child of the process gets no memory at these addresses.
    void withhold_from_child() noexcept;
    /// make_private(), and frees the pages of the object when the process has its own.
    void give_back(AddressQuery& query) noexcept;
    /// In a child of the process: the object is its parent's.
    void forget() noexcept { private_ = true; }

  private:
    AdoptedRange(Pages pages, std::uint32_t generation) noexcept;

    [[nodiscard]] bool open_object() noexcept;
    void enlarge(Pages pages, LargePages& large) noexcept;
    [[nodiscard]] bool fill(Pages pages) noexcept;
    [[nodiscard]] bool replace(Pages pages, AddressQuery& query) noexcept;
    [[nodiscard]] bool unshare(std::uint64_t at, std::uint64_t bytes, int protection) noexcept;
    [[nodiscard]] bool still_ours(AddressQuery& query, std::uint64_t at) const noexcept;
    void punch(std::uint64_t offset, std::uint64_t bytes) noexcept;
    /// Of an address in the window, pages or edges, in the object.
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t address) const noexcept {
        return first_ + address - pages_.begin;
    }
    [[nodiscard]] bool mapped_elsewhere(AddressQuery& query) const noexcept;
    /// Calls with the address and the bytes of each part of the pages that is still the object's.
    template <class Body>
    void for_each_part(AddressQuery& query, Body body) noexcept;

    Pages pages_;
    std::uint32_t generation_;
    std::uint64_t first_;  ///< offset of the pages in the object
    KeptFile object_;
    AddressRange window_;
    std::int32_t exposures_ = 0;
    bool private_ = false;
};

}  // namespace weft::link
