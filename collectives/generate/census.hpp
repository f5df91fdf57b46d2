// SPDX-License-Identifier: BSD-3-Clause
// census.hpp - rounds that combine the values of any number of members in any radix.
//
// Idea     Each member keeps two sums, a and b. Both start as its value, and n as the number of
//          members. Invariant: the result of a member is its a plus the b of the n - 1 members
//          before it, cyclically. In a round a member sends b to up to radix - 1 others. It adds
//          all received data to b and a part of it to a, so that the invariant then holds for
//          ceil(n / radix) in place of n. The sum a is the result when n = 1.
// Source   Bar-Noy, Kipnis and Schieber, Optimal computation of census functions in the postal
//          model, here in any radix.
// Holds    Each member adds in an order that starts with itself, so floating-point results may
//          differ. A single round combines in the order of members.
// Next     allreduce/census.cpp; families/multi_object_small.cpp, whose members are nodes.
#pragma once

#include <algorithm>
#include <utility>

#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

struct CensusRound {
    Rank terms_of_a = 1;  ///< terms of the new a: the old a and the data of terms_of_a - 1 messages
    bool last = false;    ///< after it a is the result, so b is not computed
    std::vector<Rank> distances;  ///< from sender to receiver, by message

    /// Returns true if sum a includes the data of a message.
    [[nodiscard]] bool adds_to_a(Rank message) const { return message + 1 < terms_of_a; }
};

/// Returns the rounds that combine `members` members.
[[nodiscard]] inline std::vector<CensusRound> census_rounds(Rank members, Rank radix) {
    std::vector<CensusRound> rounds;
    for (Rank n = members; n > 1;) {
        const Rank next = (n - 1) / radix + 1;
        CensusRound round{.terms_of_a = n - (next - 1) * radix, .last = next == 1};
        const Rank terms = round.terms_of_a;
        for (Rank j = 1; j < (round.last ? terms : radix); ++j)
            round.distances.push_back(j < terms ? j * next
                                                : terms * next + (j - terms) * (next - 1) - 1);
        rounds.push_back(round);
        n = next;
    }
    return rounds;
}

/// Buffers of a member's two sums; one buffer while the sums are equal.
class CensusSums {
  public:
    CensusSums(BlockWriter& writer, plan::Block value) : writer_(writer), a_(value), b_(value) {}

    void start_from(const plan::Block& value) { a_ = b_ = value; }

    [[nodiscard]] const plan::Block& sent() const { return b_; }
    [[nodiscard]] const plan::Block& result() const { return a_; }

    /// Adds the data of a round, by message.
    void add(const CensusRound& round, const std::vector<plan::Block>& received) {
        const bool differ = !(a_ == b_);
        std::vector<plan::Block> for_a{a_};
        std::vector<plan::Block> for_b{b_};
        for (std::size_t message = 0; message < received.size(); ++message) {
            for_b.push_back(received[message]);
            if (round.adds_to_a(static_cast<Rank>(message))) for_a.push_back(received[message]);
        }
        if (!round.last && (differ || for_a.size() < for_b.size())) {
            b_ = writer_.scratch(0, 0);
            writer_->reduce(b_, for_b);
            a_ = sum(for_a);
        } else {
            a_ = sum(for_a);
            if (!differ) b_ = a_;
        }
    }
    /// Like add(), but adds in the order of members; for a single round.
    void add_in_order(const CensusRound& round, const std::vector<plan::Block>& received,
                      Rank member, Rank members) {
        std::vector<std::pair<Rank, plan::Block>> values{{member, a_}};
        for (std::size_t message = 0; message < received.size(); ++message)
            values.emplace_back((member - round.distances[message] + members) % members,
                                received[message]);
        std::ranges::sort(values, {}, &std::pair<Rank, plan::Block>::first);
        std::vector<plan::Block> operands;
        for (const auto& [from, block] : values) operands.push_back(block);
        a_ = sum(operands);
    }

  private:
    /// Adds operands into the output. A single operand is returned unchanged.
    plan::Block sum(const std::vector<plan::Block>& operands) {
        if (operands.size() == 1) return operands.front();
        writer_->reduce(writer_.output(0), operands);
        return writer_.output(0);
    }

    BlockWriter& writer_;
    plan::Block a_;
    plan::Block b_;
};

}  // namespace weft::collectives
