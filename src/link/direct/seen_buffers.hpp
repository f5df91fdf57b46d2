// SPDX-License-Identifier: BSD-3-Clause
// seen_buffers.hpp - table of recently used buffers; decides when to remap ("adopt") a buffer.
//
// Idea     The ski rental problem: it is unknown whether a buffer will be used again. Each use
//          without remapping adds the cost of its copies, beyond direct access, to the buffer's
//          debt. A buffer is remapped when its debt has reached the price of remapping, including
//          the time that peers take to map the pages.
// Holds    The total cost is at most twice the cost of the better choice in hindsight. The price of
//          a buffer doubles each time that the program unmaps or moves its remapped memory. The
//          table is set-associative, with LRU replacement; only its constructor allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/reach.hpp"

namespace weft::link {

/// Costs of remapping a buffer, and of the copies that remapping avoids, each without the cost of
/// direct access. The defaults were measured on the reference machine (docs/direct-memory.md).
struct AdoptionPrices {
    std::uint64_t adopt_ns = 39'000;         ///< fixed cost of remapping a buffer
    std::uint64_t adopt_page_ns = 1'800;     ///< additional cost of each small page
    std::uint64_t large_page_ns = 800;       ///< cost of a page that becomes part of a large page
    std::uint64_t window_ns = 11'000;        ///< fixed cost of mapping an object in one peer
    std::uint64_t window_page_ns = 200;      ///< additional cost of each page that the peer needs
    std::uint64_t copy_ns = 4'000;           ///< fixed cost of a copy by the kernel
    std::uint64_t copied_byte_fs = 100'000;  ///< additional cost of each byte, in femtoseconds
    std::uint64_t bounced_byte_fs = 80'000;  ///< each byte of a copy to or from the segment

    /// Returns the cost of copies by the kernel, in ns like all results below.
    [[nodiscard]] constexpr std::uint64_t cost_of_copies(
        const base::Copies& copies) const noexcept {
        __extension__ using Wide = unsigned __int128;
        const Wide bytes_fs = Wide{copies.bytes} * copied_byte_fs;
        return copies.count * copy_ns + static_cast<std::uint64_t>(bytes_fs / 1'000'000);
    }
    /// Returns the cost of copying a buffer to the segment, from the segment, or both. With access
    /// `write`, peers change some bytes, so the owner copies all bytes in both directions.
    [[nodiscard]] constexpr std::uint64_t cost_of_bounce(std::uint64_t bytes,
                                                         base::Access access) const noexcept {
        const std::uint64_t copies = access == base::Access::write ? 2 : 1;
        return bytes / 1000 * (copies * bounced_byte_fs) / 1000;
    }
    /// Returns the cost of mapping pages of a peer's object.
    [[nodiscard]] constexpr std::uint64_t cost_of_window(std::uint64_t pages) const noexcept {
        return window_ns + pages * window_page_ns;
    }
    /// Returns the cost of remapping `pages` pages, `in_large_pages` of them within large pages,
    /// if `peers` peers map `peer_pages` pages in total.
    [[nodiscard]] constexpr std::uint64_t cost_of_adoption(
        std::uint64_t pages, std::uint64_t peers, std::uint64_t peer_pages,
        std::uint64_t in_large_pages) const noexcept {
        const std::uint64_t in_large_ns = std::min(adopt_page_ns, large_page_ns);
        return adopt_ns + (pages - in_large_pages) * adopt_page_ns + in_large_pages * in_large_ns +
               peers * window_ns + peer_pages * window_page_ns;
    }
};

struct SeenBuffer {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t debt_ns = 0;     ///< cost of uses without remapping, beyond direct access
    std::uint32_t last_use = 0;    ///< value of SeenBuffers::uses_ at the last use
    std::uint32_t generation = 0;  ///< generation of the buffer's range; 0: no range
    std::uint8_t losses = 0;       ///< number of lose() calls, at most 16

    /// Adds a use to the debt. Returns true if the debt has reached the price, doubled per loss.
    [[nodiscard]] bool add_use(std::uint64_t use_ns, std::uint64_t price_ns) noexcept {
        debt_ns += use_ns;
        return debt_ns >= price_ns << losses;
    }
    /// Records that the buffer's remapped memory was lost.
    void lose() noexcept {
        generation = 0;
        debt_ns = 0;
        if (losses < 16) ++losses;
    }
};

class SeenBuffers {
  public:
    SeenBuffers() : buffers_(kSets * kEntriesPerSet) {}

    /// Returns the buffer's entry, a new one if necessary. Valid until the next call.
    [[nodiscard]] SeenBuffer& find(std::uint64_t address, std::uint64_t bytes) noexcept {
        SeenBuffer* const set =
            &buffers_[base::mix(address ^ base::mix(bytes)) % kSets * kEntriesPerSet];
        SeenBuffer* oldest = set;
        ++uses_;
        for (SeenBuffer* buffer = set; buffer != set + kEntriesPerSet; ++buffer) {
            if (buffer->address == address && buffer->bytes == bytes) {
                buffer->last_use = uses_;
                return *buffer;
            }
            if (uses_ - buffer->last_use > uses_ - oldest->last_use) oldest = buffer;
        }
        *oldest = {.address = address, .bytes = bytes, .last_use = uses_};
        return *oldest;
    }

    static constexpr std::size_t kSets = 256;
    static constexpr std::size_t kEntriesPerSet = 4;

  private:
    std::vector<SeenBuffer> buffers_;
    std::uint32_t uses_ = 0;
};

}  // namespace weft::link
