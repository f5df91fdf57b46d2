// SPDX-License-Identifier: BSD-3-Clause
// reduce_broadcast.cpp - allreduce along a tree: values go up and are combined, the result comes down.
//
// Idea     A rank combines its own vector with those of its subtrees, passes that to its parent, gets the
//          result from there and passes it on to its children. The tree is a parameter.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, sections 3.1 and 3.3 (two trees).
// Rounds   Twice the depth of the tree: ceil(log2 n) for binomial, the height of a tree of degree k for
//          kary. Messages: 2 (n - 1), fewer than any exchange has.
// Bytes    Each message carries the whole vector; a rank sends one more than it has children.
// Memory   One slot for each child and one for the result. With kary no rank has more than k + 1
//          descriptors, however many ranks there are.
// Good for Little energy (messages) and little memory; an exchange takes half the rounds.
// Holds    Subtrees are ranges of ranks and are combined in their order: results are in rank order, and
//          one rank makes them, so all get the same bits. Children have their numbers at the parent;
//          the number behind those of all children is the result at every rank, the same for all
//          children (kShared). In a loop one copy of each slot would do: a child sends the next
//          segment only when it has the result of the last, for which its parent has read the slot.
// Next     patterns/ for the trees.
#include <algorithm>
#include <bit>
#include <limits>

#include "collectives/allreduce/allreduce.hpp"
#include "collectives/patterns/binomial.hpp"
#include "collectives/patterns/kary.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

struct Place {
    Rank parent = plan::kNoRank;
    std::uint32_t child_index = 0;
    std::vector<Rank> children;      ///< in rank order
    std::uint32_t children_max = 0;  ///< of any rank
    bool smallest_first = false;     ///< the last child has the largest subtree
};

base::Result<Place> binomial_place(const AlgorithmSpec& tree, const GenerateRequest& request) {
    if (!tree.parameters.empty())
        return base::fail(Status::argument, "character {}: binomial has no parameters",
                          tree.parameters.front().position);
    const patterns::Binomial binomial{request.size};
    Place place{.children = binomial.children(request.rank),
                .children_max = binomial.children_max(),
                .smallest_first = true};
    std::ranges::reverse(place.children);
    if (request.rank == 0) return place;
    place.parent = patterns::Binomial::parent(request.rank);
    place.child_index =
        static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint32_t>(request.rank)));
    return place;
}

base::Result<Place> kary_place(const AlgorithmSpec& tree, const GenerateRequest& request) {
    for (const SpecParameter& given : tree.parameters) {
        if (given.key != "k")
            return base::fail(Status::argument,
                              "character {}: kary has no parameter '{}'; it has k", given.position,
                              given.key);
    }
    const auto degree = number_parameter(
        tree, "k", {.fallback = 2, .least = 1, .most = std::numeric_limits<Rank>::max()});
    if (!degree) return degree.failure();
    const patterns::Kary kary{request.size, static_cast<Rank>(*degree)};
    patterns::Kary::Place found = kary.place_of(request.rank);
    return Place{.parent = found.parent < 0 ? plan::kNoRank : found.parent,
                 .child_index = found.child_index,
                 .children = std::move(found.children),
                 .children_max = kary.children_max()};
}

base::Result<Place> place_in(const AlgorithmSpec& spec, const GenerateRequest& request) {
    const SpecParameter* given = spec.find("tree");
    if (given == nullptr) return binomial_place({}, request);
    if (given->nested.empty() || given->nested.front().is_schedule())
        return base::fail(Status::argument,
                          "character {}: tree must be (binomial) or (kary:k=2), in parentheses",
                          given->position);
    const AlgorithmSpec& tree = given->nested.front();
    if (tree.name == "binomial") return binomial_place(tree, request);
    if (tree.name == "kary") return kary_place(tree, request);
    return base::fail(Status::argument,
                      "character {}: there is no tree '{}'; there are binomial and kary",
                      tree.position, tree.name);
}

/// One segment: up, then down.
void write_segment(plan::Builder& builder, const Place& place, std::uint32_t advance) {
    const plan::Block input = plan::per_segment(plan::input(), advance);
    const plan::Block output = plan::per_segment(plan::output(), advance);
    const std::uint32_t result = place.children_max;
    std::vector<plan::Block> operands{input};
    std::uint32_t number = 0;
    for (const Rank child : place.children) {
        builder.wait(child, number);
        operands.push_back(plan::per_segment(plan::slot(number++), advance));
    }
    if (place.children.empty() && place.parent == plan::kNoRank) builder.copy(output, input);
    if (!place.children.empty()) builder.reduce(output, operands);
    if (place.parent != plan::kNoRank) {
        builder.put(place.parent, place.child_index, place.children.empty() ? input : output);
        builder.wait(place.parent, result, plan::kShared);
        builder.flush();
        builder.copy(output, plan::per_segment(plan::slot(result), advance));
    }
    std::vector<Rank> down = place.children;
    if (place.smallest_first) std::ranges::reverse(down);
    for (const Rank child : down) builder.put(child, result, output, plan::kShared);
}

base::Result<plan::Program> generate_reduce_broadcast(const AlgorithmSpec& spec,
                                                      const GenerateRequest& request) {
    const base::Result<Place> place = place_in(spec, request);
    if (!place) return place.failure();
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("allreduce", spec, request);
    header.root = plan::kNoRank;
    if (request.elements == 0) {  // nothing to send: such a call never is synchronizing
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    header.units = *segments;
    header.segments = *segments;
    header.synchronizing = true;
    plan::Builder builder(std::move(header));
    if (*segments > 1) {
        builder.begin_loop();
        write_segment(builder, *place, 1);
        builder.end_loop();
    } else {
        write_segment(builder, *place, 0);
    }
    if (request.size > 1) {
        builder.reserve_slots(place->children_max + 1);
        builder.reserve_slot_units(1);
    }
    return std::move(builder).finish();
}

std::vector<std::string> tree_variants(const CandidateRequest&) {
    return {"reduce-broadcast:tree=(kary:k=2)", "reduce-broadcast:tree=(kary:k=4)"};
}

}  // namespace

Algorithm allreduce_reduce_broadcast() {
    return {
        .collective = "allreduce",
        .name = "reduce-broadcast",
        .summary = "values go up a tree and are combined, the result comes down",
        .source = "Hoefler and Moor, section 3.3",
        .parameters = {{"tree", "(binomial)", "(binomial) or (kary:k=2), in parentheses",
                        "(kary:k=1),(kary:k=3)"},
                       {"segments", "1", "pieces of the vector that follow each other"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_reduce_broadcast,
        .variants = &tree_variants,
    };
}

}  // namespace weft::collectives
