// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/neighbor_options.hpp"

#include <charconv>

namespace weft::tools {

namespace {

constexpr std::string_view kGather = "neighbor_allgather";
constexpr std::string_view kExchange = "neighbor_alltoall";

/// Parses "4x4x4".
base::Result<std::vector<Rank>> parse_grid(std::string_view text) {
    std::vector<Rank> extents;
    const char* const end = text.data() + text.size();
    for (const char* at = text.data();; ++at) {
        Rank extent = 0;
        const auto [stop, error] = std::from_chars(at, end, extent);
        if (error != std::errc{} || extent < 1 || (stop != end && *stop != 'x'))
            return base::fail(Status::argument,
                              "--grid {}: expected the ranks along each dimension, as in 4x4x4",
                              text);
        extents.push_back(extent);
        if (stop == end) return extents;
        at = stop;
    }
}

}  // namespace

void add_neighbor_arguments(CLI::App& command, NeighborArguments& arguments) {
    add_option(command, "--grid", arguments.grid,
               "neighbor_...: ranks along each dimension of the grid, as in 4x4x4");
    add_flag(command, "--periodic", arguments.periodic,
             "neighbor_...: the last rank of each dimension is next to the first one");
    add_option(command, "--reach", arguments.reach,
               "neighbor_...: how far away neighbors are at most, in each dimension")
        .shows_default();
    add_flag(command, "--star", arguments.star,
             "neighbor_...: only neighbors along the dimensions, none across corners");
}

bool is_neighborhood(std::string_view collective) {
    return collective == kGather || collective == kExchange;
}

base::Result<std::shared_ptr<const NeighborCall>> read_neighbors(const NeighborArguments& arguments,
                                                                 std::string_view collective,
                                                                 std::string_view algorithm,
                                                                 std::optional<Rank> ranks) {
    constexpr int kReachMax = 100;
    constexpr std::size_t kDimensionsMax = 8;
    constexpr double kNeighborsMax = 1e5;
    if (arguments.grid.empty())
        return base::fail(Status::argument, "--grid is missing: {} has neighbors on a grid",
                          collective);
    const auto extents = parse_grid(arguments.grid);
    if (!extents) return extents.failure();
    if (extents->size() > kDimensionsMax)
        return base::fail(Status::argument, "--grid {}: it has {} dimensions, at most {}",
                          arguments.grid, extents->size(), kDimensionsMax);
    if (arguments.reach < 1 || arguments.reach > kReachMax)
        return base::fail(Status::argument, "--reach: {} is not in 1..{}", arguments.reach,
                          kReachMax);
    double neighbors = 1;
    for (std::size_t i = 0; i < extents->size(); ++i) neighbors *= 2 * arguments.reach + 1;
    if (!arguments.star && neighbors > kNeighborsMax)
        return base::fail(Status::argument, "--reach: {} gives a rank more than {} neighbors",
                          arguments.reach, kNeighborsMax);
    if (algorithm != "direct" && algorithm != "combined")
        return base::fail(Status::argument, "--algorithm: {} has direct and combined", collective);
    const auto dimensions = static_cast<int>(extents->size());
    auto stencil = collectives::Stencil::make(
        {*extents, std::vector<bool>(extents->size(), arguments.periodic)},
        arguments.star ? collectives::star_offsets(dimensions, arguments.reach)
                       : collectives::box_offsets(dimensions, arguments.reach));
    if (!stencil) return stencil.failure().within("--grid");
    NeighborCall call{
        *std::move(stencil),
        collective == kGather ? collectives::NeighborData::same : collectives::NeighborData::own,
        algorithm == "direct" ? collectives::NeighborWay::direct
                              : collectives::NeighborWay::combined};
    if (ranks && *ranks != call.ranks())
        return base::fail(Status::argument, "--ranks: {} given, --grid {} has {}", *ranks,
                          arguments.grid, call.ranks());
    return std::make_shared<const NeighborCall>(std::move(call));
}

}  // namespace weft::tools
