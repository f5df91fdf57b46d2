// SPDX-License-Identifier: BSD-3-Clause
// program_options.hpp - arguments that name a set of programs: collective, algorithm, ranks, and
// others, with the grid of a neighborhood collective.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/neighborhood/exchange.hpp"
#include "collectives/registry.hpp"
#include "plan/schedule/program.hpp"
#include "tools/cli/command.hpp"
#include "tools/cli/counted_call.hpp"

namespace weft::tools {

/// Largest number of ranks where data is kept for each of them.
inline constexpr Rank kListedRanksMax = 1 << 22;
[[nodiscard]] base::Result<void> check_ranks(Rank ranks, Rank most = kListedRanksMax);

/// Texts of the options for a neighborhood collective on a grid of ranks.
struct NeighborArguments {
    std::string grid;
    bool periodic = false;
    int reach = 1;
    bool star = false;
};

struct NeighborCall {
    collectives::Stencil stencil;
    collectives::NeighborData data = collectives::NeighborData::own;
    collectives::NeighborWay way = collectives::NeighborWay::direct;

    [[nodiscard]] Rank ranks() const { return static_cast<Rank>(stencil.grid().ranks()); }
};

/// Texts from the command line.
struct ProgramArguments {
    std::string collective;
    std::string algorithm;
    std::optional<Rank> ranks;
    std::optional<Rank> root;  ///< default: 0
    std::string bytes = "8";
    std::string type = "double";
    std::string counts;  ///< of a call with different blocks; empty: --bytes gives their size
    std::string placement = "ordered";
    std::string layout;  ///< empty: all ranks on one node
    bool ordered = false;
    NeighborArguments neighbors;
};

/// Adds COLLECTIVE, --algorithm, --ranks, --root, --bytes, --type, --counts, --placement, --layout,
/// --ordered and the options of neighborhoods to a command.
void add_program_arguments(CLI::App& command, ProgramArguments& arguments);

[[nodiscard]] bool is_neighborhood(std::string_view collective);

/// Returns the node of each of `ranks` ranks from the text of --layout.
[[nodiscard]] base::Result<std::vector<Rank>> read_nodes(const std::string& layout, Rank ranks);
/// Returns the layout of --layout for `ranks` ranks; an empty one if it was not given.
[[nodiscard]] base::Result<plan::Layout> read_layout(const ProgramArguments& arguments, Rank ranks);

/// Values of --bytes and --type.
struct Elements {
    Type type;
    std::uint32_t bytes = 0;  ///< of each element
    std::uint64_t count = 0;
};
[[nodiscard]] base::Result<Elements> read_elements(const std::string& bytes,
                                                   const std::string& type_name);

/// The arguments, read and checked for consistency.
struct ProgramQuestion {
    std::string collective;  ///< collective whose algorithms serve the call
    collectives::AlgorithmSpec spec;
    collectives::GenerateRequest request;  ///< for rank 0
    /// Set for a call with a count for each block.
    std::shared_ptr<const CountedCall> counted = nullptr;
    /// Set for a call among the neighbors of a grid; `spec` is then not used.
    std::shared_ptr<const NeighborCall> neighbors = nullptr;

    /// Returns true if only sender and receiver know a message's count.
    [[nodiscard]] bool is_pairwise() const {
        return counted != nullptr && counted->traits->has_pairwise_counts();
    }
};
/// Returns the stages of the call. Fails for blocks of different sizes.
[[nodiscard]] base::Result<plan::Stages> stages_of(const ProgramQuestion& question);
/// Returns the same call with programs in which all ranks know all counts, as models need them.
[[nodiscard]] base::Result<ProgramQuestion> for_models(ProgramQuestion question);
/// Checks that a collective of that name exists, with or without counts.
[[nodiscard]] base::Result<void> check_any_collective(const std::string& name);
/// Reads the call with counts, for `ranks` ranks; empty if its blocks are equal.
[[nodiscard]] base::Result<std::shared_ptr<const CountedCall>> read_counted(
    const ProgramArguments& arguments, Rank ranks);
/// Reads --bytes, --type and the placement; needs no algorithm.
[[nodiscard]] base::Result<collectives::GenerateRequest> read_request(
    const ProgramArguments& arguments);
/// ranks_max: limit, unless a layout or counts list the ranks.
[[nodiscard]] base::Result<ProgramQuestion> read_question(const ProgramArguments& arguments,
                                                          Rank ranks_max = kListedRanksMax);

[[nodiscard]] base::Result<plan::Program> generate_one(const ProgramQuestion& question, Rank rank);
/// Fails if there are too many steps to keep.
[[nodiscard]] base::Result<std::vector<plan::Program>> generate_all(
    const ProgramQuestion& question);

/// Returns the node of each rank; empty if the request has no layout.
[[nodiscard]] std::vector<Rank> nodes_of(const collectives::GenerateRequest& request);

/// Returns the failure, with its position understood as a character of the spec.
[[nodiscard]] base::Failure in_spec(const base::Failure& failure);

}  // namespace weft::tools
