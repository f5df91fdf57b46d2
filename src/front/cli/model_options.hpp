// SPDX-License-Identifier: BSD-3-Clause
// model_options.hpp - the arguments that say what messages cost: number by number, or as a named
// set or file.
#pragma once

#include <string>

#include "base/result.hpp"
#include "front/cli/command.hpp"
#include "lab/cost/parameters.hpp"

namespace weft::front {

/// As they were written on the command line.
struct ModelArguments {
    std::string params;  ///< in place of all the others
    std::string model = "pipelined-postal";
    std::string latency = "0";
    std::string issue = "0";
    std::string per_byte = "0";
    std::string reduce = "0";
    std::string reduce_per_byte = "0";
    std::string overhead = "0";
    std::string gap = "0";
};

/// Adds --params, --model, --latency-ns and so on to a command.
void add_model_arguments(CLI::App& command, ModelArguments& arguments);
[[nodiscard]] base::Result<lab::ModelParameters> read_model(const ModelArguments& arguments);

/// The set of that name, or else the file. A failure begins with --params.
[[nodiscard]] base::Result<lab::CostParameters> read_parameters(const std::string& name);

}  // namespace weft::front
