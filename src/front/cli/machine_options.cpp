// SPDX-License-Identifier: BSD-3-Clause
#include "front/cli/machine_options.hpp"

#include <algorithm>
#include <utility>

#include "front/cli/answer.hpp"
#include "run/runtime/choice.hpp"

namespace weft::front {

namespace {

Rank nodes_on(const plan::Machine& machine) {
    return machine.node_of.empty() ? 1 : std::ranges::max(machine.node_of) + 1;
}

}  // namespace

base::Result<void> share_processors(plan::Machine& machine, Rank ranks, Rank hosts,
                                    int processors) {
    const Rank nodes = nodes_on(machine);
    if (hosts < 1 || hosts > nodes)
        return base::fail(Status::argument, "--hosts: {} is not in 1..{} (the nodes)", hosts,
                          nodes);
    if (processors < 1)
        return base::fail(Status::argument, "--processors: {} is less than 1", processors);
    std::vector<std::int64_t> on_host(static_cast<std::size_t>(hosts));
    if (machine.node_of.empty()) on_host.front() = ranks;
    for (const Rank node : machine.node_of)
        ++on_host[static_cast<std::size_t>(std::int64_t{node} * hosts / nodes)];
    machine.host_ranks = std::ranges::max(on_host);
    machine.host_processors = processors;
    return base::Done{};
}

base::Result<void> complete_machine(lab::CostParameters& parameters,
                                    const MachineArguments& arguments, std::vector<Rank> node_of,
                                    Rank ranks) {
    const std::optional<int> given = parameters.measured.processors();
    if (!parameters.machine) {
        if (!given && !arguments.processors && !arguments.hosts && !arguments.copy)
            return base::Done{};
        return base::fail(Status::argument,
                          "--processors, --hosts and --copy need --params with a file of near and "
                          "far puts (near_latency_ns, far_latency_ns, ...), as weft fit writes it");
    }
    plan::Machine& machine = *parameters.machine;
    machine = parameters.measured.over(run::machine_over(""));
    machine.node_of = std::move(node_of);
    if (arguments.copy) machine = plan::with_kernel_copies(std::move(machine));
    const std::optional<int> processors = arguments.processors ? arguments.processors : given;
    if (processors)
        return share_processors(machine, ranks, arguments.hosts.value_or(nodes_on(machine)),
                                *processors);
    if (!arguments.hosts) return base::Done{};
    return base::fail(Status::argument,
                      "--hosts: who shares processors is asked for: give --processors, too");
}

base::Result<plan::Predicted> shared_time(const ProgramQuestion& question,
                                          const plan::Machine& machine) {
    const auto stages = stages_of(question);
    if (!stages && stages.failure().status != Status::unsupported) return in_spec(stages.failure());
    lab::Programs programs{.size = question.request.size, .node_of = machine.node_of};
    if (stages) programs.stages = &*stages;
    programs.program_of = [&](Rank rank) { return generate_one(question, rank); };
    return lab::shared_time(programs, {question.request.elements, question.request.element_bytes},
                            machine);
}

void add_machine_arguments(CLI::App& command, MachineArguments& arguments) {
    add_option(
        command, "--processors", arguments.processors,
        "processors of each host, on which its ranks take turns; default: those of --params, "
        "else one for each rank");
    add_option(command, "--hosts", arguments.hosts,
               "number of machines that the nodes share; default: as many as nodes");
    add_flag(command, "--copy", arguments.copy,
             "the kernel copies between buffers of node-mates, as with WEFT_DIRECT=copy");
}

}  // namespace weft::front
