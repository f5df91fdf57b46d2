// SPDX-License-Identifier: BSD-3-Clause
// v_collective.hpp - messages whose counts only their two ends know: straight from rank to rank.
//
// Idea     A call with counts that differ from rank to rank (alltoallv, gatherv, scatterv) is to
//          each rank a list of messages that it puts and one of messages that it awaits. Its units
//          are its own: a block for each message that it puts, then one for each that it gets.
//          Every rank has a slot at every other, of a size that all know; a message goes through it
//          in pieces, by credits. A lane for each message and direction: none waits for another. Or
//          its sender exposes it where it lies, and its receiver copies it whole and says so.
// Rounds   1. Messages: as many as have elements, in pieces. Of one that is mapped: 2, two signals.
// Memory   A slot for each rank of the team, twice; they share a bank.
// Holds    Not synchronizing. Messages without elements are not sent, so a rank talks to those only
//          that it has something for. The number of a message is its sender's rank; of a credit,
//          and of the signal that a mapped message was read, n more than who gives it. Further
//          messages between the same two, as a graph with parallel edges has them, have numbers
//          2 n higher each.
// Next     plan/schedule/program.hpp (pairwise); run/bind for what ranks that disagree about a
//          count find.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::collectives {

/// The only algorithm of calls whose counts only the two ends of a message know.
inline constexpr std::string_view kPairwiseAlgorithm = "direct";

/// To or from a peer; of at least one element. A rank may have some to itself, sent and received.
struct Message {
    Rank peer = 0;
    std::uint64_t count = 0;
    /// Read where it lies. Both ends must say so, from what both know: the count, and that they
    /// reach each other's memory.
    bool mapped = false;
    /// Of several from one rank to another, which one.
    std::uint32_t parallel = 0;
};

struct MessagesRequest {
    std::string_view collective;
    Rank rank = 0;
    Rank size = 1;
    Rank root = plan::kNoRank;
    std::uint64_t piece_elements = 1;  ///< most that a slot holds; the same on all ranks
    std::uint32_t parallel_max = 1;    ///< messages from one rank to another; likewise
    std::span<const Message> sent;     ///< in any order
    std::span<const Message> received;
};

/// Copies of each slot: one is filled while the other one is read.
inline constexpr std::uint32_t kVCollectiveDepth = 2;

[[nodiscard]] base::Result<plan::Program> generate_v_collective(const MessagesRequest& request);

}  // namespace weft::collectives
