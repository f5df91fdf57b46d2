// SPDX-License-Identifier: BSD-3-Clause
// operation_pool.hpp - operations are used again, so that steady state does not allocate.
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
    /// An operation with transfers under way is not used again: the wire still knows it.
    void give(Operation& op) {
        if (op.pending == 0) free_.push_back(&op);
    }
    /// Whether transfers of a team's operations are under way.
    [[nodiscard]] bool has_transfers(const TeamState& team) const {
        return std::ranges::any_of(
            all_, [&](const Operation& op) { return op.team == &team && op.pending != 0; });
    }

  private:
    std::deque<Operation> all_;
    std::vector<Operation*> free_;
};

}  // namespace weft::run
