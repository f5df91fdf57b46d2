// SPDX-License-Identifier: BSD-3-Clause
// facts.hpp - conclusions from an execution: the contract, and properties for selection.
#pragma once

#include "plan/verify/execute.hpp"
#include "plan/verify/verify.hpp"

namespace weft::plan {

/// Properties that the contract check determines.
struct Agreement {
    bool ordered = true;
    bool bit_identical = true;
};

/// Returns true if all expectations are met; otherwise sets the reason.
[[nodiscard]] bool keeps_contract(const VerifyInput& input, Execution& execution, Values& values,
                                  Agreement& agreement, Reason& reason);

/// A rank whose program may end before another rank has started.
struct Independence {
    bool found = false;  ///< false: completion anywhere implies entry everywhere
    Rank rank = 0;
    Rank independent = 0;  ///< the rank that need not have started
};
[[nodiscard]] Independence find_independence(const Execution& execution, Rank ranks);

}  // namespace weft::plan
