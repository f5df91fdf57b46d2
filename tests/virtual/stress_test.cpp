// SPDX-License-Identifier: BSD-3-Clause
// Goal: the engine keeps the bank rule, never hangs and gives right results whatever the network does.
// Method: random scripts of mixed calls on overlapping teams, on a virtual network, seed after seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "tests/support/full_mode.hpp"
#include "tests/support/script.hpp"

namespace weft::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSlowdown = 20;
#else
constexpr std::uint64_t kSlowdown = 1;
#endif

/// How many operations to make where `usual` are meant: more on request, fewer under a sanitizer.
std::uint64_t effort(std::uint64_t usual) {
    return usual / kSlowdown * (full_mode() ? 20 : 1);
}

std::vector<int> draw_layout(base::Random& random, Rank ranks) {
    const std::uint64_t kind = random.below(3);  // one node, all far, mixed
    std::vector<int> nodes;
    for (Rank rank = 0; rank < ranks; ++rank) {
        const int mixed = static_cast<int>(random.below(3));
        nodes.push_back(kind == 0 ? 0 : kind == 1 ? rank : mixed);
    }
    return nodes;
}

VirtualProfile draw_profile(base::Random& random) {
    VirtualProfile profile;
    profile.lands_at_target = random.chance(1, 2);
    profile.delay_max = static_cast<std::uint32_t>(random.below(100));
    profile.straggler_percent = static_cast<std::uint32_t>(random.below(8));
    profile.refuse_percent = static_cast<std::uint32_t>(random.below(40));
    profile.refuse_half_percent = static_cast<std::uint32_t>(random.below(20));
    profile.copy_percent = static_cast<std::uint32_t>(random.below(100));
    profile.events_max = 4 + static_cast<std::uint32_t>(random.below(30));
    return profile;
}

std::vector<Rank> draw_members(base::Random& random, Rank ranks) {
    std::vector<Rank> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    for (std::size_t i = members.size() - 1; i > 0; --i)
        std::swap(members[i], members[random.below(i + 1)]);
    members.resize(2 + random.below(static_cast<std::uint64_t>(ranks) - 1));
    return members;
}

base::RegionShape draw_shape(base::Random& random) {
    constexpr std::uint32_t kBanks[] = {4, 8, 128};
    return {.cells = 64,
            .banks = kBanks[random.below(3)],
            .bulk_banks = 4,
            .bulk_bytes = std::uint64_t{16384} << random.below(2)};
}

std::string draw_allreduce(base::Random& random, Rank ranks) {
    if (random.chance(1, 2)) return "recursive-doubling";
    switch (ranks) {
        case 4:
            return random.chance(1, 2) ? "a4" : "a2,a2";
        case 5:
            return random.chance(1, 2) ? "a5" : "c2m2,a4,e2m2";
        case 6:
            return random.chance(1, 2) ? "a2,a3" : "a3,a2";
        case 7:
            return random.chance(1, 2) ? "c6m2,a2,a2,e6m2" : "m1g2a3,n1g3a2";
        case 8:
            return random.chance(1, 2) ? "a4,a2" : "a8";
        case 9:
            return "a3,a3";
        default:
            return fmt::format("a{}", ranks);
    }
}

CallPlan draw_call(base::Random& random, Rank ranks) {
    constexpr std::uint64_t kElements[] = {1, 2, 3, 9, 40, 70};
    CallPlan plan;
    plan.elements = kElements[random.below(6)];
    plan.algebra = random.chance(1, 2) ? Algebra::sum64 : Algebra::affine;
    plan.localized = random.chance(3, 4);
    if (random.chance(1, 3)) plan.segments = 2 + static_cast<std::uint32_t>(random.below(5));
    const std::uint64_t kind = random.below(10);
    if (kind == 0) {
        plan.collective = "barrier";
        plan.algorithm = random.chance(1, 3) ? "central" : "dissemination";
        plan.elements = 0;
        plan.segments = 1;
    } else if (kind < 4) {
        plan.collective = "allreduce";
        plan.algorithm = draw_allreduce(random, ranks);
    } else {
        plan.collective = "broadcast";
        plan.algorithm = random.chance(1, 2) ? "binomial" : "flat";
        plan.root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks)));
        if (kind == 9) plan.elements = 0;
    }
    return plan;
}

