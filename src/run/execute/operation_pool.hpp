// SPDX-License-Identifier: BSD-3-Clause
// operation_pool.hpp - reuses operations, so that steady state does not allocate.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "run/execute/operation.hpp"

namespace weft::run {

class OperationPool {
  public:
    [[nodiscard]] Operation& take() {
        if (free_.empty()) free_.push_back(&all_.emplace_back());
        Operation& op = *free_.back();
        free_.pop_back();
        op.state = Operation::State::queued;
        op.detached = false;
        op.pending = 0;
        return op;
    }
    /// Recycles an operation, unless it has transfers in flight: the wire still refers to it.
    void give(Operation& op) {
        if (op.pending == 0) free_.push_back(&op);
    }
    /// Returns true if transfers of the team's operations are in flight.
    [[nodiscard]] bool has_transfers(const TeamState& team) const {
        return std::ranges::any_of(
            all_, [&](const Operation& op) { return op.team == &team && op.pending != 0; });
    }

  private:
    std::deque<Operation> all_;
    std::vector<Operation*> free_;
};

}  // namespace weft::run
