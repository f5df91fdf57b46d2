// SPDX-License-Identifier: BSD-3-Clause
// caller_bootstrap.hpp - a job whose ranks the caller has connected already, for example by MPI.
//
// Idea     The caller lends an exchange of bytes and a fence that can be polled. Cards go
//          through the exchange, lengths first.
// Why      A library inside another one, such as a collectives layer of MPI, must not need a
//          launcher of its own, and its host goes on if it cannot start.
// Holds    Each exchange tells all ranks whether one of them has given up. A rank that gives up
//          takes part in one more exchange, in which all others learn why and stop: no rank waits
//          for one that does not come. The same holds of a rank that just goes: the
//          destructor gives up for it.
// Next     src/front/c_api/runtime.cpp for weft_init_with().
#pragma once

#include <cstddef>
#include <memory>

#include "link/bootstrap/bootstrap.hpp"

namespace weft::link {

/// What the caller lends, until the job is left. Functions give 0, or something else if they
/// failed.
struct CallersJob {
    Rank rank = 0;
    Rank size = 1;
    void* argument = nullptr;
    int (*exchange)(void* argument, const void* mine, void* all, std::size_t bytes) = nullptr;
    int (*fence_start)(void* argument) = nullptr;
    int (*fence_test)(void* argument, int* done) = nullptr;
    void (*abort)(void* argument, int status, const char* text) = nullptr;
};

[[nodiscard]] std::unique_ptr<Bootstrap> join_job_of_caller(const CallersJob& job);

}  // namespace weft::link
