// SPDX-License-Identifier: BSD-3-Clause
// ranks_in_threads.hpp - runs one function for each rank of a virtual job, in a thread
// for each rank.
//
// Idea     Blocking calls need one thread for each rank. Every wait must have a deadline, so the
//          job's watchdog must end waits that take too long (WatchdogOptions::abort_on_timeout).
#pragma once

#include <thread>
#include <vector>

#include "tests/support/virtual_job.hpp"

namespace weft::test {

template <class Body>
void in_threads(VirtualJob& job, Body body) {
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < job.size(); ++rank)
        threads.emplace_back([&body, rank] { body(rank); });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace weft::test
