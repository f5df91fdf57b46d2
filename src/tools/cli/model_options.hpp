// SPDX-License-Identifier: BSD-3-Clause
// model_options.hpp - arguments for message costs (numbers, or a named set or file), and for the
// machine: shared processors, and access to buffers of local peers.
//
// Idea     simulate, cost and explain describe a team with the same arguments, and all predict with
//          plan/select. So the same arguments and file give the same times.
// Next     docs/selection.md, "Ranks that share processors".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/cli/program_options.hpp"
#include "tools/lab/cost/cost.hpp"
#include "tools/lab/cost/parameters.hpp"

namespace weft::tools {

struct ModelArguments {
    static constexpr std::size_t kOptions = 8;
    std::string params;  ///< replaces all others
    std::array<std::string, kOptions> values;
};

void add_model_arguments(CLI::App& command, ModelArguments& arguments);
[[nodiscard]] lab::CostParameters read_model(const ModelArguments& arguments);

/// Reads the set or, if none has that name, the file. Failures begin with --params.
[[nodiscard]] lab::CostParameters read_parameters(const std::string& name);

struct MachineArguments {
    std::optional<int> processors;    ///< of each host; empty: those of the file, if any
    std::optional<Rank> hosts;        ///< empty: each node is a host
    std::optional<std::string> turn;  ///< used if local and remote messages have equal costs
    bool copy = false;                ///< the kernel copies between buffers of local peers
};

void add_machine_arguments(CLI::App& command, MachineArguments& arguments);

/// Completes the machine of a file with local and remote costs as `weft explain` does, for these
/// nodes (empty: all ranks on one node). Missing costs have the defaults of a job without a file.
/// With equal costs, a machine is made only if ranks share processors, and it does not distinguish
/// nodes. Fails if the arguments need more than the parameters contain.
void complete_machine(lab::CostParameters& parameters, const MachineArguments& arguments,
                      std::vector<Rank> node_of, Rank ranks);

/// Distributes the nodes, in order, over `hosts` hosts with `processors` processors each.
void share_processors(plan::Machine& machine, Rank ranks, Rank hosts, int processors);

/// Predicts the time of the call where ranks share processors, from the programs of all ranks.
[[nodiscard]] plan::Predicted shared_time(const ProgramQuestion& question,
                                          const plan::Machine& machine);

}  // namespace weft::tools
