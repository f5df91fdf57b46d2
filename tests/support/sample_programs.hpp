// SPDX-License-Identifier: BSD-3-Clause
// sample_programs.hpp - handwritten programs and contracts for tests of code that reads programs.
//
// Why      Tests of the verifier and of the text form should not depend on the generators.
#pragma once

#include <string_view>
#include <vector>

#include "plan/schedule/contract.hpp"
#include "plan/schedule/program.hpp"

namespace weft::test {

/// Contract: every unit of every output is the reduction over all ranks.
[[nodiscard]] plan::Contract allreduce_contract();
/// Contract: every unit of every output is a copy of the root's input.
[[nodiscard]] plan::Contract broadcast_contract();
/// Contract: no data, only synchronization.
[[nodiscard]] plan::Contract barrier_contract();

/// Recursive doubling on 2^k ranks; operands are combined in rank order; slots 0 .. k-1.
[[nodiscard]] std::vector<plan::Program> recursive_doubling(Rank ranks);
/// All ranks put to all others; one reduction over `ranks` operands.
[[nodiscard]] std::vector<plan::Program> all_to_all_reduce(Rank ranks);
/// Ring reduce-scatter and allgather; operands are not combined in rank order.
[[nodiscard]] std::vector<plan::Program> ring(Rank ranks);
/// Broadcast along a chain from rank 0, in segments; each slot has `depth` copies, and a rank sends
/// a segment only with a credit for its copy.
[[nodiscard]] std::vector<plan::Program> chain_broadcast(Rank ranks, std::uint32_t segments,
                                                         std::uint32_t depth);
/// Reduction along a binary tree to rank 0 and broadcast back, in segments, with credits; two lanes
/// on each rank.
[[nodiscard]] std::vector<plan::Program> tree_allreduce(Rank ranks, std::uint32_t segments,
                                                        std::uint32_t depth);
/// Barrier by dissemination.
[[nodiscard]] std::vector<plan::Program> dissemination_barrier(Rank ranks);

/// A set of programs and its contract.
struct Sample {
    const char* name;
    std::vector<plan::Program> programs;
    plan::Contract contract;
};
[[nodiscard]] std::vector<Sample> samples();

/// Parses the text form of programs; a `;` may replace a line break. On an error, ends the test
/// program with the parser's message.
[[nodiscard]] std::vector<plan::Program> programs_of(std::string_view text);

}  // namespace weft::test
