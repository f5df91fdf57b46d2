// SPDX-License-Identifier: BSD-3-Clause
// peer_windows.hpp - objects of local peers, mapped into the calling rank.
//
// Idea     The first use of an object maps all of it, but only the pages of the requested block are
//          populated. The key of a window is the peer and the object's file descriptor there. A new
//          generation under the same key means that the old object is gone. Objects that cannot be
//          mapped have a window, too, so that they are not tried again.
// Holds    At most kKept objects; no allocation after construction. In a full set, a new object
//          evicts the least recently used one. Ranks often use objects in a cycle, where that is
//          the object needed next. So the kernel copies from a new object until its copies have
//          cost as much as mapping (ski rental, as in seen_buffers.hpp).
// Why      Mapping costs 50 us, finding a window some ns. Name, size, user and seals of an opened
//          object are checked, so that an error of a peer cannot map another file or cause SIGBUS.
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

class PeerWindows {
  public:
    static constexpr int kKept = 256;

    struct Counters {
        std::uint64_t mapped = 0;
        std::uint64_t refused = 0;
        std::uint64_t passed_over = 0;  ///< uses of objects that had no window
    };

    explicit PeerWindows(const AdoptionPrices& prices = {}) : prices_(prices), windows_(kKept) {}

    /// Returns the window of an adopted block's object, or nullptr if the kernel has to copy. The
    /// pages of `bytes` bytes at `reach.offset` are populated. The window is valid until the peer
    /// closes the object or kKept - 1 others have been requested.
    [[nodiscard]] std::byte* find(Rank peer, pid_t pid, const base::Reach& reach,
                                  std::uint64_t bytes) noexcept;
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

  private:
    struct Window {
        std::uint32_t generation = 0;
        AddressRange range;
        std::uint64_t begin = 0;  ///< first populated byte
        std::uint64_t end = 0;    ///< end of the populated bytes
        std::uint64_t last_use = 0;
    };

    /// Populates the pages of a block and returns the start of the window.
    [[nodiscard]] static std::byte* show(Window& window, const base::Reach& reach,
                                         std::uint64_t bytes) noexcept;
    [[nodiscard]] bool is_due(std::uint64_t bytes) noexcept;

    AdoptionPrices prices_;
    std::array<std::uint64_t, kKept> keys_{};  ///< peer and descriptor of each window
    std::vector<Window> windows_;
    std::size_t used_ = 0;
    std::uint64_t uses_ = 0;
    std::uint64_t debt_ns_ = 0;  ///< cost of copies since the last eviction
    Counters counters_;
};

}  // namespace weft::link
