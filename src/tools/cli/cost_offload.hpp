// SPDX-License-Identifier: BSD-3-Clause
// cost_offload.hpp - `weft cost --offload`: the descriptors of an offloaded call, by rank.
//
// Next     plan/offload/offload.hpp for descriptors; docs/offload.md for the formulas.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/program_options.hpp"

namespace weft::tools {

struct OffloadArguments {
    bool asked = false;
    std::string op = "sum";
    std::uint64_t combine_bytes = 4096;
    std::uint64_t budget = 0;
};

void add_offload_arguments(CLI::App& command, OffloadArguments& arguments);

/// Prints the descriptors; returns the exit status.
[[nodiscard]] base::Result<int> cost_of_offload(const ProgramArguments& programs,
                                                const OffloadArguments& arguments, bool json);

}  // namespace weft::tools
