// SPDX-License-Identifier: BSD-3-Clause
// multiplying.cpp - barrier by recursive multiplying, an allreduce without data.
//
// Idea     The stages of any schedule of the notation, with signals instead of vectors.
// Source   Ruefenacht et al., recursive multiplying, section 4; Hoefler and Moor, section 3.3, for
//          barriers as allreduce without data.
// Rounds   One for each stage. Signals: n*(B-1) for each aB.
// Memory   One number for each slot of the allreduce, no data.
// Good for Ranks that share nodes: a schedule can complete the stages on the nodes before it uses
//          the network. Dissemination cannot, because all ranks use the same distances.
// Holds    Synchronizing, like every allreduce. The signals of a rank in a stage have
//          one number (kShared).
// Next     patterns/multiplying.hpp.
#include "collectives/patterns/multiplying.hpp"

#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Stages> multiplying_stages(const AlgorithmSpec& spec,
                                              const GenerateRequest& request) {
    const SpecParameter* schedule = spec.find("schedule");
    if (schedule == nullptr || schedule->nested.empty() || !schedule->nested.front().is_schedule())
        return base::fail(Status::argument,
                          "character {}: multiplying needs a schedule, as in schedule=(a2,a4)",
                          schedule == nullptr ? spec.position : schedule->position);
    const auto shape =
        validate(schedule->nested.front().schedule, request.size, schedule->position);
    if (!shape) return shape.failure();
    plan::Program header = program_header("barrier", spec, request);
    header.root = plan::kNoRank;
    header.synchronizing = true;
    plan::Stages stages = plan::begin_stages(std::move(header));
    patterns::add_stages(stages, *shape, false);
    return stages;
}

std::vector<std::string> multiplying_variants(const CandidateRequest& request) {
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

Algorithm barrier_multiplying() {
    return {
        .collective = "barrier",
        .name = "multiplying",
        .summary = "recursive multiplying without data, as in multiplying:schedule=(a4,a2)",
        .source = "Ruefenacht et al., recursive multiplying, section 4",
        .parameters = {{"schedule", "", "the schedule, in parentheses"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .stages = &multiplying_stages,
        .variants = &multiplying_variants,
    };
}

}  // namespace weft::collectives
