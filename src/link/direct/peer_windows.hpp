// SPDX-License-Identifier: BSD-3-Clause
// peer_windows.hpp - objects of local peers, mapped into the calling rank.
//
// Idea     The first use of an object maps all of it, but populates only the pages of the requested
//          block. The key of a window is the peer and the number of the object's file descriptor in
//          the peer. Another generation under the same key means that the peer has closed the old
//          object. The window of an object that cannot be mapped is empty and is not retried.
// Holds    The table has at most kWindowsMax windows; only its constructor allocates. In a full
//          table, a new object evicts the least recently used one. Ranks often use objects in a
//          cycle, where the evicted object is needed next. So the kernel copies first, until the
//          cost of its copies reaches the cost of mapping both (ski rental, as in
//          seen_buffers.hpp).
// Why      The name, size, user and seals of an opened object are checked, so that an error of a
//          peer cannot make this rank map another file or cause SIGBUS.
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
    static constexpr int kWindowsMax = 256;

    struct Counters {
        std::uint64_t mapped = 0;       ///< objects that were mapped
        std::uint64_t refused = 0;      ///< objects that could not be mapped
        std::uint64_t passed_over = 0;  ///< uses without a window, because the table was full
    };

    explicit PeerWindows(const AdoptionPrices& prices = {})
        : prices_(prices), windows_(kWindowsMax) {}

    /// Returns the start of the window of a remapped block's object, or nullptr if the kernel has
    /// to copy. Populates the pages of `bytes` bytes at reach.offset. The window is valid until the
    /// peer closes the object or kWindowsMax - 1 others have been requested.
    [[nodiscard]] std::byte* find(Rank peer, pid_t pid, const base::Reach& reach,
                                  std::uint64_t bytes) noexcept;
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

  private:
    struct Window {
        std::uint32_t generation = 0;
        AddressRange range;
        std::uint64_t begin = 0;     ///< offset of the first populated byte
        std::uint64_t end = 0;       ///< end of the populated bytes
        std::uint64_t last_use = 0;  ///< value of uses_ at the last use
    };

    /// Populates the pages of a block and returns the start of the window.
    [[nodiscard]] static std::byte* populate_block(Window& window, const base::Reach& reach,
                                                   std::uint64_t bytes) noexcept;
    [[nodiscard]] bool add_copy(std::uint64_t bytes) noexcept;

    AdoptionPrices prices_;
    std::array<std::uint64_t, kWindowsMax> keys_{};  ///< peer and descriptor of each window
    std::vector<Window> windows_;
    std::size_t used_ = 0;       ///< the first used_ windows and keys are in use
    std::uint64_t uses_ = 0;     ///< number of find() calls whose object got a place in the table
    std::uint64_t debt_ns_ = 0;  ///< cost of copies since the last eviction
    Counters counters_;
};

}  // namespace weft::link
