// SPDX-License-Identifier: BSD-3-Clause
#include "front/cli/job_command.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "front/cli/exit_status.hpp"

namespace weft::front {

bool is_first_rank() {
    const char* rank = std::getenv("PMIX_RANK");
    return rank == nullptr || std::string_view(rank) == "0";
}

/// The end of the first rank ends the job. The others give it the time to speak; it would be ended
/// unheard if they were quicker.
int refuse(const char* command, const base::Failure& failure) {
    const bool on_all_ranks = exit_status_of(failure.status) == kUnusableArguments;
    if (on_all_ranks && !is_first_rank()) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
    } else {
        fmt::print(stderr, "weft {}: {}\n", command, failure.text);
    }
    return exit_status_of(failure.status);
}

}  // namespace weft::front
