// SPDX-License-Identifier: BSD-3-Clause
// seen_buffers.hpp - which buffers come again, and when adopting one pays.
//
// Idea     The ski rental problem: it is not known whether a buffer will come again. Each time that
//          mates have to copy through the kernel, the buffer runs up what all their copies cost
//          beyond direct access; or each time that its owner copies it for them, what that costs.
//          It is worth adopting when that has reached the price of adoption,
//          of which mates pay a part: they map what was adopted.
// Holds    Never more than twice the cost of the better choice in hindsight. A buffer that was
//          adopted for nothing (its memory went away) has to run up twice as much for its next
//          adoption, and so on. Bounded, no allocation after construction: the buffer of its set
//          that came longest ago makes room.
// Next     remapped_memory.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "base/reach.hpp"

namespace weft::link {

/// What adopting a buffer costs, and what it saves. The figures given here were measured on the
/// reference machine (docs/direct-memory.md).
struct AdoptionPrices {
    std::uint64_t adopt_ns = 39'000;  ///< to adopt a buffer, and
    std::uint64_t adopt_page_ns = 1'800;
    std::uint64_t large_page_ns =
        800;                           ///< in place of that, for a small page's part of a large one
    std::uint64_t window_ns = 11'000;  ///< to map an object of a mate, and for each of its pages
    std::uint64_t window_page_ns = 200;
    std::uint64_t copy_ns = 4'000;  ///< one copy of the kernel beyond direct access, in calls,
    std::uint64_t copied_byte_fs = 100'000;  ///< and each byte
    std::uint64_t bounced_byte_fs = 80'000;  ///< of a copy into the segment, or out of it

    [[nodiscard]] constexpr std::uint64_t of_copies(const base::Copies& copies) const noexcept {
        __extension__ using Wide = unsigned __int128;
        const Wide bytes_fs = Wide{copies.bytes} * copied_byte_fs;
        return copies.count * copy_ns + static_cast<std::uint64_t>(bytes_fs / 1'000'000);
    }
    /// Of a buffer that is copied into the segment, or back, or both.
    [[nodiscard]] constexpr std::uint64_t of_bounce(std::uint64_t bytes,
                                                    base::Access access) const noexcept {
        const std::uint64_t copies = access == base::Access::write ? 2 : 1;
        return bytes / 1000 * (copies * bounced_byte_fs) / 1000;
    }
    [[nodiscard]] constexpr std::uint64_t of_window(std::uint64_t pages) const noexcept {
        return window_ns + pages * window_page_ns;
    }
    /// Of a buffer that so many mates map, each the pages of it that it needs, and of whose pages
    /// some lie in large ones.
    [[nodiscard]] constexpr std::uint64_t of_adoption(std::uint64_t pages, std::uint64_t mates,
                                                      std::uint64_t mates_pages,
                                                      std::uint64_t in_large_pages) const noexcept {
        const std::uint64_t in_large_ns = std::min(adopt_page_ns, large_page_ns);
        return adopt_ns + (pages - in_large_pages) * adopt_page_ns + in_large_pages * in_large_ns +
               mates * window_ns + mates_pages * window_page_ns;
    }
};

struct SeenBuffer {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t debt_ns = 0;  ///< what uses have cost beyond direct access
    std::uint32_t last_use = 0;
    std::uint32_t generation = 0;  ///< of the range that shows it; 0: none
    std::uint8_t losses = 0;       ///< adoptions whose memory went away

    /// Another use without adoption, which costs so much. True when the debt has reached the price
    /// of adoption.
    [[nodiscard]] bool owes(std::uint64_t use_ns, std::uint64_t price_ns) noexcept {
        debt_ns += use_ns;
        return debt_ns >= price_ns << losses;
    }
    void lose() noexcept {
        generation = 0;
        debt_ns = 0;
        if (losses < 16) ++losses;
    }
};

class SeenBuffers {
  public:
    SeenBuffers() : buffers_(kSets * kWays) {}

    /// The buffer, as it was left, or a new one. Valid until the next call.
    [[nodiscard]] SeenBuffer& find(std::uint64_t address, std::uint64_t bytes) noexcept {
        SeenBuffer* const set = &buffers_[base::mix(address ^ base::mix(bytes)) % kSets * kWays];
        SeenBuffer* oldest = set;
        ++uses_;
        for (SeenBuffer* buffer = set; buffer != set + kWays; ++buffer) {
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
    static constexpr std::size_t kWays = 4;

  private:
    std::vector<SeenBuffer> buffers_;
    std::uint32_t uses_ = 0;
};

}  // namespace weft::link
