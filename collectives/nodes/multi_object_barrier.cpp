// SPDX-License-Identifier: BSD-3-Clause
// multi_object_barrier.cpp - barrier in which all ranks of a node signal other nodes.
//
// Idea     The signals of allreduce multi-object-small, without its data. A rank that has the
//          contributions of all ranks knows that all have entered.
// Source   Huang et al., PiP-MColl, section III-A3, with a census; see the file of the allreduce.
// Rounds   Over the network ceil(log_B N) for N nodes, with B at most ports + 1. On the node one
//          for each of them, and one before.
// Bytes    None. A port sends one signal over the network in each round.
// Memory   Signals only.
// Good for Many nodes with several ranks.
// Holds    Synchronizing.
// Next     ../allreduce/multi_object_small.cpp; plan/schedule/splice.hpp to remove the data.
#include "collectives/entries.hpp"
#include "collectives/registry.hpp"
#include "plan/schedule/splice.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_multi_object(const AlgorithmSpec& spec,
                                                  const GenerateRequest& request) {
    AlgorithmSpec with_data = spec;
    with_data.name = "multi-object-small";
    GenerateRequest carrying = request;
    carrying.root = plan::kNoRank;
    carrying.elements = carrying.segments = 1;
    carrying.ordered = false;
    auto program = generate("allreduce", with_data, carrying);
    if (!program) return program;
    plan::Program header = program_header("barrier", spec, request);
    header.root = plan::kNoRank;
    header.synchronizing = true;
    plan::Part part{
        .shapes = {std::make_shared<const plan::Program>(*program)}, .own = *program, .bare = true};
    part.rank_of = [](Rank rank) { return rank; };
    return plan::splice(std::move(header), {part});
}

std::vector<std::string> multi_object_variants(const CandidateRequest& request) {
    if (request.layout.least() <= 2) return {};
    return {"multi-object:radix=3"};
}

}  // namespace

Algorithm barrier_multi_object() {
    return {
        .collective = "barrier",
        .name = "multi-object",
        .summary = "every rank of a node signals another node, in few rounds",
        .source = "Huang et al., PiP-MColl, section III-A3, with a census",
        .parameters = {{"radix", "ports + 1",
                        "nodes that become one in a round, at most one more than the ranks of the "
                        "smallest node",
                        "2"}},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .for_nodes = true},
        .generate = &generate_multi_object,
        .variants = &multi_object_variants,
    };
}

}  // namespace weft::collectives
