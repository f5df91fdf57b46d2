// SPDX-License-Identifier: BSD-3-Clause
// Goal: the bank watch reports the slots that a broken bank rule overwrites.
// Method: random scripts run under one broken rule at a time (faulty_windows.hpp). Some seed of a
// fixed range must show a violation; a lost credit must stop the team instead. Under the correct
// rule no seed may show a violation or stop the team; slow builds run a quarter of the seeds.
#include <gtest/gtest.h>

#include <deque>

#include "tests/support/draw_calls.hpp"
#include "tests/support/faulty_windows.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/script.hpp"

namespace weft::test {
namespace {

constexpr std::uint32_t kBanks = 4;
constexpr std::uint64_t kSeeds = 60;
constexpr std::size_t kSmallClass = 1;  ///< size class (RegionShape::small) of the small banks

/// Makes a bank rule for kBanks banks.
template <class Rule>
std::unique_ptr<run::Window> make_rule() {
    return std::make_unique<Rule>(kBanks);
}

/// A bank rule, broken or correct, and the banks that it manages. A broken rule is a negative
/// control.
struct BankRuleRun {
    std::uint32_t banks = kBanks;  ///< number in the region; `window` may assume a different one
    WindowMaker window;            ///< makes the broken rule; empty: the correct rule
    bool falsely_synchronizing = false;  ///< calls without data falsely claim to synchronize
    bool small = false;     ///< manages the small banks, for payloads that do not fit into a cell
    bool one_node = false;  ///< all ranks are local peers; credits replace barriers
};

TeamPlan team_of(const BankRuleRun& control) {
    TeamPlan plan;
    plan.shape = {.cells = 32, .banks = control.banks, .bulk_banks = 4, .bulk_bytes = 4096};
    if (!control.small) {
        plan.cell_window = control.window;
        return plan;
    }
    plan.shape.banks = 128;  // enough for the cells, so that only the small banks limit the calls
    plan.shape.small[kSmallClass] = {.banks = control.banks, .bytes = 256};
    plan.bulk_windows[kSmallClass] = control.window;
    return plan;
}

struct ControlOutcome {
    std::vector<Violation> violations;
    bool hung = false;
    std::vector<std::string> errors;  ///< expected under a broken rule
};

ControlOutcome run_control(const BankRuleRun& control, std::uint64_t seed) {
    base::Random random = base::Random(seed).stream(4);
    const auto ranks = static_cast<Rank>(3 + random.below(4));
    std::vector<int> nodes;
    for (Rank rank = 0; rank < ranks; ++rank) nodes.push_back(control.one_node ? 0 : rank);
    VirtualJob job({.segment_bytes = 4 << 20, .node_of_rank = nodes, .seed = seed});
    const VirtualTeam& team = job.add_team(team_of(control));
    const std::uint64_t elements = control.small ? 12 : 2;
    std::deque<TeamCall> palette;
    palette.push_back(bind_call(
        job, team, {.collective = "allreduce", .algorithm = "recursive-doubling", .elements = 1}));
    for (Rank root = 0; root < ranks; ++root)
        palette.push_back(bind_call(job, team,
                                    {.collective = "broadcast",
                                     .algorithm = "binomial",
                                     .elements = elements,
                                     .root = root}));
    for (int copies = 0; copies < 2; ++copies)
        palette.push_back(bind_call(job, team,
                                    {.collective = "allreduce",
                                     .algorithm = "recursive-doubling",
                                     .elements = 0,
                                     .falsely_synchronizing = control.falsely_synchronizing}));
    const auto calls = draw_script(random, palette, 80);
    const ScriptOutcome outcome = Script(job, calls, {.seed = seed, .block_percent = 10}).run();
    return {job.watch().violations(), outcome.hung, outcome.errors};
}

/// Returns the violations of the first seed that shows any; empty: no seed does.
std::vector<Violation> first_violations(const BankRuleRun& control) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        std::vector<Violation> violations = run_control(control, seed).violations;
        if (!violations.empty()) return violations;
    }
    return {};
}

void expect_caught(const BankRuleRun& control) {
    const std::vector<Violation> violations = first_violations(control);
    ASSERT_FALSE(violations.empty()) << kSeeds << " seeds show no violation";
    const Violation& first = violations.front();
    ::testing::Test::RecordProperty("violation", to_text(first));
    EXPECT_NE(to_text(first).find(fmt::format("{} {} bank {} of rank {} overwritten",
                                              control.small ? "bulk slot" : "cell", first.number,
                                              first.bank, first.owner)),
              std::string::npos)
        << to_text(first);
    EXPECT_EQ(first.bank, static_cast<std::uint32_t>(first.epoch) & (control.banks - 1));
    EXPECT_EQ((first.epoch - first.unfinished) % control.banks, 0);
    EXPECT_LT(first.unfinished, first.epoch);
}

TEST(Controls, TheCorrectRuleHasNoViolations) {
    const BankRuleRun wide{.window = &make_rule<WideWindow>};
    for (std::uint64_t seed = 1; seed <= (kSlow ? kSeeds / 4 : kSeeds); ++seed) {
        for (const BankRuleRun& control :
             {BankRuleRun{}, BankRuleRun{.banks = 8}, BankRuleRun{.small = true}, wide,
              BankRuleRun{.one_node = true}, BankRuleRun{.small = true, .one_node = true}}) {
            const ControlOutcome outcome = run_control(control, seed);
            ASSERT_TRUE(outcome.violations.empty())
                << "seed " << seed << ": " << to_text(outcome.violations.front());
            ASSERT_FALSE(outcome.hung) << "seed " << seed;
            ASSERT_TRUE(outcome.errors.empty())
                << "seed " << seed << ": " << outcome.errors.front();
        }
    }
}

TEST(Controls, OneBankInsteadOfFourIsCaught) {
    expect_caught({.banks = 1, .window = &make_rule<run::Window>});
}

TEST(Controls, OneSmallBankInsteadOfFourIsCaught) {
    expect_caught({.banks = 1, .window = &make_rule<run::Window>, .small = true});
}

TEST(Controls, ABarrierInsertedTooLateIsCaught) {
    expect_caught({.window = &make_rule<LateWindow>});
}

TEST(Controls, AWindowThatOnlyCountsIsCaught) {
    expect_caught({.window = &make_rule<CountingWindow>});
}

TEST(Controls, AWindowOneCallTooLargeIsCaught) {
    expect_caught({.window = &make_rule<GreedyWindow>, .small = true, .one_node = true});
}

TEST(Controls, CreditsForIncompleteCallsAreCaught) {
    expect_caught({.window = &make_rule<DoublingWindow>, .small = true, .one_node = true});
}

TEST(Controls, ALostCreditStopsTheTeam) {
    std::uint64_t hung = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const ControlOutcome outcome = run_control(
            {.window = &make_rule<LosingWindow>, .small = true, .one_node = true}, seed);
        EXPECT_TRUE(outcome.violations.empty()) << to_text(outcome.violations.front());
        hung += outcome.hung ? 1 : 0;
    }
    EXPECT_GT(hung, 0U);
}

TEST(Controls, EmptyCallsTreatedAsSynchronizingAreCaught) {
    expect_caught({.falsely_synchronizing = true});
}

}  // namespace
}  // namespace weft::test
