// SPDX-License-Identifier: BSD-3-Clause
// facts.hpp - what an execution shows: the contract, and what selection wants to know.
#pragma once

#include "plan/verify/execute.hpp"
#include "plan/verify/verify.hpp"

namespace weft::plan {

/// What the contract check finds on the way.
struct Agreement {
    bool ordered = true;
    bool bit_identical = true;
};

/// False, with the reason, if some expectation is not met.
[[nodiscard]] bool keeps_contract(const VerifyInput& input, Execution& execution, Values& values,
                                  Agreement& agreement, Reason& reason);

/// A rank whose program may end before another has started.
struct Independence {
    bool found = false;  ///< none: completion anywhere implies entry everywhere
    Rank rank = 0;
    Rank independent = 0;  ///< the one that need not have started
};
[[nodiscard]] Independence find_independence(const Execution& execution, Rank ranks);

}  // namespace weft::plan
