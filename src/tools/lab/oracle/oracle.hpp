// SPDX-License-Identifier: BSD-3-Clause
// oracle.hpp - input and expected output of a rank in a collective call.
//
// Idea     Samples define the elements of every input as a function of rank and index, so each
//          rank can compute all inputs. The contract of a collective states which inputs each unit
//          of an output (a block, or the whole buffer) copies or reduces. The expected elements are
//          computed serially, in rank order, 64 at a time, without any algorithm or message.
// Why      `weft bench`, the benches of MPI libraries in perf/ and the tests check results with it.
// Holds    Memory grows with the number of blocks, not with their size.
// Next     samples.hpp for the elements; plan/schedule/contract.hpp for contracts.
#pragma once

#include <functional>
#include <vector>

#include "collectives/collective_traits.hpp"
#include "plan/schedule/contract.hpp"
#include "tools/lab/oracle/samples.hpp"

namespace weft::oracle {

/// Arguments of a call, equal on all members of the team.
struct CallFacts {
    Collective collective = Collective{};
    const Samples* samples = nullptr;  ///< element type and input values
    Op op = Op::sum;
    Rank size = 1;
    Rank root = plan::kNoRank;
    /// Returns the number of elements of a unit of a rank's input. It depends on the rank only if
    /// counts are pairwise (CollectiveTraits::has_pairwise_counts()).
    std::function<std::uint64_t(Rank rank, std::uint32_t unit)> count;
};

/// A unit of a rank's buffer, and its number of elements.
struct SizedUnit {
    std::uint32_t unit = 0;
    std::uint64_t count = 0;
};

/// Returns true if `found` is the reduction, in rank order, of the elements `range` of the inputs
/// of first_rank .. last_rank. Ignores range.rank.
[[nodiscard]] bool is_reduction(const Samples& samples, Op op, Rank first_rank, Rank last_rank,
                                SampleRange range, const std::byte* found);

/// Inputs and expected outputs of one rank. `batch`: number that selects the input data. All
/// ranks must pass equal numbers for one call, to write() and to is_expected().
class Oracle {
  public:
    Oracle(CallFacts facts, Rank rank);

    [[nodiscard]] const CallFacts& facts() const { return facts_; }
    [[nodiscard]] const collectives::CollectiveTraits& traits() const {
        return collectives::traits_of(facts_.collective);
    }
    [[nodiscard]] Rank rank() const { return rank_; }
    // Units of this rank's input and output, in buffer order.
    [[nodiscard]] const std::vector<SizedUnit>& input() const { return input_; }
    [[nodiscard]] const std::vector<SizedUnit>& output() const { return output_; }

    /// Writes a unit of the input.
    void write(const SizedUnit& unit, std::uint64_t batch, std::byte* to) const;
    /// Returns true if `found` is the expected unit output()[index].
    [[nodiscard]] bool is_expected(std::size_t index, std::uint64_t batch,
                                   const std::byte* found) const;

    // The following functions handle all units, in a buffer without gaps.
    void write(std::uint64_t batch, std::byte* to) const;
    [[nodiscard]] bool is_expected(std::uint64_t batch, const std::byte* found) const;
    [[nodiscard]] std::size_t input_bytes() const { return bytes_of(input_); }
    [[nodiscard]] std::size_t output_bytes() const { return bytes_of(output_); }

  private:
    [[nodiscard]] std::size_t bytes_of(const std::vector<SizedUnit>& units) const;

    CallFacts facts_;
    Rank rank_;
    std::vector<SizedUnit> input_;
    std::vector<SizedUnit> output_;
    std::vector<plan::Expectation> expected_;  ///< for each unit of output_
};

}  // namespace weft::oracle
