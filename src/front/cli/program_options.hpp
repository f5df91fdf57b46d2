// SPDX-License-Identifier: BSD-3-Clause
// program_options.hpp - the arguments that name a set of programs: collective, algorithm, ranks,
// ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collectives/registry.hpp"
#include "front/cli/command.hpp"
#include "plan/schedule/program.hpp"

namespace weft::front {

/// As they were written on the command line.
struct ProgramArguments {
    std::string collective;
    std::string algorithm;
    std::optional<Rank> ranks;
    std::optional<Rank> root;  ///< 0 unless given
    std::string bytes = "8";
    std::string type = "double";
    std::string placement = "ordered";
    std::string layout;  ///< none: all ranks on one node
    bool ordered = false;
};

/// Adds COLLECTIVE, --algorithm, --ranks, --root, --bytes, --type, --placement, --layout and
/// --ordered to a command.
void add_program_arguments(CLI::App& command, ProgramArguments& arguments);

/// Which node each of `ranks` ranks is on, by --layout; of no team if that was not given.
[[nodiscard]] base::Result<plan::Layout> read_layout(const ProgramArguments& arguments, Rank ranks);

/// What --bytes and --type say.
struct Elements {
    Type type;
    std::uint32_t bytes = 0;  ///< of each
    std::uint64_t count = 0;
};
[[nodiscard]] base::Result<Elements> read_elements(const std::string& bytes,
                                                   const std::string& type_name);

/// The same, read and checked against each other.
struct ProgramQuestion {
    std::string collective;
    collectives::AlgorithmSpec spec;
    collectives::GenerateRequest request;  ///< of rank 0
};
/// Elements of --bytes and --type, and the placement; needs no algorithm.
[[nodiscard]] base::Result<collectives::GenerateRequest> read_request(
    const ProgramArguments& arguments);
[[nodiscard]] base::Result<ProgramQuestion> read_question(const ProgramArguments& arguments);

[[nodiscard]] base::Result<plan::Program> generate_one(const ProgramQuestion& question, Rank rank);
[[nodiscard]] base::Result<std::vector<plan::Program>> generate_all(
    const ProgramQuestion& question);

/// The node of each rank; none if the request has no layout.
[[nodiscard]] std::vector<Rank> nodes_of(const collectives::GenerateRequest& request);

/// A failure that points at a character means one of the spec.
[[nodiscard]] base::Failure in_spec(const base::Failure& failure);

}  // namespace weft::front
