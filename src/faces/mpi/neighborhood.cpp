// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/neighborhood.hpp"

#include <algorithm>

#include "faces/mpi/host.hpp"

namespace weft::mpi {

namespace {

/// Returns the entries of a list of neighbors. `ranks` receives the rank of each entry.
Entries entries_of(const std::vector<int>& neighbors, std::vector<int>& ranks) {
    Entries entries;
    for (const int rank : neighbors) {
        if (rank == MPI_PROC_NULL) {
            entries.of_block.push_back(-1);
            continue;
        }
        const auto found = std::ranges::find(ranks, rank);
        entries.of_block.push_back(static_cast<int>(found - ranks.begin()));
        if (found == ranks.end()) ranks.push_back(rank);
    }
    entries.count = ranks.size();
    return entries;
}

}  // namespace

Neighborhood::Neighborhood(const std::vector<int>& sources, const std::vector<int>& destinations,
                           bool is_grid)
    : sources_(entries_of(sources, source_ranks_)),
      destinations_(entries_of(destinations, destination_ranks_)),
      is_grid_(is_grid) {}

Neighborhood::~Neighborhood() {
    for (auto& [team, list] : lists_) weft_neighbors_free(&list);
}

std::shared_ptr<Neighborhood> Neighborhood::of(MPI_Comm comm) {
    int topology = MPI_UNDEFINED;
    int rank = 0;
    PMPI_Topo_test(comm, &topology);
    PMPI_Comm_rank(comm, &rank);
    std::vector<int> sources;
    std::vector<int> destinations;
    int count = 0;
    int on_itself = 0;
    int on_one = 1;  // most blocks for one neighbor
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &count);
        const auto dimensions = static_cast<std::size_t>(count);
        std::vector<int> extents(dimensions + 1), periods(dimensions + 1), place(dimensions + 1);
        PMPI_Cart_get(comm, count, extents.data(), periods.data(), place.data());
        for (std::size_t i = 0; i < dimensions; ++i) {
            if (periods[i] != 0 && extents[i] == 1) on_itself += 2;
            if (periods[i] != 0 && extents[i] == 2) on_one = 2;
        }
        sources.resize(2 * dimensions);
        for (int dimension = 0; dimension < count; ++dimension) {
            int* const both = sources.data() + 2 * static_cast<std::size_t>(dimension);
            PMPI_Cart_shift(comm, dimension, 1, &both[0], &both[1]);
        }
        destinations = sources;
    } else if (topology == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(comm, rank, &count);
        sources.resize(static_cast<std::size_t>(count));
        PMPI_Graph_neighbors(comm, rank, count, sources.data());
        destinations = sources;
    } else if (topology == MPI_DIST_GRAPH) {
        int targets = 0;
        int weighted = 0;
        PMPI_Dist_graph_neighbors_count(comm, &count, &targets, &weighted);
        sources.resize(static_cast<std::size_t>(count));
        destinations.resize(static_cast<std::size_t>(targets));
        std::vector<int> weights(std::max(sources.size(), destinations.size()) + 1);
        std::vector<int> more_weights(weights.size());
        PMPI_Dist_graph_neighbors(comm, count, sources.data(), weights.data(), targets,
                                  destinations.data(), more_weights.data());
    } else {
        return nullptr;
    }
    std::shared_ptr<Neighborhood> made(
        new Neighborhood(sources, destinations, topology == MPI_CART));
    made->blocks_max_ = std::max(on_itself, on_one);
    return made;
}

/// Open MPI 4.1 gives the messages of a blocking call on a grid a tag for each direction; MPICH 4.0
/// posts the receives of alltoall in reverse order.
BlockOrder Neighborhood::order(CallKind kind, Form form) const {
    if (kIsOpenMpi)
        return is_grid_ && form == Form::blocking ? BlockOrder::crossed : BlockOrder::forward;
    return kind == CallKind::neighbor_alltoall ? BlockOrder::backward : BlockOrder::forward;
}

weft_status Neighborhood::list_for(weft_team* team, weft_neighbors*& list) {
    for (const auto& [known, its_list] : lists_)
        if (known == team) {
            list = its_list;
            return WEFT_OK;
        }
    const weft_status status = weft_neighbors_create(
        team, source_ranks_.data(), static_cast<int>(source_ranks_.size()),
        destination_ranks_.data(), static_cast<int>(destination_ranks_.size()), &list);
    if (status == WEFT_OK) lists_.emplace_back(team, list);
    return status;
}

}  // namespace weft::mpi
