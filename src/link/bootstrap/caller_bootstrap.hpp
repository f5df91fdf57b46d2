// SPDX-License-Identifier: BSD-3-Clause
// caller_bootstrap.hpp - a job whose ranks the caller has already connected, for example by MPI.
//
// Idea     The caller provides an exchange of bytes, and a fence that can be polled. Cards are
//          exchanged after their lengths.
// Why      A library inside another one, such as a collectives layer of MPI, must not need its own
//          launcher. Its host continues if it cannot start.
// Holds    Each exchange tells all ranks whether one of them has given up. A rank that gives up
//          takes part in one more exchange, in which all others receive the reason and stop. So no
//          rank waits for a missing one. If a rank leaves early, the destructor gives up for it.
// Next     src/api/c/runtime.cpp for weft_init_with().
#pragma once

#include <cstddef>
#include <memory>

#include "link/bootstrap/bootstrap.hpp"

namespace weft::link {

/// Functions that the caller provides until the job ends. They return 0 on success.
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