base::Tick draw_first_tick(base::Random& random) {
    return random.chance(1, 3) ? base::kTickMask - random.below(60) : 1 + random.below(1000);
}

struct Trial {
    std::uint64_t seed = 0;
    std::size_t calls = 0;
    bool streams = false;  ///< nothing but calls that are not synchronizing
};

/// What trials did, added up.
struct Done {
    std::uint64_t made = 0;       ///< operations
    std::size_t outstanding = 0;  ///< operations of one rank at one moment, at most
};

/// Runs one random script.
void run_trial(const Trial& trial, Done& so_far) {
    base::Random random = base::Random(trial.seed).stream(3);
    const auto ranks = static_cast<Rank>(2 + random.below(8));
    VirtualJob job({.segment_bytes = 4 << 20,
                    .node_of_rank = draw_layout(random, ranks),
                    .seed = trial.seed,
                    .profile = draw_profile(random)});
    const std::uint64_t teams = 1 + random.below(3);
    std::deque<TeamCall> palette;
    for (std::uint64_t i = 0; i < teams; ++i) {
        std::vector<Rank> members = draw_members(random, ranks);
        if (i == 0) {
            members.resize(static_cast<std::size_t>(ranks));
            std::iota(members.begin(), members.end(), 0);
        }
        const VirtualTeam& team = job.add_team({.members = members,
                                                .shape = draw_shape(random),
                                                .first_tick = draw_first_tick(random)});
        for (int shape = 0; shape < 6; ++shape) {
            CallPlan plan = draw_call(random, team.size());
            if (trial.streams && plan.collective != "broadcast") continue;
            palette.push_back(bind_call(job, team, plan));
        }
    }
    if (palette.empty()) return;
    std::vector<const TeamCall*> calls;
    for (std::size_t i = 0; i < trial.calls; ++i)
        calls.push_back(&palette[random.below(palette.size())]);
    ScriptOptions options{.seed = trial.seed};
    options.lookahead = 1 + static_cast<std::uint32_t>(random.below(40));
    options.outstanding_max = random.chance(1, 4) ? 400 : 20;
    options.block_percent = random.chance(1, 3) ? 0 : static_cast<std::uint32_t>(random.below(60));
    const ScriptOutcome outcome = Script(job, calls, options).run();
    for (const std::string& error : outcome.errors) ADD_FAILURE() << error;
    if (!job.watch().violations().empty())
        ADD_FAILURE() << "seed " << trial.seed << ": " << to_text(job.watch().violations().front());
    so_far.made += calls.size();
    so_far.outstanding = std::max(so_far.outstanding, outcome.outstanding);
}

TEST(Stress, MixedCallsOnOverlappingTeamsKeepTheBankRule) {
    Done done;
    for (std::uint64_t seed = 1; done.made < effort(70'000) && !HasFailure(); ++seed)
        run_trial({.seed = seed, .calls = seed % 10 == 0 ? 900U : 120U}, done);
    RecordProperty("outstanding", static_cast<int>(done.outstanding));
    EXPECT_GE(done.outstanding, 100U);
}

TEST(Stress, StreamsOfBroadcastsFromChangingRootsKeepTheBankRule) {
    Done done;
    for (std::uint64_t seed = 100'001; done.made < effort(30'000) && !HasFailure(); ++seed)
        run_trial({.seed = seed, .calls = 300, .streams = true}, done);
    RecordProperty("outstanding", static_cast<int>(done.outstanding));
    EXPECT_GE(done.outstanding, 100U);
}

}  // namespace
}  // namespace weft::test
