// SPDX-License-Identifier: BSD-3-Clause
// Goal: each notify strategy is right on every fabric that keeps the promises that the strategy
// needs, and fails on a fabric that breaks one of them.
// Method: the real wire and engine run random scripts on a virtual fabric that keeps only these
// promises and is otherwise as adversarial as possible; each flag is checked. With a broken promise
// some flag must be raised before its data has arrived, and the notify watch must name it.
#include <gtest/gtest.h>

#include <deque>
#include <numeric>

#include "tests/support/draw_calls.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/script.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kSlowdown = kSlow ? 10 : 1;  ///< divides the number of seeds
constexpr std::uint64_t kControlSeeds = 20;

/// A strategy and a fabric.
struct Setup {
    link::NotifyPlan plan;
    FabricConduct conduct;
    base::RemoteCompletion completion = base::RemoteCompletion::counted;
};

struct Outcome {
    std::vector<std::string> errors;
    std::vector<EarlyFlag> early;
    std::uint64_t flags = 0;  ///< number of checked flags of remote puts
    std::uint32_t banks = 0;
};

/// Returns a tick shortly before ticks wrap, or before the 28 tick bits of a word's tag wrap.
base::Tick draw_tick_near_a_wrap(base::Random& random) {
    constexpr base::Tick kTagTicks = base::Tick{1} << 28;
    if (random.chance(1, 2)) return draw_first_tick(random);
    return kTagTicks - random.below(40);
}

Outcome run_trial(const Setup& setup, std::uint64_t seed, std::size_t calls_made) {
    base::Random random = base::Random(seed).stream(5);
    const auto ranks = static_cast<Rank>(2 + random.below(6));
    std::vector<int> nodes(static_cast<std::size_t>(ranks));
    std::iota(nodes.begin(), nodes.end(), 0);
    if (random.chance(1, 3)) nodes = draw_layout(random, ranks);
    FabricConduct conduct = harden(setup.conduct, random);
    conduct.flagged_parts_max = seed % 4;
    conduct.copied_bytes = seed % 3 * 40;
    conduct.paced_bytes = seed % 5 * 24;
    VirtualJob job(
        {.segment_bytes = 1 << 20, .node_of_rank = nodes, .seed = seed},
        FabricSetting{.conduct = conduct, .notify = setup.plan, .completion = setup.completion});
    const std::uint32_t banks = random.chance(1, 2) ? 4 : 8;
    const VirtualTeam& team =
        job.add_team({.shape = {.cells = 64, .banks = banks, .bulk_banks = 4, .bulk_bytes = 32768},
                      .first_tick = draw_tick_near_a_wrap(random)});
    std::deque<TeamCall> palette;
    for (int shape = 0; shape < 6; ++shape)
        palette.push_back(bind_call(job, team, draw_call(random, ranks)));
    const auto calls = draw_script(random, palette, calls_made);
    ScriptOutcome script = Script(job, calls, {.seed = seed}).run();
    return {.errors = std::move(script.errors),
            .early = job.notify_watch()->early(),
            .flags = job.notify_watch()->checked(),
            .banks = banks};
}

void expect_right(const Setup& setup) {
    std::uint64_t flags = 0;
    const std::uint64_t seeds = (full_mode() ? 300 : 20) / kSlowdown;
    for (std::uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
        const Outcome outcome = run_trial(setup, seed, seed % 10 == 0 ? 300 : 60);
        for (const std::string& error : outcome.errors) ADD_FAILURE() << error;
        if (!outcome.early.empty())
            ADD_FAILURE() << "seed " << seed << ": " << to_text(outcome.early.front());
        flags += outcome.flags;
    }
    EXPECT_GT(flags, 100 * seeds) << to_text(setup.plan);
}

/// Expects that some seed raises a flag before its data has arrived, and that the watch names the
/// flag's cell.
void expect_caught(const Setup& setup) {
    for (std::uint64_t seed = 1; seed <= kControlSeeds; ++seed) {
        const Outcome outcome = run_trial(setup, seed, 12);
        if (outcome.early.empty()) continue;
        const EarlyFlag& first = outcome.early.front();
        ::testing::Test::RecordProperty("early", to_text(first));
        EXPECT_NE(to_text(first).find(fmt::format("cell {} bank {} of rank {}, epoch {}",
                                                  first.place.number, first.place.bank,
                                                  first.target, first.place.epoch)),
                  std::string::npos)
            << to_text(first);
        EXPECT_EQ(first.place.bank,
                  static_cast<std::uint32_t>(first.place.epoch) & (outcome.banks - 1));
        EXPECT_NE(first.origin, first.target);
        return;
    }
    ADD_FAILURE() << to_text(setup.plan) << ": " << kControlSeeds << " seeds show no early flag";
}

