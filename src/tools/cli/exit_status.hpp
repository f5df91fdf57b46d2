// SPDX-License-Identifier: BSD-3-Clause
// exit_status.hpp - exit status of all `weft` commands.
#pragma once

#include "weft/types.hpp"

namespace weft::tools {

inline constexpr int kAnswerIsNo = 1;  ///< does not verify, a wrong result, a failed comparison
inline constexpr int kUnusableArguments = 2;  ///< the message names the argument and the rule
inline constexpr int kEnvironmentFailed = 3;  ///< no provider, no memory, a rank died

/// Returns the exit status for a failure in a command.
[[nodiscard]] constexpr int exit_status_of(Status status) {
    if (status == Status::ok) return 0;
    if (status == Status::argument || status == Status::unsupported) return kUnusableArguments;
    return kEnvironmentFailed;
}

}  // namespace weft::tools
