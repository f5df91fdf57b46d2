// SPDX-License-Identifier: BSD-3-Clause
// machine.hpp - costs of puts on a team's machine that all its ranks know.
//
// Idea     A put has two paths: near, through memory that ranks of a node share, and far, over the
//          network between nodes. On a host with more ranks than processors, a waiting rank also
//          waits for its turn on the processor, and the ranks share the processors to compute.
// Why      Times are whole numbers, so all ranks of a team compute the same choice from the same
//          numbers.
// Next     prediction.hpp for the use of these costs; docs/selection.md.
#pragma once

#include <cstdint>
#include <vector>

#include "base/region.hpp"
#include "plan/select/model.hpp"
#include "weft/types.hpp"

namespace weft::plan {

struct PutCost {
    /// Time from the end of the sender's work to the start of the receiver's work.
    Time latency = 0;
    Time issue = 0;            ///< time of the sender, for each put
    Time receive = 0;          ///< time of the receiver, for each put
    std::int64_t byte_fs = 0;  ///< time of the sender, for each byte
    /// Time of the receiver for each byte as it arrives, if each rank has a processor.
    std::int64_t receive_byte_fs = 0;
    /// Extra time of the sender, for each payload that fits no cell.
    Time slot = 0;
    Time turn = 0;  ///< time from one rank's turn on a shared processor to the next rank's turn
};

/// Time to find the memory of a local peer and to copy a byte from or to it in place. Measured on a
/// machine with two processors, as are all constants up to kColdByteFs.
inline constexpr Time kMapped = 300'000;
inline constexpr std::int64_t kMappedByteFs = 15'000;
/// Extra time for each byte that is combined in place, and time to expose a buffer to local peers.
inline constexpr std::int64_t kMappedReduceByteFs = 20'000;
inline constexpr Time kExpose = 800'000;
/// Time of a copy by the kernel from process to process, and of each byte of it.
inline constexpr Time kKernelCopy = 600'000;
inline constexpr std::int64_t kKernelCopyByteFs = 58'000;

/// Time to copy a byte of a long payload out of a put target that the network has filled.
inline constexpr std::int64_t kSlotByteFs = 120'000;
/// Time to read a byte of such a target, for a copy or a reduction, if each rank has a processor.
inline constexpr std::int64_t kUnpackByteFs = 25'000;
/// Buffers up to this size have put targets for many calls, and stay in the cache that the
/// network has filled.
inline constexpr std::uint64_t kShortBytes = std::uint64_t{16} << 10;
/// Bytes of a processor's own cache, and extra time for each byte beyond it.
inline constexpr std::uint64_t kCacheBytes = std::uint64_t{1} << 20;
inline constexpr std::int64_t kColdByteFs = 7'500;
/// Pieces of longer buffers stay in the cache up to this size. Copying them takes 1/kCachedPart of
/// the time.
inline constexpr std::uint64_t kCachedPiece = std::uint64_t{256} << 10;
inline constexpr std::int64_t kCachedPart = 3;

struct Machine {
    PutCost near;
    PutCost far;
    std::uint64_t cell_bytes = base::kCellPayload;  ///< payload that a put carries with its flag
    Card card;        ///< NIC of each node; set if its ranks can use more than it provides
    Time reduce = 0;  ///< time for each operand that is combined into another
    std::int64_t reduce_byte_fs = 0;
    Time call = 0;  ///< time for each rank to enter and leave a call, if ranks share processors
    std::vector<Rank> node_of;  ///< by rank of the team; empty if all are on one node
    /// Ranks and processors of the host with the most ranks per processor. If the numbers are
    /// equal, no rank waits for a processor.
    std::int64_t host_ranks = 1;
    std::int64_t host_processors = 1;

    std::uint64_t bank_bytes = ~std::uint64_t{0};  ///< size of the put targets of a call
    bool direct_delivery = true;                   ///< ranks can put to any memory of remote ranks
    bool direct = false;     ///< ranks of a node can read and write each other's buffers in place
    bool by_kernel = false;  ///< `direct` uses copies by the kernel; no pages are shared
    Time expose = 0;         ///< time for each buffer that a rank exposes to local peers
    Time mapped = 0;         ///< time for each local peer's buffer that a step uses
    std::int64_t mapped_byte_fs = 0;         ///< time for each byte copied from or to it
    std::int64_t mapped_reduce_byte_fs = 0;  ///< extra time for each byte combined in it
    std::int64_t copy_byte_fs = 0;  ///< time for each byte copied within the rank's own memory
    /// Extra time for each byte, beyond `cache_bytes`, of the buffers that a processor's ranks use
    /// in a call.
    std::int64_t cold_byte_fs = 0;
    std::uint64_t cache_bytes = kCacheBytes;
    /// Time to copy each byte out of a put target that another node has filled.
    std::int64_t slot_byte_fs = kSlotByteFs;
    /// Time to read each byte of such a target if each rank has a processor.
    std::int64_t unpack_byte_fs = kUnpackByteFs;
    Time kernel_copy = kKernelCopy;  ///< `mapped` where the kernel copies
    std::int64_t kernel_copy_byte_fs = kKernelCopyByteFs;

    [[nodiscard]] bool oversubscribed() const { return host_ranks > host_processors; }
    [[nodiscard]] bool is_far(Rank a, Rank b) const {
        return !node_of.empty() &&
               node_of[static_cast<std::size_t>(a)] != node_of[static_cast<std::size_t>(b)];
    }
    /// Returns the time in which all ranks of a processor enter and leave a call.
    [[nodiscard]] Time calls() const { return call * host_ranks / host_processors; }
};

/// Cost of puts through memory that two processors share. Measured on a machine with two of them.
inline constexpr PutCost kSharedMemory{.latency = 60'000,
                                       .issue = 10'000,
                                       .receive = 20'000,
                                       .byte_fs = 65'000,
                                       .slot = 15'000,
                                       .turn = 900'000};
/// Time that a short call takes beyond its messages. Measured in streams of calls of eight ranks on
/// the same two processors.
inline constexpr Time kCall = 45'000;
/// Time to add doubles in a cache, for each byte. Measured on the same machine.
inline constexpr std::int64_t kReduceByteFs = 20'000;

/// Returns a machine with default costs of memory, which measured costs can replace.
[[nodiscard]] inline Machine default_machine() {
    return {.expose = kExpose,
            .mapped = kMapped,
            .mapped_byte_fs = kMappedByteFs,
            .mapped_reduce_byte_fs = kMappedReduceByteFs,
            .cold_byte_fs = kColdByteFs};
}

/// Returns the machine with the costs of kernel copies for access to local peers' buffers.
[[nodiscard]] inline Machine with_kernel_copies(Machine machine) {
    machine.by_kernel = true;
    machine.expose = 0;
    machine.mapped = machine.kernel_copy;
    machine.mapped_byte_fs = machine.kernel_copy_byte_fs;
    return machine;
}

}  // namespace weft::plan
