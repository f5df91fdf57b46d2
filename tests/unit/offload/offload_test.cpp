// SPDX-License-Identifier: BSD-3-Clause
// Goal: the descriptors of all ranks have the effect of the programs, for any start times and
// any order of delivery.
// Method: virtual NICs in one process execute the descriptors in an order drawn from a seed. Two
// controls change the plans, and must give wrong results.
#include "plan/offload/offload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/support/generate_all.hpp"

namespace weft::plan {
namespace {

using Bytes = std::vector<std::byte>;

struct Case {
    std::string collective;
    std::string algorithm;
    Rank ranks;
    std::uint64_t elements = 1;
    bool any_order = true;                   ///< operands may be combined in any order
    std::uint64_t combine_bytes_max = 4096;  ///< limit of a NIC for one combining message
    Rank root = kNoRank;
};

/// Returns the plans of all ranks. If offload is refused, returns none and sets `refusal`, or fails
/// the test if that is null.
std::vector<OffloadPlan> plans_of(const Case& shape, std::string* refusal = nullptr) {
    const auto programs = test::generate_all(
        shape.collective, shape.algorithm,
        {.size = shape.ranks, .root = shape.root, .elements = shape.elements, .element_bytes = 8});
    std::vector<OffloadPlan> plans;
    if (programs.empty()) return plans;
    Offloader offloader(
        [&](Rank rank) {
            return base::Result<Program>(programs.at(static_cast<std::size_t>(rank)));
        },
        {.elements = shape.elements,
         .element_bytes = 8,
         .any_order = shape.any_order,
         .combine_bytes_max = shape.combine_bytes_max});
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
        auto plan = offloader.plan_of(rank);
        if (!plan) {
            if (refusal != nullptr)
                *refusal = plan.failure().text;
            else
                ADD_FAILURE() << plan.failure().text;
            return {};
        }
        plans.push_back(*std::move(plan));
    }
    return plans;
}

/// The NICs of all ranks. Elements are doubles, combined by addition.
class Cards {
  public:
    Cards(const std::vector<OffloadPlan>& plans, const std::vector<std::vector<double>>& inputs,
          unsigned seed)
        : plans_(plans), inputs_(inputs), random_(seed) {
        for (const OffloadPlan& plan : plans) {
            Card& card = cards_.emplace_back();
            card.memory.resize(plan.memory_bytes);
            card.counts.resize(plan.stages());
            for (const OffloadCopy& fill : plan.fills)
                for (std::uint64_t i = 0; i < fill.count; ++i)
                    store(card, fill.offset + i * 8, -0.0);
        }
    }

    /// Runs until no event is possible. Returns true if some rank completed before all ranks had
    /// started.
    bool run() {
        bool early = false;
        while (step()) {
            const bool all_started = std::ranges::all_of(cards_, &Card::started);
            for (std::size_t rank = 0; rank < cards_.size(); ++rank)
                early = early || (!all_started && complete(rank));
        }
        return early;
    }
    [[nodiscard]] bool complete(std::size_t rank) const {
        return cards_[rank].started && cards_[rank].counts == plans_[rank].events &&
               cards_[rank].next_undone() == plans_[rank].descriptors.size();
    }
    [[nodiscard]] std::vector<double> output(std::size_t rank, std::uint64_t elements) const {
        std::vector<double> values(elements, -1);
        for (const OffloadCopy& copy : plans_[rank].outputs)
            std::memcpy(values.data() + copy.first, cards_[rank].memory.data() + copy.offset,
                        copy.count * 8);
        return values;
    }

  private:
    struct Card {
        Bytes memory;
        std::vector<std::uint64_t> counts;  ///< number of events, by stage
        std::vector<bool> begun;            ///< by descriptor
        bool started = false;
        [[nodiscard]] std::size_t next_undone() const {
            return static_cast<std::size_t>(std::ranges::find(begun, false) - begun.begin());
        }
    };
    struct Message {
        const Descriptor* descriptor;
        std::size_t from;
        Bytes data;
    };

