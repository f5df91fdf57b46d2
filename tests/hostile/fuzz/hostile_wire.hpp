// SPDX-License-Identifier: BSD-3-Clause
// hostile_wire.hpp - the wire of rank 0 in a job of two ranks on two nodes, for fuzz targets whose
// input is the data of rank 1. The wire accepts all puts of rank 0 and checks their sources and
// targets.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "run/onesided/network.hpp"

namespace weft::fuzz {

/// Implements the functions of link::Wire that one-sided calls and active messages use.
class HostileWire {
  public:
    static constexpr std::uint64_t kSegmentBytes = std::uint64_t{1} << 18;

    std::byte* near(Rank rank) noexcept { return rank == 0 ? bytes() : nullptr; }
    HostileWire& memory() noexcept { return *this; }
    std::uint64_t segment_bytes() noexcept { return kSegmentBytes; }
    base::Post try_put(const base::Put& put, std::uint64_t&) noexcept {
        for (const base::PutPart& part : put.parts) read(part.data, part.bytes);
        if (put.cell != base::Put::kNoCell) check(put.cell, sizeof(base::Cell));
        if (put.target != base::Put::kInCell) check(put.target, put.bytes);
        return base::Post::posted;
    }
    base::Post try_read(const base::Read&, std::uint64_t&) noexcept { return base::Post::posted; }
    bool copy_from(Rank, const base::Reach&, std::byte*, std::uint64_t) noexcept { return false; }
    bool copy_to(Rank, const base::Reach&, const std::byte*, std::uint64_t) noexcept {
        return false;
    }
    void settle(std::uint64_t) noexcept {}
    const base::RemoteFacts& remote() const noexcept { return facts_; }
    HostileWire& counts() noexcept { return *this; }
    std::uint64_t written_to(Rank) noexcept { return 0; }
    std::uint32_t close_batch(Rank) noexcept { return 0; }
    bool take_batch(Rank, std::uint32_t) noexcept { return true; }
    void distrust(Rank, const char*) noexcept { distrusted = true; }

    /// Returns the segment of rank 0.
    std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(cells_.data()); }
    base::Cell& cell(std::uint64_t offset) noexcept {
        return *reinterpret_cast<base::Cell*>(bytes() + offset);
    }
    bool distrusted = false;  ///< rank 0 has reported invalid data of its peer

  private:
    /// Checks that bytes are in the segment of rank 1.
    static void check(std::uint64_t offset, std::uint64_t bytes) {
        WEFT_CHECK(offset <= kSegmentBytes && bytes <= kSegmentBytes - offset, offset, bytes);
    }
    /// Reads bytes; the address sanitizer reports an access outside of allocated memory.
    static void read(const std::byte* data, std::size_t bytes) {
        std::vector<std::byte> copy(data, data + bytes);
        WEFT_CHECK(copy.size() == bytes, bytes);
    }
    const base::RemoteFacts facts_{.completion = base::RemoteCompletion::ordered,
                                   .whole_words = true,
                                   .reads = false,
                                   .signals = true};
    std::vector<base::Cell> cells_ = std::vector<base::Cell>(kSegmentBytes / sizeof(base::Cell));
};

}  // namespace weft::fuzz
