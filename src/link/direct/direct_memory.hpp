// SPDX-License-Identifier: BSD-3-Clause
// direct_memory.hpp - memory of the calling rank that its node-mates read and write where it lies.
//
// Idea     Before a call the owner exposes a buffer, and says in a few bytes (base::Reach) how
//          mates get at it: in the segment that they have mapped, in pages of an object that they
//          can map (the buffer is *adopted*: its pages were replaced, in place, by pages of that
//          object), in a copy of it that the owner makes in its segment (*bounced*), or through the
//          kernel, which copies from process to process. Mates turn a Reach into a pointer or have
//          the kernel copy.
// Holds    Every buffer has a way. expose() and conceal() of a buffer that is known allocate
//          nothing and make at most one system call; map() of a block seen before makes none.
// Why      No copy beyond the one that the call is for, on buffers that the caller allocated as it
//          liked.
// Next     remapped_memory.hpp for the owner's side, mate_windows.hpp for the mate's.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/reach.hpp"
#include "link/direct/bounce_area.hpp"
#include "link/direct/mate_windows.hpp"
#include "link/direct/remapped_memory.hpp"
#include "weft/types.hpp"

namespace weft::link {

/// A rank of the job as others on its node see it.
struct DirectMate {
    pid_t pid = 0;                 ///< 0: it is not on this node
    std::byte* segment = nullptr;  ///< where its segment is mapped here; may be missing
};

struct DirectOptions {
    std::span<std::byte> segment;   ///< the calling rank's own, as mapped here; may be empty
    std::span<std::byte> bounce;    ///< the part of it for copies of buffers; may be empty
    std::vector<DirectMate> mates;  ///< by rank in the job
    std::uint32_t processors = 1;   ///< on which they run
    DirectMode mode = DirectMode::automatic;
    /// 0 bytes: this rank's share of a quarter of the machine's memory.
    AdoptionLimits limits = {.bytes_max = 0};
};

/// One thread at a time uses an object, and the memory behind an exposure stays valid until
/// conceal().
class DirectMemory {
  public:
    explicit DirectMemory(DirectOptions options);
    DirectMemory(const DirectMemory&) = delete;
    DirectMemory& operator=(const DirectMemory&) = delete;

    /// Makes [data, data + bytes) reachable for mates until conceal(). Always succeeds; the worst
    /// way is base::Way::copied. Until then the owner uses `alias` of the result instead of `data`.
    /// `copies`: what mates need of it, which is what adopting it may save.
    [[nodiscard]] base::Exposure expose(std::byte* data, std::uint64_t bytes, base::Access access,
                                        const base::Copies& copies) noexcept;
    /// The same for one mate that needs all of it.
    [[nodiscard]] base::Exposure expose(std::byte* data, std::uint64_t bytes,
                                        base::Access access) noexcept {
        return expose(data, bytes, access, {1, bytes});
    }
    /// Ends an exposure, when no mate uses it any more: what mates wrote is at `data` then.
    void conceal(const base::Exposure& exposure) noexcept;
    /// The same for a call that failed, which mates may still be in: memory that was adopted
    /// becomes private, so what they write from now on is not seen. Of other memory they are not
    /// kept away.
    void withdraw(const base::Exposure& exposure) noexcept;

    /// Where a mate's exposed block of so many bytes lies in the memory of the calling rank, or
    /// nullptr: then only read() and write() reach it. The pointer holds until the mate conceals
    /// the block, and no longer than until MateWindows::kKept - 1 other objects of mates have been
    /// asked for.
    [[nodiscard]] std::byte* map(Rank mate, const base::Reach& reach,
                                 std::uint64_t bytes = 0) noexcept;

    /// The kernel copies between a mate's memory, at its own address, and the calling rank's. False
    /// if it refuses; part of the bytes may have been copied then.
    [[nodiscard]] bool read(Rank mate, std::uint64_t address, std::byte* to,
                            std::uint64_t bytes) noexcept;
    [[nodiscard]] bool write(Rank mate, std::uint64_t address, const std::byte* from,
                             std::uint64_t bytes) noexcept;

    /// Of the buffers of this rank that were adopted.
    [[nodiscard]] RemappedMemory::Counters adoption_counters() const noexcept {
        return adopted_.counters();
    }
    /// Why no buffer is ever adopted in this process; empty: they may be.
    [[nodiscard]] std::string_view adoption_off() const noexcept { return adopted_.off(); }
    /// Of objects of mates that map() has mapped or could not map.
    [[nodiscard]] const MateWindows::Counters& window_counters() const noexcept {
        return windows_.counters();
    }

    /// Lets node-mates copy where Yama restricts that to parents of a process. Before they try.
    static void allow_copying() noexcept;
    /// Can the kernel copy from that process? Reads eight bytes there and compares.
    [[nodiscard]] static bool can_copy(pid_t pid, const void* address,
                                       std::uint64_t expected) noexcept;

  private:
    [[nodiscard]] bool in_segment(const std::byte* data, std::uint64_t bytes) const noexcept;
    void bounce(base::Exposure& exposure) noexcept;
    using Copy = decltype(&::process_vm_readv);
    [[nodiscard]] bool copy(Copy call, Rank mate, std::uint64_t there, std::byte* here,
                            std::uint64_t bytes) noexcept;
    std::byte* detour(std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
                      std::uint64_t place) noexcept;

    DirectOptions options_;
    RemappedMemory adopted_;
    BounceArea bounce_;
    MateWindows windows_;
    std::unique_ptr<std::byte[]> detour_;  ///< made when it is first needed
};

}  // namespace weft::link