    static double load(const Card& card, std::uint64_t offset) {
        double value = 0;
        std::memcpy(&value, card.memory.data() + offset, 8);
        return value;
    }
    static void store(Card& card, std::uint64_t offset, double value) {
        std::memcpy(card.memory.data() + offset, &value, 8);
    }
    void start(std::size_t rank) {
        Card& card = cards_[rank];
        card.started = true;
        card.begun.assign(plans_[rank].descriptors.size(), false);
        for (const OffloadCopy& copy : plans_[rank].inputs)
            std::memcpy(card.memory.data() + copy.offset, inputs_[rank].data() + copy.first,
                        copy.count * 8);
    }
    /// Delivers a message in flight.
    void deliver(std::size_t number) {
        const Message message = messages_[number];
        messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(number));
        const Descriptor& descriptor = *message.descriptor;
        Card& peer = cards_[static_cast<std::size_t>(descriptor.peer)];
        ASSERT_LE(descriptor.target + descriptor.bytes, peer.memory.size());
        for (std::uint64_t at = 0; at < descriptor.bytes; at += 8) {
            double value = 0;
            std::memcpy(&value, message.data.data() + at, 8);
            if (descriptor.combine) value = load(peer, descriptor.target + at) + value;
            store(peer, descriptor.target + at, value);
        }
        ++peer.counts.at(descriptor.counted - 1);
        if (descriptor.completes != 0) ++cards_[message.from].counts.at(descriptor.completes - 1);
    }
    /// Performs one possible event. Returns false if no event is possible.
    bool step() {
        struct Choice {
            std::size_t rank;
            std::size_t descriptor;  ///< index, or the number of descriptors for the start
        };
        std::vector<Choice> choices;
        for (std::size_t rank = 0; rank < cards_.size(); ++rank) {
            const auto& descriptors = plans_[rank].descriptors;
            if (!cards_[rank].started) {
                choices.push_back({rank, descriptors.size()});
                continue;
            }
            for (std::size_t i = 0; i < descriptors.size(); ++i) {
                const OffloadStage after = descriptors[i].after;
                const bool ready =
                    after == 0 || cards_[rank].counts[after - 1] >= plans_[rank].events[after - 1];
                if (!cards_[rank].begun[i] && ready) choices.push_back({rank, i});
            }
        }
        const std::size_t all = choices.size() + messages_.size();
        if (all == 0) return false;
        const std::size_t drawn = random_() % all;
        if (drawn >= choices.size()) {
            deliver(drawn - choices.size());
            return true;
        }
        const Choice choice = choices[drawn];
        const auto& descriptors = plans_[choice.rank].descriptors;
        if (choice.descriptor == descriptors.size()) {
            start(choice.rank);
            return true;
        }
        const Descriptor& descriptor = descriptors[choice.descriptor];
        cards_[choice.rank].begun[choice.descriptor] = true;
        const auto source =
            cards_[choice.rank].memory.begin() + static_cast<std::ptrdiff_t>(descriptor.source);
        messages_.push_back(
            {&descriptor, choice.rank,
             Bytes(source, source + static_cast<std::ptrdiff_t>(descriptor.bytes))});
        return true;
    }

    const std::vector<OffloadPlan>& plans_;
    const std::vector<std::vector<double>>& inputs_;
    std::mt19937 random_;
    std::vector<Card> cards_;
    std::vector<Message> messages_;
};

double sample(Rank rank, std::uint64_t element) {
    return static_cast<double>((rank + 1) * 1000) + static_cast<double>(element);
}

std::vector<std::vector<double>> inputs_of(const Case& shape) {
    std::vector<std::vector<double>> inputs(static_cast<std::size_t>(shape.ranks));
    for (Rank rank = 0; rank < shape.ranks; ++rank)
        for (std::uint64_t e = 0; e < shape.elements; ++e)
            inputs[static_cast<std::size_t>(rank)].push_back(sample(rank, e));
    return inputs;
}

/// Returns an element of the result: of the root's input, or a sum.
double expected(const Case& shape, std::uint64_t element) {
    if (shape.root != kNoRank) return sample(shape.root, element);
    double sum = 0;
    for (Rank rank = 0; rank < shape.ranks; ++rank) sum += sample(rank, element);
    return sum;
}

void check(const Case& shape, unsigned seeds) {
    SCOPED_TRACE(shape.collective + " " + shape.algorithm + " " + std::to_string(shape.ranks));
    const auto plans = plans_of(shape);
    const auto inputs = inputs_of(shape);
    const bool synchronizes = shape.collective != "broadcast" && shape.ranks > 1;
    for (unsigned seed = 1; seed <= seeds && !testing::Test::HasFailure(); ++seed) {
        Cards cards(plans, inputs, seed);
        const bool early = cards.run();
        EXPECT_FALSE(synchronizes && early) << "seed " << seed;
        for (std::size_t rank = 0; rank < plans.size(); ++rank) {
            ASSERT_TRUE(cards.complete(rank)) << "rank " << rank << " seed " << seed;
            if (shape.collective == "barrier") continue;
            const auto output = cards.output(rank, shape.elements);
            for (std::uint64_t e = 0; e < shape.elements; ++e)
                ASSERT_EQ(output[e], expected(shape, e)) << rank << " " << e << " seed " << seed;
        }
    }
}

TEST(OffloadTest, DescriptorsGiveTheResultsOfTheirPrograms) {
    for (const Rank ranks : {1, 2, 3, 4, 5, 7, 8, 13}) {
        for (const char* algorithm : {"dissemination", "dissemination:k=3", "tree:k=2", "central"})
            check({"barrier", algorithm, ranks}, 10);
        for (const char* algorithm : {"binomial", "flat", "kary:k=3"})
            check({"broadcast", algorithm, ranks, 3, true, 4096, ranks - 1}, 10);
        for (const bool any_order : {true, false})
            for (const char* algorithm : {"reduce-broadcast", "recursive-doubling", "elimination"})
                check({"allreduce", algorithm, ranks, 3, any_order}, 10);
    }
    check({"allreduce", "a2,a4", 8, 5}, 20);
}

