// SPDX-License-Identifier: BSD-3-Clause
// connection.hpp - Python functions that connect ranks, for weft_init_with() and
// weft_team_create().
#pragma once

#include <utility>

#include "faces/python/errors.hpp"

namespace weft::python {

/// A Python function allgather(mine: bytes), which returns the bytes of all ranks in rank order.
class RankExchange {
  public:
    explicit RankExchange(py::function function) : function_(std::move(function)) {}
    /// Sets the number of ranks whose data each call returns.
    void expect(std::size_t ranks) { ranks_ = ranks; }

    /// Calls the Python function for weft_team_create(). arg: a RankExchange. Returns 0, or 1 if
    /// the function failed.
    static int call(void* arg, const void* mine, void* all, std::size_t bytes) noexcept;
    /// Returns the exception that ended the last call, and forgets it; null if there was none.
    py::object take_exception() { return std::exchange(exception_, {}); }

  private:
    friend struct Connection;  // stores exceptions of its barrier functions here, too
    py::function function_;
    py::object exception_;
    std::size_t ranks_ = 0;
};

/// Python functions that connect the ranks of a job without PMIx. weft calls them on any thread
/// until the job has ended.
struct Connection {
    RankExchange allgather;
    py::function barrier_start;  ///< starts a barrier; does not wait
    py::function barrier_test;   ///< returns True if all ranks have started the barrier

    /// Joins the job with WEFT_THREADS_MULTIPLE. The caller must not hold the global interpreter
    /// lock.
    weft_status join(int rank, int size, weft_runtime** out);

  private:
    static int start_barrier(void* arg) noexcept;
    static int test_barrier(void* arg, int* done) noexcept;
};

}  // namespace weft::python
