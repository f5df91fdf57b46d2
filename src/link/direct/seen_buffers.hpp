// SPDX-License-Identifier: BSD-3-Clause
// seen_buffers.hpp - which buffers come again, and when adopting one pays.
//
// Idea     The ski rental problem: it is not known whether a buffer will come again. Each time that
//          mates have to copy through the kernel, the buffer runs up what all their copies cost
//          beyond direct access. It is worth adopting when that has reached the price of adoption,
//          of which mates pay a part: they map what was adopted.
// Holds    Never more than twice the cost of the better choice in hindsight. A buffer that was
//          adopted for nothing (its memory went away) has to run up twice as much for its next
//          adoption, and so on. Bounded, no allocation after construction: the buffer of its set
//          that came longest ago makes room.
// Next     adopted_memory.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/reach.hpp"

namespace weft::link {

/// Measured on the reference machine (docs/direct-memory.md).
inline constexpr std::uint64_t kAdoptionNs = 39'000;
inline constexpr std::uint64_t kAdoptionPageNs = 1'800;
inline constexpr std::uint64_t kLargePageNs =
    3'200;  ///< beyond that, for each small page of a large one
inline constexpr std::uint64_t kWindowNs = 11'000;   ///< to map an object of a mate,
inline constexpr std::uint64_t kWindowPageNs = 200;  ///< and for each of its pages
/// One copy of the kernel beyond direct access, as `weft fit` finds it in calls.
inline constexpr std::uint64_t kCopyNs = 4'000;
inline constexpr std::uint64_t kCopiedBytesPerNs = 10;

[[nodiscard]] constexpr std::uint64_t copies_ns(const base::Copies& copies) noexcept {
    return copies.count * kCopyNs + copies.bytes / kCopiedBytesPerNs;
}
[[nodiscard]] constexpr std::uint64_t window_ns(std::uint64_t pages) noexcept {
    return kWindowNs + pages * kWindowPageNs;
}
/// What a buffer costs to adopt that so many mates map.
[[nodiscard]] constexpr std::uint64_t adoption_ns(std::uint64_t pages,
                                                  std::uint64_t mates) noexcept {
    return kAdoptionNs + pages * kAdoptionPageNs + mates * window_ns(pages);
}

struct SeenBuffer {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t debt_ns = 0;  ///< what copying has cost beyond direct access
    std::uint32_t last_use = 0;
    std::uint32_t generation = 0;  ///< of the range that shows it; 0: none
    std::uint8_t slot = 0;         ///< of that range
    std::uint8_t losses = 0;       ///< adoptions whose memory went away
    bool large_pages = false;      ///< found when it was due for the first time

    /// Another use through the kernel. True when the debt has reached the price of adopting the
    /// pages.
    [[nodiscard]] bool owes(std::uint64_t pages, const base::Copies& copies,
                            std::uint32_t mates) noexcept {
        debt_ns += copies_ns(copies);
        const std::uint64_t price = adoption_ns(pages, std::min(mates, copies.count));
        return debt_ns >= (price + (large_pages ? pages * kLargePageNs : 0)) << losses;
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
    [[nodiscard]] SeenBuffer& find(std::uint64_t address, std::uint64_t bytes) noexcept;

    static constexpr std::size_t kSets = 256;
    static constexpr std::size_t kWays = 4;

  private:
    std::vector<SeenBuffer> buffers_;
    std::uint32_t uses_ = 0;
};

}  // namespace weft::link
