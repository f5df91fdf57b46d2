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

    // If the blocks for a neighbor on a grid arrive in another order, they must be copied, unless a
    // call of weft for each of them, a round, exchanges them in place. Members agree on rounds for
    // long blocks.
    /// Returns the number of rounds of a call; equal on all members.
    [[nodiscard]] int rounds(CallKind kind, Form form) const {
        return has_rounds_ && form == Form::blocking && reorders(kind) ? blocks_max_ : 1;
    }
    /// Counts a blocking call. Returns true if the members must agree; equal on all members.
    [[nodiscard]] bool must_agree(CallKind kind) {
        return blocks_max_ > 1 && reorders(kind) && ++calls_ % kAgreeEvery == 0;
    }
    void agree(bool has_rounds) { has_rounds_ = has_rounds; }
    /// Sets `list` to weft's list of the neighbors in a team.
    [[nodiscard]] weft_status list_for(weft_team* team, weft_neighbors*& list);

  private:
    static constexpr unsigned kAgreeEvery = 16;  ///< calls from one agreement to the next

    Neighborhood(const std::vector<int>& sources, const std::vector<int>& destinations,
                 bool is_grid);
    /// Returns true if blocks arrive in another order in a blocking call.
    [[nodiscard]] bool reorders(CallKind kind) const {
        return kind >= CallKind::neighbor_alltoall &&
               order(kind, Form::blocking) != BlockOrder::forward;
    }

    std::vector<int> source_ranks_;  ///< rank of each entry
    std::vector<int> destination_ranks_;
    Entries sources_;
    Entries destinations_;
    bool is_grid_;
    int blocks_max_ = 1;  ///< on a grid: most blocks for one neighbor of a member; equal on all
    bool has_rounds_ = false;
    unsigned calls_ = 0;  ///< counted by must_agree()
    std::vector<std::pair<weft_team*, weft_neighbors*>> lists_;
};

}  // namespace weft::mpi
