// SPDX-License-Identifier: BSD-3-Clause
// ranks_in_threads.hpp - runs a function for each rank of a virtual job, each in its own thread.
//
// Idea     Blocking calls need one thread for each rank. The job's watchdog must end waits that
//          take too long (WatchdogOptions::abort_on_timeout), because no other thread does.
#pragma once

#include <thread>
#include <vector>

#include "tests/support/virtual_job.hpp"

namespace weft::test {

/// Calls body(rank) for each rank; returns after all calls have returned.
template <class Body>
void in_threads(VirtualJob& job, Body body) {
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < job.size(); ++rank)
        threads.emplace_back([&body, rank] { body(rank); });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace weft::test
