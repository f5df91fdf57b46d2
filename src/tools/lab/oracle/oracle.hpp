// SPDX-License-Identifier: BSD-3-Clause
// oracle.hpp - expected result of a collective call: inputs of a rank, and elements of its output.
//
// Idea     The contract of a collective states which inputs each unit of an output reduces or
//          copies. A unit is a block, or the whole buffer in calls without blocks. Samples define
//          every input. The expected elements are folded serially, in rank order, one tile at a
//          time, without any algorithm or message.
// Why      `weft bench`, its MPI counterparts and the tests check results by this computation.
// Holds    Memory grows with the number of blocks, not with their size.
// Next     samples.hpp for the elements; plan/schedule/contract.hpp for contracts.
#pragma once

#include <functional>
#include <vector>

#include "collectives/collective_traits.hpp"
#include "plan/schedule/contract.hpp"
#include "tools/lab/oracle/samples.hpp"

namespace weft::oracle {

/// A call as made by all members of a team.
struct CallFacts {
    Collective collective = Collective{};
    const Samples* samples = nullptr;
    Op op = Op::sum;
    Rank size = 1;
    Rank root = plan::kNoRank;
    /// Returns the elements of a unit of a rank's input. The rank matters where only sender and
    /// receiver know the size.
    std::function<std::uint64_t(Rank rank, std::uint32_t unit)> count;
};

/// A unit of a rank's buffer, and its number of elements.
struct SizedUnit {
    std::uint32_t unit = 0;
    std::uint64_t count = 0;
};

/// Returns true if `found` is the reduction, in rank order, of the elements of first_rank ..
/// last_rank in this range. range.rank is ignored.
[[nodiscard]] bool holds_reduction(const Samples& samples, Op op, Rank first_rank, Rank last_rank,
                                   SampleRange range, const std::byte* found);

class Oracle {
  public:
    Oracle(CallFacts facts, Rank rank);

    [[nodiscard]] const CallFacts& facts() const { return facts_; }
    [[nodiscard]] const collectives::CollectiveTraits& traits() const {
        return collectives::traits_of(facts_.collective);
    }
    [[nodiscard]] Rank rank() const { return rank_; }
    /// Return the units of this rank's input and output.
    [[nodiscard]] const std::vector<SizedUnit>& input() const { return input_; }
    [[nodiscard]] const std::vector<SizedUnit>& output() const { return output_; }

    /// Writes a unit of the input.
    void write(const SizedUnit& unit, std::uint64_t batch, std::byte* to) const;
    /// Returns true if `found` is the expected unit output()[index].
    [[nodiscard]] bool holds(std::size_t index, std::uint64_t batch, const std::byte* found) const;

    /// Do the same for a buffer of contiguous units.
    void write(std::uint64_t batch, std::byte* to) const;
    [[nodiscard]] bool holds(std::uint64_t batch, const std::byte* found) const;
    [[nodiscard]] std::size_t input_bytes() const { return bytes_of(input_); }
    [[nodiscard]] std::size_t output_bytes() const { return bytes_of(output_); }

  private:
    [[nodiscard]] std::size_t bytes_of(const std::vector<SizedUnit>& units) const;

    CallFacts facts_;
    Rank rank_;
    std::vector<SizedUnit> input_;
    std::vector<SizedUnit> output_;
    std::vector<plan::Expectation> expected_;  ///< of the blocks of the output
};

}  // namespace weft::oracle
