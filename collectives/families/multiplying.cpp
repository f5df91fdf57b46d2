// SPDX-License-Identifier: BSD-3-Clause
// multiplying.cpp - allreduce and barrier by recursive multiplying: any schedule of the notation.
//
// Idea     In each stage, groups of B ranks exchange and reduce their values. After stages with
//          factors B1, B2, .. every rank holds the reduction of B1*B2*.. ranks. If the number of
//          ranks has no good factors, fewer ranks run these stages. In a split (c, e) one rank
//          represents its group. In a merge (m, n) the remainders only send in the first stage and
//          only receive in the last. A barrier has the signals of the stages without the vectors.
// Source   Ruefenacht et al., recursive multiplying, section 4 and algorithms 2 to 6, with
//          corrected indices of the pseudocode; Hoefler and Moor, section 3.3, for barriers as
//          allreduce without data.
// Rounds   One for each stage. Messages (signals): n*(B-1) for each aB.
// Bytes    Each message carries the whole vector. In a stage a rank sends and reduces B-1 vectors.
// Memory   One slot for each member of a stage's groups and each attached remainder; no scratch.
// Good for Short vectors: few rounds of many non-blocking puts. B near 4 is best if the issue of a
//          message takes a quarter of its latency. Barriers of ranks that share nodes: a schedule
//          can complete the stages on the nodes before it uses the network. Dissemination cannot,
//          because all ranks use the same distances.
// Holds    All ranks reduce in the same order (with ordered placement: rank order), so results are
//          bit-identical. All puts of a stage carry the value from before the stage, which is
//          overwritten only after flush(). All puts of a rank in a stage have one number: the first
//          number of the stage plus the rank's position in its group. So puts are kShared, and
//          stages have separate slots. Members are before remainders, in the order of the paper,
//          because its simulated times depend on it.
#include "collectives/patterns/multiplying.hpp"

#include <bit>

#include "collectives/entries.hpp"
#include "collectives/generate/stages.hpp"

namespace weft::collectives {

namespace {

/// A schedule, and its position in the spec.
struct PlacedSchedule {
    Schedule schedule;
    std::size_t position = 0;
};

/// Returns the schedule in the parameter `schedule`.
base::Result<PlacedSchedule> schedule_parameter(const AlgorithmSpec& spec) {
    const SpecParameter* given = spec.find("schedule");
    if (given == nullptr)
        return base::fail(Status::argument,
                          "character {}: multiplying needs a schedule, as in schedule=(a2,a4)",
                          spec.position);
    if (given->nested.empty() || !given->nested.front().is_schedule())
        return base::fail(
            Status::argument,
            "character {}: schedule must be in the notation and in parentheses, as in "
            "schedule=(a2,a4)",
            given->position);
    return PlacedSchedule{given->nested.front().schedule, given->position};
}

base::Result<plan::Stages> schedule_stages(const PlacedSchedule& placed, const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    const base::Result<Shape> shape = validate(placed.schedule, request.size, placed.position);
    if (!shape) return shape.failure();
    return stages_of_vector(spec, request, [&](plan::Stages& stages) {
        patterns::add_stages(stages, *shape, request.placement == Placement::paper);
    });
}

base::Result<plan::Stages> multiplying_stages(const AlgorithmSpec& spec,
                                              const GenerateRequest& request) {
    if (spec.is_schedule()) return schedule_stages({spec.schedule, spec.position}, spec, request);
    const auto placed = schedule_parameter(spec);
    if (!placed) return placed.failure();
    return schedule_stages(*placed, spec, request);
}

std::vector<std::string> multiplying_variants(const CandidateRequest& request) {
    return patterns::promising_schedules(request.size, request.ranks_per_node, request.stage);
}

base::Result<plan::Stages> doubling_stages(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    return schedule_stages({patterns::doubling_schedule(request.size), spec.position}, spec,
                           request);
}

base::Result<plan::Stages> butterfly_stages(const AlgorithmSpec& spec,
                                            const GenerateRequest& request) {
    if (!std::has_single_bit(as_u32(request.size)))
        return base::fail(Status::argument,
                          "character {}: a butterfly needs a power of two, {} ranks are none",
                          spec.position, request.size);
    return doubling_stages(spec, request);
}

base::Result<plan::Stages> barrier_stages(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    const auto placed = schedule_parameter(spec);
    if (!placed) return placed.failure();
    const auto shape = validate(placed->schedule, request.size, placed->position);
    if (!shape) return shape.failure();
    plan::Stages stages = plan::begin_stages(program_header("barrier", spec, request));
    patterns::add_stages(stages, *shape, false);
    return stages;
}

std::vector<std::string> barrier_variants(const CandidateRequest& request) {
    std::vector<std::string> specs;
    for (const std::string& schedule :
         patterns::promising_schedules(request.size, request.ranks_per_node, request.stage))
        specs.push_back(fmt::format("multiplying:schedule=({})", schedule));
    if (request.size > 1)
        specs.push_back(fmt::format("multiplying:schedule=({})",
                                    print(patterns::doubling_schedule(request.size))));
    return specs;
}

}  // namespace

Algorithm allreduce_multiplying() {
    return {
        .collective = "allreduce",
        .name = "multiplying",
        .summary =
            "recursive multiplying: any schedule of the notation, as in a2,a4 or c6m2,a2,a2,e6m2",
        .source = "Ruefenacht et al., recursive multiplying, section 4",
        .parameters = {{"schedule", "",
                        "the schedule, in parentheses; a bare schedule names it too"},
                       {"segments", "1", kSegmentsHelp}},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .notation = true},
        .stages = &multiplying_stages,
        .variants = &multiplying_variants,
    };
}

Algorithm allreduce_recursive_doubling() {
    return {
        .collective = "allreduce",
        .name = "recursive-doubling",
        .summary = "a2 stages; if the size is not a power of two, pairs of ranks fold first",
        .source = "Ruefenacht et al., recursive multiplying, algorithm 1",
        .parameters = {{"segments", "1", kSegmentsHelp}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .stages = &doubling_stages,
    };
}

Algorithm allreduce_butterfly() {
    return {
        .collective = "allreduce",
        .name = "butterfly",
        .summary = "in stage k ranks at distance 2^k exchange their values",
        .source = "Hoefler and Moor, section 3.1.7",
        .parameters = {{"segments", "1", kSegmentsHelp}},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .power_of_two = true},
        .stages = &butterfly_stages,
    };
}

Algorithm barrier_multiplying() {
    return {
        .collective = "barrier",
        .name = "multiplying",
        .summary = "recursive multiplying without data, as in multiplying:schedule=(a4,a2)",
        .source = "Ruefenacht et al., recursive multiplying, section 4",
        .parameters = {{"schedule", "", "the schedule, in parentheses"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .stages = &barrier_stages,
        .variants = &barrier_variants,
    };
}

}  // namespace weft::collectives
