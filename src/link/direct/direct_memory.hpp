// SPDX-License-Identifier: BSD-3-Clause
// direct_memory.hpp - access to buffers in the memory of local peers, without put targets.
//
// Idea     Before a call the owner exposes its buffer and sends a base::Reach, which states how
//          local peers can access it. A buffer outside the owner's segment is:
//          - remapped: its pages belong to an object that peers can map (remapped_memory.hpp).
//          - bounced: the owner keeps a copy of the buffer in its segment (BounceArea).
//          - copied: the kernel copies between the two processes.
//          In names and options, "adopted" means remapped.
// Holds    Every buffer can be exposed. expose() and unexpose() of remapped memory allocate nothing
//          and usually make at most one system call. map() of mapped pages makes no system call.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/extent.hpp"
#include "base/reach.hpp"
#include "link/direct/peer_windows.hpp"
#include "link/direct/remapped_memory.hpp"
#include "weft/types.hpp"

namespace weft::link {

/// Part of the calling rank's segment, for copies of buffers that local peers cannot map. The owner
/// copies a buffer to a piece of this area before a call, and back after the call if peers may have
/// written to it. No function allocates. A new piece is at the lowest free address, so that few
/// pages are touched. The piece of a failed call is never freed: peers may still write to it.
class BounceArea {
  public:
    static constexpr std::size_t kPieces = 8;  ///< largest number of pieces in use at a time

    explicit BounceArea(std::span<std::byte> memory) : memory_(memory) {}

    /// Returns the largest size of a piece: half of the area, for an input and an output of a call.
    [[nodiscard]] std::uint64_t bytes_max() const noexcept { return memory_.size() / 2; }
    /// Returns a piece of at least `bytes` bytes, or nullptr if the area has no space for it.
    [[nodiscard]] std::byte* take(std::uint64_t bytes) noexcept {
        const auto [begin, at] = find_gap(bytes);
        if (begin == kNowhere) return nullptr;
        const auto used_end = pieces_.begin() + count_++;
        std::copy_backward(pieces_.begin() + at, used_end, used_end + 1);
        pieces_[at] = {begin, begin + base::round_up(bytes, kPageBytes)};
        return memory_.data() + begin;
    }
    /// Frees a piece. Ignores an address that is not the start of a piece in use.
    void give_back(const std::byte* piece) noexcept {
        const auto begin = static_cast<std::uint64_t>(piece - memory_.data());
        const auto used_end = pieces_.begin() + count_;
        const auto found = std::find_if(pieces_.begin(), used_end,
                                        [&](const Piece& used) { return used.begin == begin; });
        if (found == used_end) return;
        std::copy(found + 1, used_end, found);
        --count_;
    }
    [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept {
        return find_gap(bytes).begin != kNowhere;
    }

  private:
    struct Piece {
        std::uint64_t begin = 0;  ///< offset in the area
        std::uint64_t end = 0;
    };
    /// Free space before, between or after pieces.
    struct Gap {
        std::uint64_t begin = kNowhere;  ///< offset in the area; kNowhere: no space
        std::size_t at = 0;              ///< index that a piece in the gap gets in `pieces_`
    };
    static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

    [[nodiscard]] Gap find_gap(std::uint64_t bytes) const noexcept {
        if (bytes > bytes_max() || count_ == kPieces) return {};
        const std::uint64_t needed = base::round_up(bytes, kPageBytes);
        std::uint64_t begin = 0;
        std::size_t at = 0;
        while (at < count_ && pieces_[at].begin - begin < needed) begin = pieces_[at++].end;
        if (memory_.size() - begin < needed) return {};
        return {begin, at};
    }

    std::span<std::byte> memory_;
    std::array<Piece, kPieces> pieces_{};  ///< the first count_ pieces are in use, by offset
    std::size_t count_ = 0;
};

struct DirectOptions {
    const std::byte* segment = nullptr;  ///< start of the calling rank's segment
    std::span<std::byte> bounce;         ///< part of the segment for BounceArea; may be empty
    std::vector<pid_t> processes;        ///< by rank of the job; 0: the rank is remote
    std::uint32_t processors = 1;        ///< processors that the host's ranks may use; at least 1
    DirectMode mode = DirectMode::automatic;
    /// A bytes_max of 0 means this rank's share of a quarter of the machine's memory.
    AdoptionLimits limits = {.bytes_max = 0};
};

/// Exposes buffers of the calling rank and accesses exposed buffers of local peers. Not
/// thread-safe. Exposed memory must stay allocated until unexpose() or revoke().
class DirectMemory {
  public:
    explicit DirectMemory(DirectOptions options);

