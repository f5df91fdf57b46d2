// SPDX-License-Identifier: BSD-3-Clause
// segment.hpp - memory that one rank shares with its node, and the card that locates it.
//
// Idea     A segment is a sealed memfd. Its first page is a header with a random nonce; the rest
//          belongs to the heap and the teams. The owner publishes a card with its pid and the
//          number of its descriptor. Other ranks open the segment through /proc and verify it.
// Why      A memfd has no name on disk, so its memory is freed when the last process that maps it
//          ends. Pids are per namespace and are reused, so only inode and nonce identify the
//          segment. Seals prevent shrinking while another rank uses it.
// Holds    Memory is sparse: only touched pages are allocated.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/file_descriptor.hpp"
#include "base/result.hpp"
#include "link/shared/os_handles.hpp"

namespace weft::link {

/// Size of the header at the start of each segment, in bytes.
inline constexpr std::size_t kSegmentHeaderBytes = 4096;

/// Number of base addresses at which the ranks of a node try to map all their segments. Each has
/// 1 TiB. Programs, libraries, stacks and the address sanitizer's memory are at other addresses.
inline constexpr int kCommonBases = 16;
[[nodiscard]] constexpr std::uintptr_t common_base(int k) noexcept {
    constexpr std::uintptr_t kTebibyte = std::uintptr_t{1} << 40;
    return (k < kCommonBases / 2 ? 0x20 + k : 0x30 + k - kCommonBases / 2) * kTebibyte;
}

/// Returns the alignment of a mapped segment of this size: at least a large page, at most 1 GiB.
/// Objects in the segment can have this alignment, too.
[[nodiscard]] constexpr std::uint64_t alignment_of(std::uint64_t segment_bytes) noexcept {
    constexpr std::uint64_t kLargePage = std::uint64_t{2} << 20;
    constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
    return std::clamp(std::bit_floor(segment_bytes), kLargePage, kGibibyte);
}

/// Location of a rank's segment. Plain data, sent as bytes.
struct SegmentCard {
    std::uint64_t kind = 0;   ///< mark of this structure's version, which from_bytes() compares
    std::uint64_t boot = 0;   ///< hash of the boot id: equal on ranks of one running kernel
    std::uint64_t host = 0;   ///< hash of boot id and pid namespace
    std::uint64_t inode = 0;  ///< inode of the memfd
    std::uint64_t nonce = 0;  ///< random; also in the header
    std::uint64_t bytes = 0;  ///< whole pages, including the header
    std::int32_t pid = 0;     ///< process id of the owner
    std::int32_t descriptor = -1;  ///< the owner's file descriptor of the memfd
    std::uint32_t node = 0;        ///< virtual node; only ranks with equal numbers map each other
    std::uint32_t free_bases = 0;  ///< bit k: the process can reserve 1 TiB at common_base(k)

    /// Fails if the bytes have another size or `kind` than a card of this version.
    static base::Result<SegmentCard> from_bytes(std::span<const std::byte> bytes);

    friend bool operator==(const SegmentCard&, const SegmentCard&) = default;
};
static_assert(std::is_trivially_copyable_v<SegmentCard> && sizeof(SegmentCard) == 64);

/// Contents of a segment's first page.
struct SegmentHeader {
    static constexpr std::uint64_t kMagic = 0x7765'6674'7365'6731;  // "weftseg1"

    std::uint64_t magic = kMagic;
    std::uint64_t nonce = 0;
    std::uint64_t bytes = 0;
};

struct SegmentOptions {
    std::uint64_t bytes = 0;  ///< size including the header; rounded up to whole pages
    std::uint32_t node = 0;   ///< number of the owner's virtual node
};

/// The owner's handle of a segment. It must exist until all ranks of the node have mapped the
/// segment. The mappings stay valid after that.
class Segment {
  public:
    static base::Result<Segment> create(SegmentOptions options);

    [[nodiscard]] const SegmentCard& card() const noexcept { return card_; }
    [[nodiscard]] int descriptor() const noexcept { return file_.number(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return card_.bytes; }

  private:
    Segment(base::FileDescriptor file, const SegmentCard& card)
        : file_(std::move(file)), card_(card) {}

    base::FileDescriptor file_;
    SegmentCard card_;
};

}  // namespace weft::link
