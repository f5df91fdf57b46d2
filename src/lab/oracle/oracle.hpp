// SPDX-License-Identifier: BSD-3-Clause
// oracle.hpp - what a collective call must give: the inputs of a rank, and the elements of its
// output.
//
// Idea     The contract of a collective says of which units of which ranks' inputs each unit of an
//          output is the reduction or a copy. Here a unit is a block, or the whole vector where
//          there are no blocks. Samples say what every input is; the expected elements are folded
//          serially, in rank order, a tile at a time. No algorithm and no message is known here.
// Why      `weft bench`, its MPI peers and the tests check results by this one computation.
// Holds    Memory grows with the number of blocks, not with their size.
// Next     samples.hpp for the elements; plan/schedule/contract.hpp for contracts.
#pragma once

#include <functional>
#include <vector>

#include "collectives/collective_traits.hpp"
#include "lab/oracle/samples.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::oracle {

/// A call as all members of a team make it.
struct CallFacts {
    Collective collective = Collective{};
    const Samples* samples = nullptr;
    Op op = Op::sum;
    Rank size = 1;
    Rank root = plan::kNoRank;
    /// Elements of a unit of a rank's input. They depend on the rank where only the two ends of a
    /// message know them.
    std::function<std::uint64_t(Rank rank, std::uint32_t unit)> count;
};

/// A unit of a rank's vector, and how many elements it has.
struct SizedUnit {
    std::uint32_t unit = 0;
    std::uint64_t count = 0;
};

/// Whether elements are the reduction, in rank order, of those of the ranks first_rank .. last_rank
/// in this range (whose own rank does not count).
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
    /// What this rank contributes, and what it gets; by unit.
    [[nodiscard]] const std::vector<SizedUnit>& input() const { return input_; }
    [[nodiscard]] const std::vector<SizedUnit>& output() const { return output_; }

    /// Writes a unit of the input.
    void write(const SizedUnit& unit, std::uint64_t batch, std::byte* to) const;
    /// Whether this is what a unit of the output, by its index in output(), must hold.
    [[nodiscard]] bool holds(std::size_t index, std::uint64_t batch, const std::byte* found) const;

    /// The same of a vector whose units follow each other.
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
