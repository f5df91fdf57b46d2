// SPDX-License-Identifier: BSD-3-Clause
// v_collective.hpp - calls whose counts are known only to the two ends of each message.
//
// Idea     In a call with counts that differ between ranks (alltoallv, gatherv, scatterv) each rank
//          has a list of messages to send and one of messages to receive. Units are numbered on
//          each rank: a block for each sent message, then a block for each received one. Every rank
//          has a slot at every other rank, of a size that all ranks know. A message passes through
//          the slot in pieces, controlled by credits. Each sent and each received message has its
//          own lane, so that messages do not delay each other. Alternatively, the sender exposes
//          its data in place, and the receiver copies all of it and signals the sender.
// Rounds   1. Messages: one for each pair with elements, in pieces. A mapped message takes 2 rounds
//          and two signals.
// Memory   Two copies of a slot for each rank of the team.
// Holds    Not synchronizing. Messages without elements are not sent, so ranks without data for
//          each other do not communicate. The number of a message is its sender's rank. A credit,
//          or the signal that a mapped message was read, has the number n + rank of its sender.
//          Each further message between the same two ranks (a parallel edge of a graph) has a
//          number that is 2 n higher.
// Next     run/bind for the errors of ranks that disagree about a count.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::collectives {

/// The only algorithm of these calls.
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
    std::uint32_t parallel = 0;
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

/// Returns the program of the request's rank. Fails with Status::memory if a message has too many
/// pieces to count.
[[nodiscard]] base::Result<plan::Program> generate_v_collective(const MessagesRequest& request);

}  // namespace weft::collectives
