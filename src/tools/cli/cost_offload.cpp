// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/cost_offload.hpp"

#include <algorithm>
#include <vector>

#include "base/element_types.hpp"
#include "plan/offload/offload.hpp"
#include "run/team/offload.hpp"
#include "tools/cli/answer.hpp"

namespace weft::tools {

void add_offload_arguments(CLI::App& command, OffloadArguments& arguments) {
    add_flag(command, "--offload", arguments.asked,
             "count the descriptors of an offloaded call instead, by rank");
    add_option(command, "--op", arguments.op, "with --offload: reduction operation")
        .shows_default();
    add_option(command, "--combine-bytes", arguments.combine_bytes,
               "with --offload: what one atomic operation of the provider combines at most")
        .within(1, 1'000'000'000)
        .shows_default();
    add_option(command, "--budget", arguments.budget,
               "with --offload: descriptors that are queued at a time; 0: all of a call")
        .shows_default();
}

base::Result<int> cost_of_offload(const ProgramArguments& programs,
                                  const OffloadArguments& arguments, bool json) {
    ProgramArguments named = programs;
    const auto* const traits = collectives::find_collective(programs.collective);
    if (traits == nullptr) return collectives::check_collective(programs.collective).failure();
    const auto usual = run::usual_offload(traits->collective);
    if (!usual) return base::fail(Status::argument, "--offload: {}", usual.failure().text);
    if (named.algorithm.empty()) named.algorithm = *usual;
    const auto op = base::parse_op(arguments.op);
    if (!op) return op.failure().within("--op");
    const auto type = base::parse_type(programs.type);
    if (!type) return type.failure().within("--type");
    const auto question = read_question(named);
    if (!question) return question.failure();
    const auto& request = question->request;
    plan::Offloader offloader([&](Rank rank) { return generate_one(*question, rank); },
                              {.elements = traits->has_data() ? request.elements : 0,
                               .element_bytes = traits->has_data() ? request.element_bytes : 1,
                               .any_order = run::offload_elements(*type, *op).any_order,
                               .combine_bytes_max = arguments.combine_bytes});
    std::vector<std::uint64_t> descriptors;
    std::uint64_t total = 0;
    std::uint64_t memory = 0;
    std::uint64_t stages = 0;
    for (Rank rank = 0; rank < request.size; ++rank) {
        const auto plan = offloader.plan_of(rank);
        if (!plan) return plan.failure();
        descriptors.push_back(plan->descriptors.size());
        total += plan->descriptors.size();
        memory = std::max(memory, plan->memory_bytes);
        stages = std::max<std::uint64_t>(stages, plan->stages());
    }
    const std::uint64_t most = *std::ranges::max_element(descriptors);
    const std::uint64_t budget = arguments.budget != 0 ? arguments.budget : most;
    Json object{{"algorithm", collectives::print(question->spec)},
                {"ranks", request.size},
                {"bytes", traits->has_data() ? request.elements * request.element_bytes : 0},
                {"op", traits->reduces() ? arguments.op : "none"},
                {"descriptors_max", most},
                {"descriptors_total", total},
                {"counters_max", stages},
                {"memory_bytes_max", memory},
                {"refills_max", most == 0 ? 0 : (most - 1) / budget}};
    if (json) object["descriptors"] = descriptors;
    print_answer(object, json);
    return 0;
}

}  // namespace weft::tools
