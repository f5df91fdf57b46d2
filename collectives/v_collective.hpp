// SPDX-License-Identifier: BSD-3-Clause
// v_collective.hpp - calls whose counts are known only to the two ends of each message.
//
// Idea     In a call with counts that differ between ranks (alltoallv, gatherv, scatterv) each rank
//          has a list of messages to send and one of messages to receive. Units are numbered on
//          each rank: a block for each sent message, then a block for each received one. Every rank
//          has slots of equal size at every other rank. A message passes through a slot in pieces,
//          controlled by credits. Each message has its own lane, so that messages do not delay each
//          other. The sender of a mapped message exposes its data instead, and the receiver copies
//          it and signals the end.
// Rounds   1 for messages of up to two pieces, about m / 2 for m pieces: a sender is at most two
//          pieces ahead. A mapped message takes 2 rounds and two signals.
// Memory   parallel_max slots for each rank of the team, each with two copies.
// Holds    Not synchronizing. Messages without elements are not sent, so ranks without data for
//          each other do not communicate. In a team of n ranks, data of sender s has number s. A
//          credit of receiver r, or its signal that it has read a mapped message, has number n + r.
//          Each further message between the same two ranks (a parallel edge of a graph) has a
//          number that is 2 n higher.
// Next     run/bind, which reports a sender and a receiver that pass different counts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::collectives {

/// Name of the only algorithm of alltoallv, gatherv and scatterv.
inline constexpr std::string_view kPairwiseAlgorithm = "direct";

/// A message to or from a peer, with at least one element. A rank may have messages to itself; such
/// a message is in both lists.
struct Message {
    Rank peer = 0;
    std::uint64_t count = 0;
    /// The receiver reads the data in place. Sender and receiver must set equal values, from facts
    /// that both know: the count, and that they can access each other's memory.
    bool mapped = false;
    /// Index among the messages from one rank to another.
    std::uint32_t parallel_index = 0;
};

struct MessagesRequest {
    std::string_view collective;
    Rank rank = 0;
    Rank size = 1;
    Rank root = plan::kNoRank;
    std::uint64_t piece_elements = 1;  ///< elements of a slot; equal on all ranks
    /// Largest number of messages from one rank to another; equal on all ranks.
    std::uint32_t parallel_max = 1;
    std::span<const Message> sent;  ///< in any order
    std::span<const Message> received;
};

/// Copies of each slot: the sender fills one while the receiver reads the other.
inline constexpr std::uint32_t kVCollectiveDepth = 2;

/// Returns the program of the request's rank. Fails with Status::memory if 32 bits are not enough
/// to number all pieces.
[[nodiscard]] base::Result<plan::Program> generate_v_collective(const MessagesRequest& request);

}  // namespace weft::collectives
