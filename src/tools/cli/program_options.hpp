// SPDX-License-Identifier: BSD-3-Clause
// program_options.hpp - arguments that name a set of programs: collective, algorithm, ranks, and
// others, with the grid of a neighborhood collective.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "collectives/neighborhood/exchange.hpp"
#include "collectives/registry.hpp"
#include "collectives/v_collective.hpp"
#include "plan/schedule/contract.hpp"
#include "plan/schedule/program.hpp"
#include "tools/cli/command.hpp"

namespace weft::tools {

/// Largest number of ranks where data is kept for each of them.
inline constexpr Rank kListedRanksMax = 1 << 22;
void check_ranks(Rank ranks, Rank most = kListedRanksMax);

/// A call with a count for each block. If all ranks know the counts, the algorithms of equal blocks
/// serve the call. If only sender and receiver know a count, messages go directly to their ranks.
struct CountedCall {
    const collectives::CollectiveTraits* traits = nullptr;
    Rank size = 1;
    Rank root = 0;
    std::vector<std::uint64_t> counts;  ///< elements of the block of each rank

    [[nodiscard]] std::uint64_t elements() const;  ///< of all blocks
    [[nodiscard]] bool all_alike() const;

    // For calls whose counts only sender and receiver know: each message is sent in one piece. In
    // an alltoallv, rank i sends the count of rank j to rank j.
    [[nodiscard]] std::vector<collectives::Message> sent(Rank rank) const;
    [[nodiscard]] std::vector<collectives::Message> received(Rank rank) const;
    [[nodiscard]] base::Result<plan::Program> program(Rank rank) const;
    /// Refers to this call, which must outlive the contract.
    [[nodiscard]] plan::Contract contract() const;

  private:
    [[nodiscard]] std::uint64_t between(Rank from, Rank to) const;
};

struct NeighborCall {
    collectives::Stencil stencil;
    collectives::NeighborData data = collectives::NeighborData::own;
    collectives::NeighborWay way = collectives::NeighborWay::direct;

    [[nodiscard]] Rank ranks() const { return static_cast<Rank>(stencil.grid().ranks()); }
};

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
    // The grid of ranks of a neighborhood collective:
    std::string grid;
    bool periodic = false;
    int reach = 1;
    bool star = false;
};

void add_program_arguments(CLI::App& command, ProgramArguments& arguments);

[[nodiscard]] bool is_neighborhood(std::string_view collective);

/// Returns the node of each of `ranks` ranks from the text of --layout.
[[nodiscard]] std::vector<Rank> read_nodes(const std::string& layout, Rank ranks);
/// Returns the layout of --layout for `ranks` ranks; an empty one if it was not given.
[[nodiscard]] plan::Layout read_layout(const ProgramArguments& arguments, Rank ranks);

struct ElementCount {
    Type type;
    std::uint32_t bytes = 0;  ///< of each element
    std::uint64_t count = 0;
};
[[nodiscard]] ElementCount read_elements(const std::string& bytes, const std::string& type_name);

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
[[nodiscard]] ProgramQuestion for_models(ProgramQuestion question);
/// Returns the collective of that name, with or without counts.
[[nodiscard]] const collectives::CollectiveTraits& known_collective(const std::string& name);
/// Reads the call with counts, for `ranks` ranks; empty if its blocks are equal.
[[nodiscard]] std::shared_ptr<const CountedCall> read_counted(const ProgramArguments& arguments,
                                                              Rank ranks);
/// Reads --bytes, --type and the placement; needs no algorithm.
[[nodiscard]] collectives::GenerateRequest read_request(const ProgramArguments& arguments);
/// ranks_max: limit, unless a layout or counts list the ranks.
[[nodiscard]] ProgramQuestion read_question(const ProgramArguments& arguments,
                                            Rank ranks_max = kListedRanksMax);

[[nodiscard]] base::Result<plan::Program> generate_one(const ProgramQuestion& question, Rank rank);
/// Fails if there are too many steps to keep.
[[nodiscard]] std::vector<plan::Program> generate_all(const ProgramQuestion& question);

/// Returns the node of each rank; empty if the request has no layout.
[[nodiscard]] std::vector<Rank> nodes_of(const collectives::GenerateRequest& request);

/// Returns the failure, with its position understood as a character of the spec.
[[nodiscard]] base::Failure in_spec(const base::Failure& failure);
/// As need(), for results that depend on the spec.
template <class T>
T need_of_spec(base::Result<T> result) {
    if (!result) fail(in_spec(result.failure()));
    return *std::move(result);
}

}  // namespace weft::tools
