// SPDX-License-Identifier: BSD-3-Clause
// facts.hpp - conclusions from an execution: the contract, and properties for selection.
#pragma once

#include "plan/verify/execute.hpp"
#include "plan/verify/verify.hpp"

namespace weft::plan {

/// Properties that keeps_contract() determines.
struct Agreement {
    bool ordered = true;        ///< all results combine contributions in rank order
    bool bit_identical = true;  ///< ranks with equal expectations compute them by equal steps
};

/// Returns true if all results are as the contract requires; otherwise sets the reason.
[[nodiscard]] bool keeps_contract(const VerifyInput& input, Execution& execution, Values& values,
                                  Agreement& agreement, Reason& reason);

/// A rank whose program may end before another rank has started.
struct Independence {
    bool found = false;    ///< false: every rank completes only after all ranks have entered
    Rank rank = 0;         ///< the rank that may end first
    Rank independent = 0;  ///< the rank that need not have started
};
/// Returns the first such pair of ranks.
[[nodiscard]] Independence find_independence(const Execution& execution, Rank ranks);

}  // namespace weft::plan
