// SPDX-License-Identifier: BSD-3-Clause
// neighbor_options.hpp - arguments of a neighborhood collective on a grid of ranks.
//
// Next     program_options.hpp; collectives/neighborhood/exchange.hpp for the programs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "collectives/neighborhood/exchange.hpp"
#include "tools/cli/command.hpp"

namespace weft::tools {

/// Texts from the command line.
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

/// Adds --grid, --periodic, --reach and --star to a command.
void add_neighbor_arguments(CLI::App& command, NeighborArguments& arguments);

[[nodiscard]] bool is_neighborhood(std::string_view collective);

/// ranks: the value of --ranks, if given.
[[nodiscard]] base::Result<std::shared_ptr<const NeighborCall>> read_neighbors(
    const NeighborArguments& arguments, std::string_view collective, std::string_view algorithm,
    std::optional<Rank> ranks);

}  // namespace weft::tools
