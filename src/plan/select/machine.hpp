// SPDX-License-Identifier: BSD-3-Clause
// machine.hpp - what puts cost where a team runs, as far as all its ranks know it.
//
// Idea     Two ways for a put: near, through memory that ranks of a node share, and far, over the
//          network between nodes. On a host with more ranks than processors a rank that waits also
//          waits for its turn, and everything that ranks compute shares the processors.
// Why      Times are whole numbers: the ranks of a team compute the same choice from the same
//          numbers.
// Next     predict.hpp for what is made of it; docs/selection.md.
#pragma once

#include <cstdint>
#include <vector>

#include "base/region.hpp"
#include "plan/simulate/image.hpp"
#include "weft/types.hpp"

namespace weft::plan {

struct PutCost {
    Time latency = 0;          ///< from the end of the sender's work to the begin of the receiver's
    Time issue = 0;            ///< sender, for each put
    Time receive = 0;          ///< receiver, for each put
    std::int64_t byte_fs = 0;  ///< for each byte, at the sender
    /// For each byte, at the receiver, as it comes in; where each rank has a processor.
    std::int64_t receive_byte_fs = 0;
    Time slot = 0;  ///< more of the sender, for each payload that fits no cell
    Time turn = 0;  ///< from one rank's turn to the next rank's, where they share a processor
};

/// Copies from or to memory of a node-mate in place: finding it, and each byte. Measured on a
/// machine with two processors.
inline constexpr Time kMapped = 300'000;
inline constexpr std::int64_t kMappedByteFs = 15'000;
/// Beyond that, for each byte that is combined there; and to let mates use a vector.
inline constexpr std::int64_t kMappedReduceByteFs = 20'000;
inline constexpr Time kExpose = 800'000;
/// Likewise, where the kernel copies from process to process.
inline constexpr Time kKernelCopy = 600'000;
inline constexpr std::int64_t kKernelCopyByteFs = 58'000;

/// Copies of long payloads out of put targets, to which a network has brought them: likewise.
inline constexpr std::int64_t kSlotByteFs = 120'000;
/// What is read there, copied or reduced, where each rank has a processor: likewise.
inline constexpr std::int64_t kUnpackByteFs = 25'000;
/// Vectors up to so many bytes have put targets for many calls, and lie in the cache in which a
/// network has put them.
inline constexpr std::uint64_t kShortBytes = std::uint64_t{16} << 10;
/// Of a processor's own: what lies there, and what others take more, likewise.
inline constexpr std::uint64_t kCacheBytes = std::uint64_t{1} << 20;
inline constexpr std::int64_t kColdByteFs = 7'500;
/// Where longer vectors go in pieces, those up to here lie in the cache then, and take a third.
inline constexpr std::uint64_t kCachedPiece = std::uint64_t{256} << 10;
inline constexpr std::int64_t kCachedPart = 3;

struct Machine {
    PutCost near;
    PutCost far;
    std::uint64_t cell_bytes = base::kCellPayload;  ///< that a put carries along with its flag
    Card card;        ///< of each node, if its ranks can use more than it gives
    Time reduce = 0;  ///< for each operand that is combined into another, and
    std::int64_t reduce_byte_fs = 0;
    Time call = 0;  ///< of each rank, to enter and leave a call, where ranks share processors
    std::vector<Rank> node_of;  ///< by rank of the team; empty: all on one node
    /// Of the host where most ranks share a processor; as many of each: no rank waits for a
    /// processor.
    std::int64_t host_ranks = 1;
    std::int64_t host_processors = 1;

    std::uint64_t bank_bytes = ~std::uint64_t{0};  ///< of put targets that a call has
    bool lands = true;       ///< ranks can put to memory of those on other nodes, wherever it is
    bool direct = false;     ///< ranks of a node can read and write each other's buffers in place
    bool by_kernel = false;  ///< namely by having the kernel copy: no pages are shared
    Time expose = 0;         ///< for each vector of its own that a rank exposes to them,
    Time mapped = 0;         ///< for each vector of a node-mate in a step that uses it, and
    std::int64_t mapped_byte_fs = 0;         ///< for each byte that it copies
    std::int64_t mapped_reduce_byte_fs = 0;  ///< more, for each that it combines
    std::int64_t copy_byte_fs = 0;           ///< a byte within memory of the rank itself
    /// More, for each byte of vectors that the ranks of a processor use in a call beyond so many.
    std::int64_t cold_byte_fs = 0;
    std::uint64_t cache_bytes = kCacheBytes;
    std::int64_t slot_byte_fs = kSlotByteFs;      ///< a byte out of a put target, between nodes
    std::int64_t unpack_byte_fs = kUnpackByteFs;  ///< the same where each rank has a processor
    Time kernel_copy = kKernelCopy;               ///< the same where the kernel copies
    std::int64_t kernel_copy_byte_fs = kKernelCopyByteFs;

    [[nodiscard]] bool crowded() const { return host_ranks > host_processors; }
    /// Until all ranks of a processor have been in a call.
    [[nodiscard]] Time calls() const { return call * host_ranks / host_processors; }
};

/// Put through memory that two processors share: measured on a machine with two of them.
inline constexpr PutCost kSharedMemory{.latency = 60'000,
                                       .issue = 10'000,
                                       .receive = 20'000,
                                       .byte_fs = 65'000,
                                       .slot = 15'000,
                                       .turn = 900'000};
/// Streams of short calls of eight ranks on two processors, measured likewise: what they take
/// beyond their messages.
inline constexpr Time kCall = 45'000;
/// Additions of doubles that lie in a cache, measured likewise.
inline constexpr std::int64_t kReduceByteFs = 20'000;

/// What it costs to use memory where nothing else is known.
[[nodiscard]] inline Machine usual_memory() {
    return {.expose = kExpose,
            .mapped = kMapped,
            .mapped_byte_fs = kMappedByteFs,
            .mapped_reduce_byte_fs = kMappedReduceByteFs,
            .cold_byte_fs = kColdByteFs};
}

/// The machine, if the kernel copies whatever ranks read and write of each other.
[[nodiscard]] inline Machine with_kernel_copies(Machine machine) {
    machine.by_kernel = true;
    machine.expose = 0;
    machine.mapped = machine.kernel_copy;
    machine.mapped_byte_fs = machine.kernel_copy_byte_fs;
    return machine;
}

}  // namespace weft::plan