    /// Makes [data, data + bytes) accessible to local peers until unexpose(). Until then the owner
    /// must use `alias` of the result instead of `data`. `copies` describes the copies that the
    /// kernel has to make if peers cannot map the buffer; their cost decides the method.
    [[nodiscard]] base::Exposure expose(std::byte* data, std::uint64_t bytes, base::Access access,
                                        const base::Copies& copies) noexcept;
    /// Exposes a buffer of which one peer needs all bytes.
    [[nodiscard]] base::Exposure expose(std::byte* data, std::uint64_t bytes,
                                        base::Access access) noexcept {
        return expose(data, bytes, access, {1, bytes});
    }
    /// Ends an exposure that no peer uses any more. Data that peers wrote is at `data` afterwards.
    void unexpose(const base::Exposure& exposure) noexcept;
    /// Ends an exposure of a failed call, which peers may still be executing. Their later writes do
    /// not reach a bounced buffer and usually no remapped one, but may reach any other buffer.
    void revoke(const base::Exposure& exposure) noexcept;

    /// Returns the address of a local peer's exposed block in the calling rank, or nullptr if only
    /// read() and write() can access the block. The pages of its first `bytes` bytes are populated,
    /// so that accesses do not fault. The pointer is valid until the peer unexposes the block or
    /// PeerWindows::kWindowsMax - 1 other objects have been requested.
    [[nodiscard]] std::byte* map(Rank peer, const base::Reach& reach,
                                 std::uint64_t bytes = 0) noexcept;

    /// Have the kernel copy between `address` in a local peer and the calling rank's memory. Return
    /// false if the kernel refuses; some bytes may have been copied.
    [[nodiscard]] bool read(Rank peer, std::uint64_t address, std::byte* to,
                            std::uint64_t bytes) noexcept {
        return copy(&::process_vm_readv, peer, address, to, bytes);
    }
    [[nodiscard]] bool write(Rank peer, std::uint64_t address, const std::byte* from,
                             std::uint64_t bytes) noexcept {
        // The kernel only reads the local side of a write.
        return copy(&::process_vm_writev, peer, address, const_cast<std::byte*>(from), bytes);
    }
    [[nodiscard]] RemappedMemory::Counters adoption_counters() const noexcept {
        return remapped_.counters();
    }
    /// Returns the reason why this process remaps no buffer; empty if it remaps buffers.
    [[nodiscard]] std::string_view adoption_off() const noexcept { return remapped_.off(); }
    [[nodiscard]] const PeerWindows::Counters& window_counters() const noexcept {
        return windows_.counters();
    }

    /// Permits all processes of the user to copy this process's memory. By default the security
    /// module Yama may permit only ancestors. Call this before peers copy.
    static void allow_copying() noexcept;
    /// Returns true if the kernel copies from a process: the word at `address` there is `expected`.
    [[nodiscard]] static bool can_copy(pid_t pid, const void* address,
                                       std::uint64_t expected) noexcept;

  private:
    void bounce(base::Exposure& exposure) noexcept;
    using Copy = decltype(&::process_vm_readv);
    [[nodiscard]] bool copy(Copy call, Rank peer, std::uint64_t address, std::byte* local,
                            std::uint64_t bytes) noexcept;
    std::byte* staging_for(std::uint64_t address, std::uint64_t distance,
                           std::uint64_t bytes) noexcept;

    DirectOptions options_;
    RemappedMemory remapped_;
    BounceArea bounce_;
    PeerWindows windows_;
    std::unique_ptr<std::byte[]> staging_;  ///< memory of staging_for(), allocated on first use
};

}  // namespace weft::link
