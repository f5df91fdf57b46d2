// SPDX-License-Identifier: BSD-3-Clause
// Goal: the engine keeps the bank rule, never hangs, and gives right results for every delivery
// order. Method: for many seeds, random scripts make mixed calls on overlapping teams, on a virtual
// network.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "tests/support/draw_calls.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/script.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kSlowdown = kSlow ? 20 : 1;  ///< divides the number of calls

/// Some rank must have this number of calls in flight at some time: half of the largest number of
/// banks that draw_shape() returns.
constexpr std::size_t kOutstandingMin = 64;

/// Returns `usual`, scaled up in the full mode and down on slow builds.
std::uint64_t effort(std::uint64_t usual) {
    return usual / kSlowdown * (full_mode() ? 20 : 1);
}

struct Trial {
    std::uint64_t seed = 0;
    std::size_t calls = 0;
    bool only_broadcasts = false;  ///< which do not synchronize
};

/// Totals over trials.
struct Totals {
    std::uint64_t made = 0;       ///< number of calls made
    std::size_t outstanding = 0;  ///< maximum number of a rank's calls in flight
};

/// Runs one random script. Updates the totals.
void run_trial(const Trial& trial, Totals& totals) {
    base::Random random = base::Random(trial.seed).stream(3);
    const auto ranks = static_cast<Rank>(2 + random.below(8));
    VirtualJob job({.segment_bytes = 8 << 20,
                    .node_of_rank = draw_layout(random, ranks),
                    .seed = trial.seed,
                    .profile = draw_profile(random)});
    const std::uint64_t teams = 1 + random.below(3);
    std::deque<TeamCall> palette;
    for (std::uint64_t i = 0; i < teams; ++i) {
        std::vector<Rank> members = draw_members(random, ranks);
        if (i == 0) members.clear();  // all ranks, so that each rank is in a team
        const VirtualTeam& team = job.add_team({.members = members,
                                                .shape = draw_shape(random),
                                                .first_tick = draw_first_tick(random)});
        for (int entry = 0; entry < 6; ++entry) {
            CallPlan plan = draw_call(random, team.size());
            if (trial.only_broadcasts && plan.collective != "broadcast") continue;
            palette.push_back(bind_call(job, team, plan));
        }
    }
    if (palette.empty()) return;
    const auto calls = draw_script(random, palette, trial.calls);
    ScriptOptions options{.seed = trial.seed};
    options.lookahead = 1 + static_cast<std::uint32_t>(random.below(40));
    // Not random: some of the few trials with a sanitizer must have the large limit.
    options.outstanding_max = trial.seed % 4 == 0 ? 400 : 20;
    options.block_percent = random.chance(1, 3) ? 0 : static_cast<std::uint32_t>(random.below(60));
    const ScriptOutcome outcome = Script(job, calls, options).run();
    for (const std::string& error : outcome.errors) ADD_FAILURE() << error;
    totals.made += calls.size();
    totals.outstanding = std::max(totals.outstanding, outcome.outstanding);
}

/// Runs trials from seed `first` on until `calls_min` calls were made. WEFT_TESTS_SEED
/// selects a single trial.
void run_trials(std::uint64_t first, std::uint64_t calls_min, Trial (*trial_of)(std::uint64_t)) {
    Totals totals;
    if (const auto seed = seed_to_repeat()) return run_trial(trial_of(*seed), totals);
    for (std::uint64_t seed = first; totals.made < calls_min && !testing::Test::HasFailure();
         ++seed)
        run_trial(trial_of(seed), totals);
    testing::Test::RecordProperty("outstanding", static_cast<int>(totals.outstanding));
    if (testing::Test::HasFailure()) return;
    EXPECT_GE(totals.outstanding, kOutstandingMin) << "too few calls in flight to test the rule";
}

TEST(Stress, MixedCallsOnOverlappingTeamsKeepTheBankRule) {
    run_trials(1, effort(70'000), [](std::uint64_t seed) {
        return Trial{.seed = seed, .calls = seed % 10 == 0 ? 900U : 120U};
    });
}

TEST(Stress, StreamsOfBroadcastsFromChangingRootsKeepTheBankRule) {
    run_trials(100'001, effort(30'000), [](std::uint64_t seed) {
        return Trial{.seed = seed, .calls = 300, .only_broadcasts = true};
    });
}

}  // namespace
}  // namespace weft::test
