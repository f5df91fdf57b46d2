// SPDX-License-Identifier: BSD-3-Clause
// program_options.hpp - arguments that select the programs of a call: collective, algorithm, ranks,
// sizes, layout, and the grid of a neighborhood collective.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "collectives/neighborhood/exchange.hpp"
#include "collectives/notation/enumerate.hpp"
#include "collectives/registry.hpp"
#include "collectives/v_collective.hpp"
#include "plan/schedule/contract.hpp"
#include "plan/schedule/program.hpp"
#include "plan/select/model.hpp"
#include "tools/cli/command.hpp"

namespace weft::tools {

/// Limit of the ranks if a command keeps data for each rank.
inline constexpr Rank kListedRanksMax = 1 << 22;
void check_ranks(Rank ranks, Rank most = kListedRanksMax);

/// A v-collective. If all ranks have all counts, the algorithms for equal blocks serve the call.
/// If only sender and receiver have a count (has_pairwise_counts()), each message is sent directly.
struct CountedCall {
    const collectives::CollectiveTraits* traits = nullptr;
    Rank size = 1;
    Rank root = 0;
    std::vector<std::uint64_t> counts;  ///< elements of the block of each rank

    [[nodiscard]] std::uint64_t elements() const;  ///< sum of the counts
    [[nodiscard]] bool has_equal_counts() const;

    // Only for pairwise counts. In an alltoallv, the message to rank j has counts[j] elements.
    [[nodiscard]] std::vector<collectives::Message> sent(Rank rank) const;
    [[nodiscard]] std::vector<collectives::Message> received(Rank rank) const;
    [[nodiscard]] base::Result<plan::Program> program(Rank rank) const;
    [[nodiscard]] plan::Contract contract() const;  ///< refers to this call

  private:
    [[nodiscard]] std::uint64_t message_elements(Rank from, Rank to) const;  ///< 0: no message
};

struct NeighborCall {
    collectives::Stencil stencil;
    collectives::NeighborData data = collectives::NeighborData::own;
};

struct ProgramArguments {
    std::string collective;
    std::string algorithm;
    std::optional<Rank> ranks;
    std::optional<Rank> root;  ///< default: 0
    std::string bytes = "8";
    std::string type = "double";
    std::string counts;  ///< of a v-collective; empty: all blocks have --bytes bytes
    std::string placement = "ordered";
    std::string layout;  ///< empty: all ranks on one node
    bool ordered = false;
    // Neighborhood collectives only:
    std::string grid;
    bool periodic = false;
    int reach = 1;
    bool star = false;
};

void add_program_arguments(CLI::App& command, ProgramArguments& arguments);

[[nodiscard]] bool is_neighborhood(std::string_view collective);
inline constexpr std::array kNeighborAlgorithms{"direct", "combined"};

// Functions that read arguments throw an Error if an argument is unusable.

/// Returns the node of each of `ranks` ranks from the text of --layout.
[[nodiscard]] std::vector<Rank> read_nodes(const std::string& layout, Rank ranks);

struct ElementCount {
    Type type;
    std::uint32_t bytes = 0;  ///< of each element
    std::uint64_t count = 0;
};
[[nodiscard]] ElementCount read_elements(const std::string& bytes, const std::string& type_name);

/// A call whose programs generate_one() and generate_all() return.
struct ProgramQuestion {
    std::string collective;  ///< collective whose algorithms serve the call
    collectives::AlgorithmSpec spec;
    collectives::GenerateRequest request;                  ///< for rank 0
    std::shared_ptr<const CountedCall> counted = nullptr;  ///< only for a v-collective
    /// Only for a neighborhood collective; `spec` then has one of kNeighborAlgorithms.
    std::shared_ptr<const NeighborCall> neighbors = nullptr;
    /// Programs of a file, which replace generated ones.
    std::shared_ptr<const std::vector<plan::Program>> given = nullptr;

    [[nodiscard]] plan::BufferSize buffer() const {
        return {request.elements, request.element_bytes};
    }
    [[nodiscard]] std::uint64_t bytes() const { return request.elements * request.element_bytes; }
    /// Returns true if only sender and receiver have a message's count.
    [[nodiscard]] bool is_pairwise() const {
        return counted != nullptr && counted->traits->has_pairwise_counts();
    }
};
/// Returns the stages of the call. Fails for v-collectives and neighborhood collectives.
[[nodiscard]] base::Result<plan::Stages> stages_of(const ProgramQuestion& question);
/// Returns the question for models, which need programs for counts that all ranks have: replaces
/// direct sends by the algorithm "flat" or "direct" with these counts.
[[nodiscard]] ProgramQuestion for_models(ProgramQuestion question);
/// Returns the collective of that name, with or without counts.
[[nodiscard]] const collectives::CollectiveTraits& known_collective(const std::string& name);
/// Reads the call, without its algorithm. ranks_max: limit of --ranks. With --layout or a
/// v-collective it is kListedRanksMax.
[[nodiscard]] ProgramQuestion read_call(const ProgramArguments& arguments,
                                        Rank ranks_max = kListedRanksMax);
/// Sets the algorithm that --algorithm names; "" if the option is missing.
void set_algorithm(ProgramQuestion& question, const std::string& algorithm);
[[nodiscard]] ProgramQuestion read_question(const ProgramArguments& arguments,
                                            Rank ranks_max = kListedRanksMax);

/// Returns the first `most` schedules of each family. Empty if the collective has no algorithm that
/// a schedule names, or if there is only one rank.
[[nodiscard]] std::vector<collectives::Schedule> schedules_for(
    std::string_view collective, Rank size,
    std::initializer_list<collectives::ScheduleFamily> families, std::size_t most);

/// Returns a question whose programs are those of all ranks in the file, in text form. They must be
/// of the collective and of --ranks, but may be malformed.
[[nodiscard]] ProgramQuestion read_given(const ProgramArguments& arguments,
                                         const std::string& file);

[[nodiscard]] base::Result<plan::Program> generate_one(const ProgramQuestion& question, Rank rank);
/// Throws an Error if the programs have too many steps to keep.
[[nodiscard]] std::vector<plan::Program> generate_all(const ProgramQuestion& question);

/// Returns the node of each rank; empty if the request has no layout.
[[nodiscard]] std::vector<Rank> nodes_of(const collectives::GenerateRequest& request);

/// Adds "--algorithm" before a failure text that names a character of the spec.
[[nodiscard]] base::Failure in_spec(const base::Failure& failure);
/// As need(), with in_spec() applied to the failure.
template <class T>
T need_of_spec(base::Result<T> result) {
    if (!result) fail(in_spec(result.failure()));
    return *std::move(result);
}

}  // namespace weft::tools
