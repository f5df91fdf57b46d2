// SPDX-License-Identifier: BSD-3-Clause
// neighborhood.hpp - the neighbors of this rank in the topology of a communicator.
//
// Why      weft names a neighbor once. In MPI a rank can be a neighbor several times, and a
//          neighbor on a grid can be missing. So each distinct neighbor has an entry, with the
//          blocks of all its places in MPI's order.
// Next     prepared.cpp for the calls; CallData for the blocks of an entry.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>
#include <vector>

#include "faces/mpi/call_data.hpp"
#include "weft/neighbors.h"

namespace weft::mpi {

/// Form of a call of MPI.
enum class Form : std::uint8_t { blocking, started, persistent };

class Neighborhood {
  public:
    /// Reads the topology; nullptr if the communicator has none.
    [[nodiscard]] static std::shared_ptr<Neighborhood> of(MPI_Comm comm);
    Neighborhood(const Neighborhood&) = delete;
    Neighborhood& operator=(const Neighborhood&) = delete;
    ~Neighborhood();

    [[nodiscard]] const Entries& sources() const { return sources_; }
    [[nodiscard]] const Entries& destinations() const { return destinations_; }
    /// Returns the host's order of several blocks from one neighbor.
    [[nodiscard]] BlockOrder order(CallKind kind, Form form) const;
    /// Sets `list` to weft's list of the neighbors in a team.
    [[nodiscard]] weft_status list_for(weft_team* team, weft_neighbors*& list);

  private:
    Neighborhood(const std::vector<int>& sources, const std::vector<int>& destinations,
                 bool is_grid);

    std::vector<int> source_ranks_;  ///< rank of each entry
    std::vector<int> destination_ranks_;
    Entries sources_;
    Entries destinations_;
    bool is_grid_;
    std::vector<std::pair<weft_team*, weft_neighbors*>> lists_;
};

}  // namespace weft::mpi
