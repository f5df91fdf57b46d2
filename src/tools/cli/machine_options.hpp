// SPDX-License-Identifier: BSD-3-Clause
// machine_options.hpp - arguments that describe a machine beyond message costs: shared processors,
// and access to buffers of local peers.
//
// Idea     simulate, cost and explain describe a team with the same arguments, and all predict with
//          plan/select. So the same arguments and file give the same times.
// Next     docs/selection.md, "Ranks that share processors".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/cli/command.hpp"
#include "tools/cli/program_options.hpp"
#include "tools/lab/cost/cost.hpp"

namespace weft::tools {

struct MachineArguments {
    std::optional<int> processors;    ///< of each host; empty: those of the file, if any
    std::optional<Rank> hosts;        ///< empty: each node is a host
    std::optional<std::string> turn;  ///< used if local and remote messages have equal costs
    bool copy = false;                ///< the kernel copies between buffers of local peers
};

/// Adds --processors, --hosts, --turn-ns and --copy to a command.
void add_machine_arguments(CLI::App& command, MachineArguments& arguments);

/// Completes the machine of a file with local and remote costs as `weft explain` does, for these
/// nodes (empty: all ranks on one node). Missing costs have the defaults of a job without a file.
/// With equal costs, a machine is made only if ranks share processors, and it does not distinguish
/// nodes. Fails if the arguments need more than the parameters contain.
[[nodiscard]] base::Result<void> complete_machine(lab::CostParameters& parameters,
                                                  const MachineArguments& arguments,
                                                  std::vector<Rank> node_of, Rank ranks);

/// Distributes the nodes, in order, over `hosts` hosts with `processors` processors each.
[[nodiscard]] base::Result<void> share_processors(plan::Machine& machine, Rank ranks, Rank hosts,
                                                  int processors);

/// Predicts the time of the call where ranks share processors, from the programs of all ranks.
[[nodiscard]] base::Result<plan::Predicted> shared_time(const ProgramQuestion& question,
                                                        const plan::Machine& machine);

}  // namespace weft::tools
