// SPDX-License-Identifier: BSD-3-Clause
// model_options.hpp - arguments for message costs: numbers, or a named set or file.
#pragma once

#include <string>

#include "base/result.hpp"
#include "tools/cli/command.hpp"
#include "tools/lab/cost/parameters.hpp"

namespace weft::tools {

/// Texts from the command line.
struct ModelArguments {
    std::string params;  ///< replaces all others
    std::string model = "pipelined-postal";
    std::string latency = "0";
    std::string issue = "0";
    std::string per_byte = "0";
    std::string reduce = "0";
    std::string reduce_per_byte = "0";
    std::string overhead = "0";
    std::string gap = "0";
};

/// Adds --params, --model, --latency-ns and the other options to a command.
void add_model_arguments(CLI::App& command, ModelArguments& arguments);
[[nodiscard]] base::Result<lab::ModelParameters> read_model(const ModelArguments& arguments);

/// Reads the set or, if none has that name, the file. Failures begin with --params.
[[nodiscard]] base::Result<lab::CostParameters> read_parameters(const std::string& name);

}  // namespace weft::tools
