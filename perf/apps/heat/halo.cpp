// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/heat/halo.hpp"

#include <algorithm>

namespace apps {

namespace {

constexpr std::size_t kBuffers = 2 * kSides.size();

/// Opposite sides differ in the last bit.
Side opposite(Side side) {
    return static_cast<Side>(static_cast<int>(side) ^ 1);
}
static_assert(static_cast<int>(Side::south) == 1 && static_cast<int>(Side::west) == 2);

std::int64_t edge_length(const Area& area, Side side) {
    return side == Side::north || side == Side::south ? area.width : area.height;
}

/// Returns cell `index` of the edge on a side, or with `beyond` = 1 of the frame beyond that edge.
double& edge_cell(const Field& field, Side side, std::int64_t index, std::int64_t beyond) {
    switch (side) {
        case Side::north:
            return field.at(-beyond, index);
        case Side::south:
            return field.at(field.area().height - 1 + beyond, index);
        case Side::west:
            return field.at(index, -beyond);
        case Side::east:
            break;
    }
    return field.at(index, field.area().width - 1 + beyond);
}

std::vector<Side> sides_with(const std::array<weft::Rank, 4>& neighbor_at) {
    std::vector<Side> sides;
    for (const Side side : kSides)
        if (neighbor_at[static_cast<std::size_t>(side)] >= 0) sides.push_back(side);
    return sides;
}

weft::Neighbors neighborhood_of(weft::Rank members, const std::array<weft::Rank, 4>& neighbor_at) {
    std::vector<weft::Rank> ranks;
    for (const Side side : sides_with(neighbor_at))
        ranks.push_back(neighbor_at[static_cast<std::size_t>(side)]);
    return {members, ranks, ranks};
}

/// Calls visit(cell) for the edge_cell() of each index, side by side.
template <class Visit>
void for_each_edge_cell(const Field& field, const std::vector<Side>& sides, std::int64_t beyond,
                        Visit visit) {
    for (const Side side : sides)
        for (std::int64_t i = 0; i < edge_length(field.area(), side); ++i)
            visit(edge_cell(field, side, i, beyond));
}

}  // namespace

Halo::Halo(weft::Team team, const std::array<weft::Rank, 4>& neighbor_at,
           std::size_t edge_cells_max)
    : team_(team),
      neighbor_at_(neighbor_at),
      edge_cells_max_(edge_cells_max),
      packed_(edge_cells_max),
      memory_(team, kBuffers * edge_cells_max * sizeof(double)),
      signal_memory_(team, kBuffers * sizeof(Signal)),
      signals_(signal_memory_.as<Signal>()) {
    std::ranges::fill(signals_, Signal{0});
    team_.barrier();  // no rank puts before all signals are clear
}

void Halo::send_edges(const Field& field, std::uint64_t step) {
    for (const Side side : kSides) {
        const weft::Rank neighbor = neighbor_at_[static_cast<std::size_t>(side)];
        if (neighbor < 0) continue;
        const std::int64_t count = edge_length(field.area(), side);
        for (std::int64_t i = 0; i < count; ++i)
            packed_[static_cast<std::size_t>(i)] = edge_cell(field, side, i, 0);
        const std::size_t target = buffer_of(opposite(side), step);
        team_.put_signal(cells_of(target).data(), packed_.data(),
                         static_cast<std::size_t>(count) * sizeof(double), &signals_[target].steps,
                         step + 1, weft::SignalOp::set, neighbor);
    }
}

void Halo::receive_edges(const Field& field, std::uint64_t step) {
    for (const Side side : kSides) {
        if (neighbor_at_[static_cast<std::size_t>(side)] < 0) continue;
        const std::size_t buffer = buffer_of(side, step);
        team_.wait_until(&signals_[buffer].steps, weft::Compare::eq, step + 1);
        const std::int64_t count = edge_length(field.area(), side);
        for (std::int64_t i = 0; i < count; ++i)
            edge_cell(field, side, i, 1) = cells_of(buffer)[static_cast<std::size_t>(i)];
    }
}

EdgeExchange::EdgeExchange(weft::Team team, const std::array<weft::Rank, 4>& neighbor_at,
                           const Area& area)
    : sides_(sides_with(neighbor_at)), neighbors_(neighborhood_of(team.size(), neighbor_at)) {
    std::vector<std::size_t> counts;
    std::size_t cells = 0;
    for (const Side side : sides_) {
        counts.push_back(static_cast<std::size_t>(edge_length(area, side)));
        cells += counts.back();
    }
    sent_.resize(cells);
    received_.resize(cells);
    request_ = team.prepare(neighbors_.alltoallv(sent_.data(), {counts, {}}, received_.data(),
                                                 {counts, {}}, weft::Type::float64));
}

void EdgeExchange::send_edges(const Field& field, std::uint64_t) {
    std::size_t next = 0;
    for_each_edge_cell(field, sides_, 0, [&](double cell) { sent_[next++] = cell; });
    request_.start();
}

void EdgeExchange::receive_edges(const Field& field, std::uint64_t) {
    request_.wait();
    std::size_t next = 0;
    for_each_edge_cell(field, sides_, 1, [&](double& cell) { cell = received_[next++]; });
}

}  // namespace apps
