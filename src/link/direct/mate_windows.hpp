// SPDX-License-Identifier: BSD-3-Clause
// mate_windows.hpp - objects of node-mates, mapped into the calling rank.
//
// Idea     An object is mapped whole when it is first asked for, but its pages only as far as
//          blocks need them: of a vector that each rank reads a slice of, each maps its slice. It
//          is found again by its mate and its file descriptor there. A new generation under that
//          descriptor means that the old object is gone. Objects that could not be mapped are
//          remembered as well: they are not tried twice.
// Holds    Never more than kKept objects; the one that was used longest ago makes room. If more
//          come in turn, that would be just the one that comes next: so a full set lets the kernel
//          copy until that has cost as much as mapping (ski rental, as in seen_buffers.hpp). No
//          allocation after construction.
// Why      Mapping costs 50 us, finding a window some ns. What a process opens through /proc must
//          be what it looks for: name, size, user and seals are checked, so that a mate's mistake
//          maps no foreign file and no access ends in a SIGBUS.
// Next     remapped_range.hpp for how an object is made.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/reach.hpp"
#include "link/direct/seen_buffers.hpp"
#include "link/shared/os_handles.hpp"
#include "weft/types.hpp"

namespace weft::link {

class MateWindows {
  public:
    static constexpr int kKept = 256;

    struct Counters {
        std::uint64_t mapped = 0;
        std::uint64_t refused = 0;
        std::uint64_t passed_over = 0;  ///< uses of objects for which there was no room
    };

    explicit MateWindows(const AdoptionPrices& prices = {}) : prices_(prices), windows_(kKept) {}

    /// Where the object of a block with the way base::Way::adopted starts here, all
    /// `reach.object_bytes` of it, or nullptr: the kernel has to copy. Its pages are there from
    /// `reach.offset` for so many bytes; others come when they are touched. It
    /// stays there until its mate gives it up or kKept - 1 others have been asked for.
    [[nodiscard]] std::byte* find(Rank mate, pid_t pid, const base::Reach& reach,
                                  std::uint64_t bytes) noexcept;

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

  private:
    struct Window {
        std::uint32_t generation = 0;
        AddressRange range;
        std::uint64_t begin = 0;  ///< of its pages, those from here
        std::uint64_t end = 0;    ///< to here have been asked for
        std::uint64_t last_use = 0;
    };

    /// Where the window starts, with the pages of a block in place.
    [[nodiscard]] static std::byte* show(Window& window, const base::Reach& reach,
                                         std::uint64_t bytes) noexcept;
    [[nodiscard]] bool is_due(std::uint64_t bytes) noexcept;

    AdoptionPrices prices_;
    std::array<std::uint64_t, kKept> keys_{};  ///< mate and descriptor of each window
    std::vector<Window> windows_;
    std::size_t used_ = 0;
    std::uint64_t uses_ = 0;
    std::uint64_t debt_ns_ = 0;  ///< what copying has cost since an object made room
    Counters counters_;
};

}  // namespace weft::link
