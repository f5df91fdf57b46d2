// SPDX-License-Identifier: BSD-3-Clause
// matrix_caller.hpp - makes collective calls, checks their results, and counts the calls.
//
// Idea     A MatrixCall is an entry of the test matrix: collective, type, operation, size and
//          placement of the buffers. A Trial allocates the call's arguments and compares its result
//          with the oracle. Blocking, started and persistent calls alternate.
// Holds    All ranks make the same calls in the same order.
// Next     tests/support/trial.hpp has Trial; collective_matrix.cpp selects the calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tests/support/trial.hpp"
#include "tools/lab/oracle/samples.hpp"
#include "weft/weft.hpp"

namespace weft::test {

/// Counters by group and name, such as [collective][algorithm].
using CoverageCounts = std::map<std::string, std::map<std::string, int>>;

struct MatrixCall {
    Collective collective = Collective::allreduce;
    const oracle::Samples* samples = &oracle::samples_of(Type::float64);
    Op op = Op::sum;
    std::uint64_t count = 0;  ///< elements of each block; unused if there is an array of counts
    int pattern = 0;          ///< pattern (trial.hpp) of the array of counts
    Rank root = -1;
    Arrangement arrangement = {};
};

class MatrixCaller {
  public:
    explicit MatrixCaller(Team world);

    /// Makes a call and checks its result. Messages name its algorithm `spec`.
    void run_and_check(const MatrixCall& matrix_call, std::string_view spec);
    /// Checks that the algorithm refuses an operation that does not commute.
    void expect_refusal(Collective collective, std::string_view spec);
    /// Counts a check. Prints `what` for the first five failures of each rank.
    void check(bool right, const std::string& what);

    [[nodiscard]] Team& world() { return world_; }
    /// Advances to the next batch of input values, and returns its number.
    [[nodiscard]] std::uint64_t advance_batch() { return ++batch_; }
    [[nodiscard]] const UserOp& affine() const { return affine_; }
    /// Returns true if a hash of the bytes is equal on all ranks. Collective.
    [[nodiscard]] bool same_on_all_ranks(std::span<const std::byte> bytes);

    CoverageCounts covered;
    /// Smallest and largest block, in bytes, of calls with one count.
    std::uint64_t bytes_min = UINT64_MAX;
    std::uint64_t bytes_max = 0;
    int checked = 0;  ///< number of checks
    int wrong = 0;    ///< number of failed checks

  private:
    /// Makes the trial's call in blocking, started or persistent form.
    void run(Trial& trial, const MatrixCall& matrix_call);
    /// Counts the call by type, use in place and alignment, and updates bytes_min and bytes_max.
    void count_shape(const MatrixCall& matrix_call);
    [[nodiscard]] oracle::CallFacts facts_of(const MatrixCall& matrix_call) const;
    /// Adds the user operation if the samples need one.
    void add_operation(Call& call, const oracle::Samples& samples) const;

    Team world_;
    UserOp affine_;            ///< does not commute
    UserOp triple_;            ///< commutes
    std::uint64_t batch_ = 0;  ///< last batch; selects the form of the call and its input values
};

}  // namespace weft::test