/// Returns the conduct of a fabric that keeps only these promises.
FabricConduct keeping(auto... promises) {
    FabricConduct conduct = kNoPromises;
    ((conduct.*promises = true), ...);
    return conduct;
}

struct Case {
    const char* name;
    Setup setup;
};
void PrintTo(const Case& shown, std::ostream* out) {
    *out << to_text(shown.setup.plan);
}
std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
    return info.param.name;
}

// --- A kept promise suffices --------------------------------------------------------------------

class Notify : public ::testing::TestWithParam<Case> {};

TEST_P(Notify, ResultsAreRightIfThePromiseIsKept) {
    expect_right(GetParam().setup);
}

constexpr auto kInOrder = base::RemoteCompletion::ordered;
constexpr auto kOrder = &FabricConduct::keeps_order;
constexpr auto kDelivery = &FabricConduct::keeps_delivery;
constexpr auto kFences = &FabricConduct::keeps_fences;
constexpr auto kWords = &FabricConduct::keeps_words;
constexpr auto kImmediates = &FabricConduct::keeps_immediates;
constexpr auto kCounters = &FabricConduct::keeps_counters;

INSTANTIATE_TEST_SUITE_P(
    Kept, Notify,
    ::testing::Values(
        Case{"ImmediatesAfterData", {both(link::Notify::immediate), keeping(kImmediates)}},
        Case{"WholeWordsWithImmediatesForLargePuts",
             {{link::Notify::cells, link::Notify::immediate}, keeping(kWords, kImmediates)}},
        Case{"WholeWordsWithDeliveryForLargePuts",
             {{link::Notify::cells, link::Notify::delivery}, keeping(kWords, kDelivery)}},
        Case{"CompletionsAfterDelivery", {both(link::Notify::delivery), keeping(kDelivery)}},
        Case{"FencesAndCompletionsAfterDelivery",
             {both(link::Notify::fence), keeping(kFences, kDelivery)}},
        Case{"CountersAndCompletionsAfterDelivery",
             {both(link::Notify::counter), keeping(kCounters, kDelivery)}},
        Case{"ImmediatesOfTheLastPieceInOrder",
             {both(link::Notify::immediate), keeping(kImmediates, kOrder), kInOrder}},
        Case{"OrderAcrossLocations", {both(link::Notify::ordered), keeping(kOrder)}},
        Case{"CellsOnAStreamThatCutsWords",
             {{link::Notify::cells, link::Notify::ordered}, keeping(kOrder)}}),
    name_of_case);

// --- A broken promise is detected ----------------------------------------------------------------

class NotifyControls : public ::testing::TestWithParam<Case> {};

TEST_P(NotifyControls, ABrokenPromiseIsCaught) {
    expect_caught(GetParam().setup);
}

INSTANTIATE_TEST_SUITE_P(
    Broken, NotifyControls,
    ::testing::Values(
        Case{"ImmediatesBeforeTheirData", {both(link::Notify::immediate), kNoPromises}},
        Case{"ImmediatesBeforeTheirDataForLargePuts",
             {{link::Notify::cells, link::Notify::immediate}, keeping(kWords)}},
        Case{"ImmediatesOfALastPieceThatOvertakes",
             {both(link::Notify::immediate), keeping(kImmediates, kWords), kInOrder}},
        Case{"TornWords", {{link::Notify::cells, link::Notify::immediate}, keeping(kImmediates)}},
        Case{"CompletionsBeforeDelivery", {both(link::Notify::delivery), keeping(kWords)}},
        Case{"FencesWithoutEffect", {both(link::Notify::fence), keeping(kDelivery, kWords)}},
        Case{"FencesWithCompletionsBeforeDelivery",
             {both(link::Notify::fence), keeping(kFences, kWords)}},
        Case{"WritesCountedBeforeDelivery",
             {both(link::Notify::counter), keeping(kDelivery, kWords)}},
        Case{"CountersReusedTooEarly", {both(link::Notify::counter), keeping(kCounters, kWords)}},
        Case{"PutsThatOvertake", {both(link::Notify::ordered), keeping(kWords)}}),
    name_of_case);

}  // namespace
}  // namespace weft::test
