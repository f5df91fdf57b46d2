// SPDX-License-Identifier: BSD-3-Clause
// Goal: a team of thousands of ranks starts, and its calls are right.
// Method: one process runs the real engines of 1,024 ranks on 16 virtual nodes, or of 16,384 ranks
// on 128 nodes in the long form. Every rank's sum is checked, and the memory of a rank is printed.
// unit/runtime/segment_layout_test.cpp checks the layout of such jobs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "collectives/registry.hpp"
#include "run/bind/bind.hpp"
#include "run/reduce/reduce.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/resident_bytes.hpp"
#include "tests/support/virtual_job.hpp"

namespace weft::test {
namespace {

TEST(Scale, ALargeTeamGetsRightResults) {
    const auto ranks = static_cast<Rank>(full_mode() ? 16'384 : 1024);
    const Rank on_node = full_mode() ? 128 : 64;
    std::vector<int> nodes;
    for (Rank rank = 0; rank < ranks; ++rank) nodes.push_back(rank / on_node);
    const std::int64_t before = resident_bytes();
    const base::RegionShape shape{.cells = 128, .banks = 4, .bulk_banks = 4, .bulk_bytes = 64};
    VirtualJob job({.segment_bytes = shape.bytes() + (1 << 16),
                    .node_of_rank = nodes,
                    .seed = 1,
                    .profile = prompt_profile()});
    const VirtualTeam& team = job.add_team({.shape = shape});

    const run::Reducer reducer = run::select_isa("auto").value().reducer(Type::int64, Op::sum);
    const auto plain = *collectives::parse_spec("recursive-doubling");
    std::vector<std::int64_t> values(static_cast<std::size_t>(ranks), 1);
    std::deque<run::BoundProgram> programs;
    std::vector<run::Operation*> operations;
    for (Rank rank = 0; rank < ranks; ++rank) {
        auto program = collectives::generate(
            "allreduce", plain,
            {.rank = rank, .size = ranks, .elements = 1, .element_bytes = sizeof values[0]});
        ASSERT_TRUE(program) << program.failure().text;
        auto bound = run::bind(*std::move(program), {.elements = 1,
                                                     .element_bytes = sizeof values[0],
                                                     .call_hash = 1,
                                                     .description = "allreduce",
                                                     .shape = shape});
        ASSERT_TRUE(bound) << bound.failure().text;
        programs.push_back(*std::move(bound));
    }
    for (Rank rank = 0; rank < ranks; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        auto* const value = reinterpret_cast<std::byte*>(&values[at]);
        operations.push_back(
            &job.engine(rank).start(*team.states[at], programs[at], {value, value}, reducer));
    }
    std::size_t ended = 0;
    for (int round = 0; round < 1000 && ended < operations.size(); ++round) {
        ended = 0;
        for (Rank rank = 0; rank < ranks; ++rank) {
            static_cast<void>(job.engine(rank).poll());
            ended += operations[static_cast<std::size_t>(rank)]->ended() ? 1U : 0U;
        }
    }
    ASSERT_EQ(ended, operations.size());
    for (Rank rank = 0; rank < ranks; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        EXPECT_EQ(operations[at]->state, run::Operation::State::complete);
        EXPECT_EQ(values[at], ranks) << "rank " << rank;
        job.engine(rank).release(*operations[at]);
    }
    fmt::print("{} ranks: {} bytes a rank in this process, its segment included\n", ranks,
               (resident_bytes() - before) / ranks);
}

}  // namespace
}  // namespace weft::test