TEST(OffloadTest, LongBuffersAreSentInPieces) {
    check({"allreduce", "reduce-broadcast", 5, 7, true, 16}, 10);
    check({"allreduce", "recursive-doubling", 4, 7, false, 24}, 10);
    const auto whole = plans_of({"allreduce", "recursive-doubling", 4, 7});
    const auto pieces = plans_of({"allreduce", "recursive-doubling", 4, 7, true, 16});
    ASSERT_FALSE(whole.empty() || pieces.empty());
    EXPECT_EQ(whole[0].descriptors.size(), 4U);    // in two rounds a remote and a local operand
    EXPECT_EQ(pieces[0].descriptors.size(), 16U);  // 56 bytes in four pieces of two elements
}

/// Sums of values whose bits depend on the order of additions.
TEST(OffloadTest, AFixedOrderGivesEqualBitsForAnyArrivalOrder) {
    for (const char* algorithm : {"reduce-broadcast", "recursive-doubling"}) {
        const Case shape{"allreduce", algorithm, 8, 1, false};
        const auto plans = plans_of(shape);
        std::vector<std::vector<double>> inputs;
        for (Rank rank = 0; rank < shape.ranks; ++rank)
            inputs.push_back({1.0 / (1 + rank) * (rank % 3 == 0 ? 1e15 : 1)});
        std::uint64_t bits = 0;
        for (unsigned seed = 1; seed <= 50; ++seed) {
            Cards cards(plans, inputs, seed);
            cards.run();
            for (std::size_t rank = 0; rank < plans.size(); ++rank) {
                const auto found = std::bit_cast<std::uint64_t>(cards.output(rank, 1)[0]);
                if (bits == 0) bits = found;
                ASSERT_EQ(found, bits) << algorithm << " rank " << rank << " seed " << seed;
            }
        }
    }
}

/// Control: with operands combined in any order, the bits of such sums differ.
TEST(OffloadTest, AnUnorderedReductionGivesDifferentBits) {
    const Case shape{"allreduce", "reduce-broadcast", 8, 1, true};
    const auto plans = plans_of(shape);
    std::vector<std::vector<double>> inputs;
    for (Rank rank = 0; rank < shape.ranks; ++rank)
        inputs.push_back({1.0 / (1 + rank) * (rank % 3 == 0 ? 1e15 : 1)});
    std::vector<std::uint64_t> found;
    for (unsigned seed = 1; seed <= 50; ++seed) {
        Cards cards(plans, inputs, seed);
        cards.run();
        found.push_back(std::bit_cast<std::uint64_t>(cards.output(0, 1)[0]));
    }
    EXPECT_NE(*std::ranges::min_element(found), *std::ranges::max_element(found));
}

/// Control: without the events that make a stage wait for the previous stage, ranks complete too
/// early.
TEST(OffloadTest, ARankCompletesTooEarlyWithoutEventsBetweenStages) {
    auto plans = plans_of({"barrier", "dissemination", 8});
    const std::vector<std::vector<double>> inputs(8);
    for (OffloadPlan& plan : plans)
        for (Descriptor& descriptor : plan.descriptors)
            if (descriptor.completes != 0) {
                --plan.events[descriptor.completes - 1];
                descriptor.completes = 0;
            }
    bool early = false;
    for (unsigned seed = 1; seed <= 200; ++seed) early = Cards(plans, inputs, seed).run() || early;
    EXPECT_TRUE(early);
}

/// The paper's formulas count each message that a rank sends, and each of its own operands.
TEST(OffloadTest, DescriptorCountsMatchTheFormulas) {
    for (const Rank ranks : {2, 4, 8, 16, 32}) {
        const auto rounds =
            static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks)) - 1);
        const auto most = [](const std::vector<OffloadPlan>& plans) {
            std::size_t count = 0;
            for (const OffloadPlan& plan : plans) count = std::max(count, plan.descriptors.size());
            return count;
        };
        EXPECT_EQ(most(plans_of({"barrier", "dissemination", ranks})), rounds);
        EXPECT_EQ(most(plans_of({"broadcast", "binomial", ranks, 1, true, 4096, 0})), rounds);
        EXPECT_EQ(most(plans_of({"allreduce", "recursive-doubling", ranks})), 2 * rounds);
    }
}

TEST(OffloadTest, UnsupportedProgramsAreRefusedWithTheReason) {
    std::string why;
    EXPECT_TRUE(plans_of({"broadcast", "chain:segments=4", 4, 16, true, 4096, 0}, &why).empty());
    EXPECT_NE(why.find("loop"), std::string::npos) << why;
    EXPECT_TRUE(plans_of({"allreduce", "halving-doubling", 8, 16}, &why).empty());
    EXPECT_NE(why.find("several places"), std::string::npos) << why;
    EXPECT_TRUE(
        plans_of({"broadcast", "binomial:into=vector", 4, 16, true, 4096, 0}, &why).empty());
    EXPECT_NE(why.find("in place"), std::string::npos) << why;
}

}  // namespace
}  // namespace weft::plan
