// SPDX-License-Identifier: BSD-3-Clause
// machine_options.hpp - the arguments that say more of a machine than what messages cost: who
// shares processors, and how buffers of node-mates are reached.
//
// Idea     simulate, cost and explain describe a team in the same words, and all predict with
//          plan/select: the same words and the same file give the same times.
// Next     docs/selection.md, "Ranks that share processors".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "front/cli/command.hpp"
#include "front/cli/program_options.hpp"
#include "lab/cost/cost.hpp"

namespace weft::front {

struct MachineArguments {
    std::optional<int> processors;    ///< of each host; none: those of the file, if it has any
    std::optional<Rank> hosts;        ///< none: each node is one
    std::optional<std::string> turn;  ///< where messages cost the same near and far
    bool copy = false;                ///< the kernel copies between buffers of node-mates
};

/// Adds --processors, --hosts, --turn-ns and --copy to a command.
void add_machine_arguments(CLI::App& command, MachineArguments& arguments);

/// The machine of a file with near and far puts as `weft explain` has it, for these nodes (none:
/// all ranks are on one): what the file does not mention costs what it does without it. Where
/// messages cost the same near and far, there is a machine only if ranks share processors, and it
/// does not distinguish nodes. A failure if more is asked than the parameters say.
[[nodiscard]] base::Result<void> complete_machine(lab::CostParameters& parameters,
                                                  const MachineArguments& arguments,
                                                  std::vector<Rank> node_of, Rank ranks);

/// So many hosts, each with so many processors: the nodes follow each other on them.
[[nodiscard]] base::Result<void> share_processors(plan::Machine& machine, Rank ranks, Rank hosts,
                                                  int processors);

/// What the call takes where ranks share the machine's processors, by the programs of all ranks.
[[nodiscard]] base::Result<plan::Predicted> shared_time(const ProgramQuestion& question,
                                                        const plan::Machine& machine);

}  // namespace weft::front
