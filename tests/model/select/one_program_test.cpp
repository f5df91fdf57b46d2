// SPDX-License-Identifier: BSD-3-Clause
// Goal: if all ranks have equal programs, a prediction from one program equals the prediction from
// all programs to the picosecond.
// Method: all candidates of all collectives on nodes of different sizes and with scattered ranks,
// with several costs of a reception.
#include "plan/select/one_program.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "collectives/registry.hpp"
#include "run/team/choice.hpp"

namespace weft::run {
namespace {

constexpr plan::Time kForever = std::numeric_limits<plan::Time>::max();

plan::Machine machine_of(std::vector<Rank> node_of) {
    plan::Machine machine = machine_over("verbs;ofi_rxm");
    machine.node_of = std::move(node_of);
    return machine;
}

/// Returns the node of each rank; `nodes` has the number of ranks of each node.
std::vector<Rank> uneven(const std::vector<Rank>& nodes) {
    std::vector<Rank> node_of;
    for (std::size_t node = 0; node < nodes.size(); ++node)
        node_of.insert(node_of.end(), static_cast<std::size_t>(nodes[node]),
                       static_cast<Rank>(node));
    return node_of;
}

/// Returns the node of each rank: round-robin over five nodes, from rank 40 on over three.
std::vector<Rank> scattered() {
    std::vector<Rank> node_of;
    for (Rank rank = 0; rank < 77; ++rank) node_of.push_back(rank < 40 ? rank % 5 : rank % 3);
    return node_of;
}

class OneProgram : public ::testing::Test {
  protected:
    void compare(const plan::Machine& machine) {
        const auto ranks = static_cast<Rank>(machine.node_of.size());
        for (const collectives::CollectiveTraits& traits : collectives::kCollectives) {
            if (traits.has_counts()) continue;
            for (const std::uint64_t elements : {1U, 8U * 77U * 66U, 9000U}) {
                const CallClass call{.collective = traits.name,
                                     .elements = traits.has_data() ? elements : 0,
                                     .element_bytes = 8};
                const auto candidates = candidates_for(machine, ranks, call, plan::Scope::all);
                ASSERT_TRUE(candidates.ok()) << traits.name;
                for (const plan::Candidate& candidate : *candidates)
                    compare(machine, candidate, vector_of(ranks, call));
            }
        }
    }
    void compare(const plan::Machine& machine, const plan::Candidate& candidate,
                 const plan::VectorSize& vector) {
        const auto ranks = static_cast<Rank>(machine.node_of.size());
        const auto quick = plan::by_one_program(machine, ranks, candidate, vector, kForever);
        if (!quick) return;
        const auto exact = plan::predict(machine, ranks, candidate, vector, {.exact = true});
        ASSERT_TRUE(exact.ok()) << candidate.algorithm;
        EXPECT_EQ(quick->time, exact->time) << candidate.algorithm << ' ' << vector.elements;
        EXPECT_EQ(quick->messages, exact->messages) << candidate.algorithm;
        found_.insert(candidate.algorithm);
        ++compared_;
    }

    std::set<std::string> found_;
    int compared_ = 0;
};

TEST_F(OneProgram, OneProgramGivesThePredictionOfAllPrograms) {
    for (const auto& node_of : {uneven({30, 1, 35}), uneven({20, 21, 22, 14}), scattered()}) {
        plan::Machine machine = machine_of(node_of);
        compare(machine);
        machine.near.receive = machine.far.receive = 0;
        compare(machine);
        machine.near.receive = machine.far.receive = 3'000'000;  // longer than sending takes
        compare(machine);
    }
    EXPECT_GT(compared_, 100);
    for (const char* const algorithm : {"direct", "bruck", "ring", "pairwise"})
        EXPECT_TRUE(found_.contains(algorithm)) << algorithm;
}

TEST_F(OneProgram, RanksWithDifferentProgramsAreNotPredictedByOne) {
    const plan::Machine machine = machine_of(uneven({30, 1, 35}));
    const CallClass call{.collective = "broadcast", .elements = 1, .element_bytes = 8};
    const auto candidates = candidates_for(machine, 66, call, plan::Scope::all);
    ASSERT_TRUE(candidates.ok());
    for (const plan::Candidate& candidate : *candidates)
        EXPECT_FALSE(plan::by_one_program(machine, 66, candidate, vector_of(66, call), kForever))
            << candidate.algorithm;
}

TEST_F(OneProgram, APredictionAboveTheCutoffIsALowerBound) {
    const plan::Machine machine = machine_of(uneven({30, 1, 35}));
    const CallClass call{.collective = "alltoall", .elements = 1, .element_bytes = 8};
    const auto candidates = candidates_for(machine, 66, call, plan::Scope::all);
    ASSERT_TRUE(candidates.ok());
    const auto direct = std::ranges::find(*candidates, "direct", &plan::Candidate::algorithm);
    ASSERT_NE(direct, candidates->end());
    const auto vector = vector_of(66, call);
    const auto whole = plan::by_one_program(machine, 66, *direct, vector, kForever);
    const auto cut_off = plan::by_one_program(machine, 66, *direct, vector, whole->time / 2);
    ASSERT_TRUE(whole && cut_off);
    EXPECT_GT(cut_off->time, whole->time / 2);
    EXPECT_LE(cut_off->time, whole->time);
}

}  // namespace
}  // namespace weft::run
