// SPDX-License-Identifier: BSD-3-Clause
// program_options.hpp - the arguments that name a set of programs: collective, algorithm, ranks,
// ...
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collectives/registry.hpp"
#include "front/cli/command.hpp"
#include "front/cli/counted_call.hpp"
#include "front/cli/neighbor_options.hpp"
#include "plan/schedule/program.hpp"

namespace weft::front {

/// Ranks at most where something is kept for each of them.
inline constexpr Rank kListedRanksMax = 1 << 22;
[[nodiscard]] base::Result<void> check_ranks(Rank ranks, Rank most = kListedRanksMax);

/// As they were written on the command line.
struct ProgramArguments {
    std::string collective;
    std::string algorithm;
    std::optional<Rank> ranks;
    std::optional<Rank> root;  ///< 0 unless given
    std::string bytes = "8";
    std::string type = "double";
    std::string counts;  ///< of a call whose blocks differ; none: those of --bytes
    std::string placement = "ordered";
    std::string layout;  ///< none: all ranks on one node
    bool ordered = false;
    NeighborArguments neighbors;
};

/// Adds COLLECTIVE, --algorithm, --ranks, --root, --bytes, --type, --counts, --placement,
/// --layout, --ordered and those of neighborhoods to a command.
void add_program_arguments(CLI::App& command, ProgramArguments& arguments);

/// The node of each of `ranks` ranks, from the text of --layout.
[[nodiscard]] base::Result<std::vector<Rank>> read_nodes(const std::string& layout, Rank ranks);
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
    std::string collective;  ///< whose algorithms serve the call
    collectives::AlgorithmSpec spec;
    collectives::GenerateRequest request;  ///< of rank 0
    /// Of a call whose blocks have counts of their own.
    std::shared_ptr<const CountedCall> counted = nullptr;
    /// Of a call among the neighbors of a grid; the spec says nothing then.
    std::shared_ptr<const NeighborCall> neighbors = nullptr;

    /// Only the two ends of a message know its count.
    [[nodiscard]] bool is_pairwise() const {
        return counted != nullptr && counted->traits->has_pairwise_counts();
    }
};
/// Stages are of equal blocks: others have none.
[[nodiscard]] base::Result<plan::Stages> stages_of(const ProgramQuestion& question);
/// The same call by programs of which all ranks know all counts, as models need them.
[[nodiscard]] base::Result<ProgramQuestion> for_models(ProgramQuestion question);
/// Whether there is a collective of that name, with counts or without.
[[nodiscard]] base::Result<void> check_any_collective(const std::string& name);
/// The call with counts that the arguments name, of so many ranks; nothing if its blocks are equal.
[[nodiscard]] base::Result<std::shared_ptr<const CountedCall>> read_counted(
    const ProgramArguments& arguments, Rank ranks);
/// Elements of --bytes and --type, and the placement; needs no algorithm.
[[nodiscard]] base::Result<collectives::GenerateRequest> read_request(
    const ProgramArguments& arguments);
/// `ranks_max`: unless a layout or counts list the ranks.
[[nodiscard]] base::Result<ProgramQuestion> read_question(const ProgramArguments& arguments,
                                                          Rank ranks_max = kListedRanksMax);

[[nodiscard]] base::Result<plan::Program> generate_one(const ProgramQuestion& question, Rank rank);
/// Fails where they are too many to be kept.
[[nodiscard]] base::Result<std::vector<plan::Program>> generate_all(
    const ProgramQuestion& question);

/// The node of each rank; none if the request has no layout.
[[nodiscard]] std::vector<Rank> nodes_of(const collectives::GenerateRequest& request);

/// A failure that points at a character means one of the spec.
[[nodiscard]] base::Failure in_spec(const base::Failure& failure);

}  // namespace weft::front
