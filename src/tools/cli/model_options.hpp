// SPDX-License-Identifier: BSD-3-Clause
// model_options.hpp - arguments for message costs (numbers, or a named set or file), and for the
// machine: shared processors, and access to buffers of local peers.
//
// Idea     simulate, cost and explain share these arguments and predict with plan/select, so equal
//          arguments give equal times.
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
    static constexpr std::size_t kOptions = 14;
    std::string params;  ///< --params, which excludes the other options; empty: not given
    std::array<std::string, kOptions> values;  ///< of --model, --latency-ns, ... in this order
};

void add_model_arguments(CLI::App& command, ModelArguments& arguments);
[[nodiscard]] lab::CostParameters read_model(const ModelArguments& arguments);

/// Reads the set or, if none has that name, the file. Failures begin with --params.
[[nodiscard]] lab::CostParameters read_parameters(const std::string& name);

struct MachineArguments {
    std::optional<int> processors;    ///< processors of each host; empty: as in the file, if any
    std::optional<Rank> hosts;        ///< number of hosts; empty: each node is a host
    std::optional<std::string> turn;  ///< --turn-ns; only if local and remote costs are equal
    bool copy = false;                ///< the kernel copies between buffers of local peers
};

void add_machine_arguments(CLI::App& command, MachineArguments& arguments);

/// Sets `parameters.machine`. If the file has local and remote costs, missing costs have the
/// defaults of a job without a file. Otherwise a machine is set only if ranks share processors, and
/// all its ranks are on one node. node_of: by rank; empty: one node. Throws an Error if the
/// arguments need more than the parameters contain.
void complete_machine(lab::CostParameters& parameters, const MachineArguments& arguments,
                      std::vector<Rank> node_of, Rank ranks);

/// Distributes the nodes, in order, over `hosts` hosts with `processors` processors each.
void share_processors(plan::Machine& machine, Rank ranks, Rank hosts, int processors);

/// Simulates a call whose ranks share processors, with the programs of all ranks.
[[nodiscard]] plan::PredictedCost simulate_call(const ProgramQuestion& question,
                                                const plan::Machine& machine);

}  // namespace weft::tools
