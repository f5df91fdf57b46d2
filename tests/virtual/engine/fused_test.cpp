// SPDX-License-Identifier: BSD-3-Clause
// Goal: the fused form of a program gives bit for bit the result of its steps, also if only some
// ranks run the fused form. Rank threads use shared memory without a data race.
// Method: one thread for each rank makes the same calls on one node three times: by steps, fused,
// and with a random choice for each rank.
#include <gtest/gtest.h>

#include <deque>

#include "plan/schedule/step.hpp"
#include "tests/support/call.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/ranks_in_threads.hpp"

namespace weft::test {
namespace {

enum class Form : std::uint8_t { stepped, fused, mixed };

/// Calls of a job.
struct Plans {
    Rank ranks = 2;
    std::vector<CallPlan> calls;
    std::vector<std::size_t> order;  ///< indices into `calls`: the calls that each rank makes
    std::uint64_t seed = 1;
};

/// Returns true if input and output of a call may start at the same address.
bool may_be_in_place(const CallPlan& plan) {
    return plan.collective != "gather" && plan.collective != "scatter" &&
           plan.collective != "allgather" && plan.collective != "alltoall";
}

constexpr std::uint64_t kDeadlineNs = 60'000'000'000;

/// For each rank, the outputs of its calls, one after the other.
using Outputs = std::vector<std::vector<std::byte>>;

Outputs run_plans(const Plans& plans, Form form) {
    VirtualProfile profile = prompt_profile();
    profile.threads = true;
    VirtualJob job({.segment_bytes = 1 << 20,
                    .node_of_rank = std::vector<int>(static_cast<std::size_t>(plans.ranks), 0),
                    .seed = plans.seed,
                    .profile = profile},
                   {.timeout_ns = kDeadlineNs, .abort_on_timeout = true});
    const VirtualTeam& team =
        job.add_team({.shape = {.cells = 32, .banks = 8, .bulk_banks = 4, .bulk_bytes = 16384},
                      .barrier = "central"});
    base::Random random = base::Random(plans.seed).stream(6);
    std::deque<TeamCall> calls;
    for (CallPlan plan : plans.calls) {
        plan.fuse = form != Form::stepped;
        calls.push_back(bind_call(job, team, plan));
        for (run::BoundProgram& program : calls.back().programs) {
            EXPECT_EQ(program.fused.steps.empty(), form == Form::stepped || program.steps.empty())
                << program.description;
            if (form == Form::mixed && random.chance(1, 2)) program.fused = {};
        }
    }
    Outputs outputs(static_cast<std::size_t>(plans.ranks));
    std::vector<std::string> errors(static_cast<std::size_t>(plans.ranks));
    in_threads(job, [&](Rank rank) {
        const auto at = static_cast<std::size_t>(rank);
        for (std::size_t number = 0; number < plans.order.size(); ++number) {
            const TeamCall& call = calls[plans.order[number]];
            std::vector<std::byte> input(call.bytes());
            std::vector<std::byte> output(call.bytes());
            const bool in_place = (number + at) % 3 == 0 && may_be_in_place(call.plan);
            const Occurrence occurrence{plans.seed, number};
            fill_input(call, occurrence, rank, in_place ? output.data() : input.data());
            if (!job.engine(rank).run(
                    *team.states[at], call.programs[at],
                    {.input = in_place ? output.data() : input.data(), .output = output.data()},
                    call.reducer)) {
                errors[at] = job.engine(rank).failure().text;
                return;
            }
            if (call.plan.algebra != Algebra::sumf64) {
                errors[at] = check_output(call, occurrence, rank, output.data());
                if (!errors[at].empty()) return;
            }
            outputs[at].insert(outputs[at].end(), output.begin(), output.end());
        }
        job.engine(rank).drain();
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    return outputs;
}

/// Adds collectives that send single blocks, or move data in one direction: to a root, from a root,
/// or along the ranks.
void add_one_way(std::vector<CallPlan>& plans, Rank ranks) {
    const std::uint64_t blocks = 2 * static_cast<std::uint64_t>(ranks);
    for (Rank root = 0; root < ranks; ++root) {
        for (const char* collective : {"gather", "scatter"})
            plans.push_back(
                {.collective = collective, .algorithm = "flat", .elements = blocks, .root = root});
        plans.push_back({.collective = "reduce",
                         .algorithm = "flat",
                         .elements = 2,
                         .algebra = Algebra::affine,
                         .root = root});
    }
    for (const std::uint64_t elements : {std::uint64_t{8}, std::uint64_t{100}}) {
        plans.push_back({.collective = "allreduce",
                         .algorithm = fmt::format("a{}", ranks),
                         .elements = elements,
                         .algebra = Algebra::affine});
        plans.push_back({.collective = "reduce",
                         .algorithm = "flat",
                         .elements = elements,
                         .algebra = Algebra::sumf64,
                         .root = 0});
        plans.push_back(
            {.collective = "alltoall", .algorithm = "direct", .elements = elements * blocks});
        // In the next two, the value that a rank forwards differs from its result.
        plans.push_back({.collective = "exscan",
                         .algorithm = "linear",
                         .elements = elements,
                         .algebra = Algebra::affine});
        plans.push_back({.collective = "scan",
                         .algorithm = "recursive-doubling",
                         .elements = elements,
                         .algebra = Algebra::affine});
    }
    for (const char* collective : {"exscan", "scan"})
        plans.push_back({.collective = collective,
                         .algorithm = "linear",
                         .elements = 2,
                         .algebra = Algebra::affine});
    plans.push_back({.collective = "allgather", .algorithm = "direct", .elements = blocks});
    plans.push_back({.collective = "alltoall",
                     .algorithm = "direct",
                     .elements = blocks * static_cast<std::uint64_t>(ranks)});
}

std::vector<CallPlan> plans_for(Rank ranks) {
    std::vector<std::string> schedules{fmt::format("a{}", ranks), "recursive-doubling"};
    if (ranks == 4) schedules.push_back("a2,a2");
    if (ranks == 5) schedules = {"a5"};
    if (ranks == 6) schedules = {"a6", "a2,a3", "a3,a2"};
    std::vector<CallPlan> plans;
    for (const std::string& schedule : schedules) {
        if (schedule == "recursive-doubling" && (ranks & (ranks - 1)) != 0) continue;
        for (const Algebra algebra : {Algebra::sum64, Algebra::sumf64, Algebra::affine})
            for (const std::uint64_t elements : {1U, 3U})
                plans.push_back({.collective = "allreduce",
                                 .algorithm = schedule,
                                 .elements = elements,
                                 .algebra = algebra});
    }
    for (const Algebra algebra : kTypedAlgebras)
        for (const std::uint64_t elements : {1U, 3U})
            plans.push_back({.collective = "allreduce",
                             .algorithm = schedules.front(),
                             .elements = elements,
                             .algebra = algebra});
    for (Rank root = 0; root < ranks; ++root)
        plans.push_back({.collective = "broadcast",
                         .algorithm = root % 2 == 0 ? "flat" : "binomial",
                         .elements = 2,
                         .root = root});
    plans.push_back(
        {.collective = "barrier", .algorithm = fmt::format("dissemination:k={}", ranks - 1)});
    add_one_way(plans, ranks);
    return plans;
}

class Fused : public ::testing::TestWithParam<Rank> {};

TEST_P(Fused, FusedProgramsAgreeWithTheirSteps) {
    Plans plans{.ranks = GetParam(), .calls = plans_for(GetParam()), .order = {}, .seed = 11};
    base::Random random(plans.seed);
    for (int i = 0; i < (kSlow ? 600 : 3000); ++i)
        plans.order.push_back(random.below(plans.calls.size()));
    const Outputs stepped = run_plans(plans, Form::stepped);
    EXPECT_EQ(stepped, run_plans(plans, Form::fused));
    EXPECT_EQ(stepped, run_plans(plans, Form::mixed));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Fused, ::testing::Values(2, 3, 4, 5, 6));

}  // namespace
}  // namespace weft::test
