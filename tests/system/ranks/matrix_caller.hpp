// SPDX-License-Identifier: BSD-3-Clause
// matrix_caller.hpp - makes collective calls, checks their results, and counts the calls.
//
// Idea     A MatrixCall describes a call. A Trial has its arguments and checks its result by the
//          oracle. Blocking, started and persistent calls alternate.
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

/// Number of calls by group (such as a collective) and name (such as an algorithm).
using Covered = std::map<std::string, std::map<std::string, int>>;

/// A call to make.
struct MatrixCall {
    Collective collective = Collective::allreduce;
    const oracle::Samples* samples = &oracle::samples_of(Type::float64);
    Op op = Op::sum;
    std::uint64_t count = 0;  ///< number of elements, for calls with one count
    int pattern = 0;          ///< count pattern, for calls with counts
    Rank root = -1;
    Arrangement arrangement = {};
};

class MatrixCaller {
  public:
    explicit MatrixCaller(Team world);

    /// Makes a call. `spec` is its algorithm, which is printed with a wrong result.
    void make(const MatrixCall& matrix_call, std::string_view spec);
    /// Makes a call with an operation that does not commute, which must be refused.
    void make_refused(Collective collective, std::string_view spec);
    /// Counts a check. If it failed, prints `what`.
    void check(bool right, const std::string& what);

    [[nodiscard]] Team& world() { return world_; }
    /// Returns the number of a new call, which selects its values.
    [[nodiscard]] std::uint64_t next_batch() { return ++batch_; }
    [[nodiscard]] const UserOp& affine() const { return affine_; }
    /// Returns true if all ranks have the same bytes.
    [[nodiscard]] bool same_on_all_ranks(std::span<const std::byte> bytes);

    Covered covered;
    std::uint64_t bytes_min = UINT64_MAX;
    std::uint64_t bytes_max = 0;
    int checked = 0;  ///< number of checks
    int wrong = 0;    ///< number of failed checks

  private:
    /// Makes the trial's call in blocking, started or persistent form.
    void run(Trial& trial, const MatrixCall& matrix_call);
    /// Counts the call by type, placement and size.
    void count_shape(const MatrixCall& matrix_call);
    [[nodiscard]] oracle::CallFacts facts_of(const MatrixCall& matrix_call) const;
    /// Adds the user operation if the samples need one.
    void add_operation(Call& call, const oracle::Samples& samples) const;

    Team world_;
    UserOp affine_;            ///< does not commute
    UserOp triple_;            ///< commutes
    std::uint64_t batch_ = 0;  ///< number of calls; selects form and values
};

}  // namespace weft::test
