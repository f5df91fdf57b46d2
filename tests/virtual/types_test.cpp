// SPDX-License-Identifier: BSD-3-Clause
// Goal: elements of every size and kind are reduced rightly whatever the network does. Method:
// calls with one type of each kind follow each other on the virtual wire, in one piece and in
// several, for some sizes of teams, layouts and seeds; inputs and outputs are the same memory in
// half of the calls.
#include <gtest/gtest.h>

#include <deque>

#include "collectives/registry.hpp"
#include "tests/support/draw_calls.hpp"
#include "tests/support/script.hpp"

namespace weft::test {
namespace {

/// The name of an algorithm that has programs for these ranks; they take turns.
std::string fitting(const char* collective, const plan::Layout& layout, std::size_t turn) {
    std::vector<std::string> fit;
    for (const std::string& text : collectives::specs_to_try(collective)) {
        const auto spec = collectives::parse_spec(text);
        const Rank root = collectives::is_rooted(collective) ? 0 : plan::kNoRank;
        if (collectives::generate(
                collective, *spec,
                {.size = layout.size(), .root = root, .elements = 1, .layout = layout}))
            fit.push_back(text);
    }
    return fit.at(turn % fit.size());
}

void run_types(std::uint64_t seed) {
    SCOPED_TRACE(seed);
    base::Random random(seed);
    const auto size = static_cast<Rank>(2 + random.below(6));
    std::vector<int> nodes(static_cast<std::size_t>(size), 0);
    for (int& node : nodes) node = static_cast<int>(random.below(3));
    VirtualProfile profile;
    profile.lands_at_target = random.chance(1, 2);
    profile.refuse_half_percent = 20;
    VirtualJob job(
        {.segment_bytes = 2 << 20, .node_of_rank = nodes, .seed = seed, .profile = profile});
    const VirtualTeam& team =
        job.add_team({.shape = {.cells = 32, .banks = 4, .bulk_banks = 4, .bulk_bytes = 32768}});
    std::deque<TeamCall> palette;
    for (const Algebra algebra : kTypedAlgebras) {
        for (const char* collective : {"allreduce", "reduce", "reduce_scatter", "scan", "exscan"}) {
            palette.push_back(bind_call(
                job, team,
                {.collective = collective,
                 .algorithm = fitting(collective, plan::Layout::of(nodes), seed + palette.size()),
                 .elements = static_cast<std::uint64_t>(size) * (1 + random.below(20)),
                 .algebra = algebra,
                 .root = collectives::is_rooted(collective) ? static_cast<Rank>(seed) % size
                                                            : plan::kNoRank}));
        }
    }
    const auto calls = draw_script(random, palette, 80);
    const ScriptOutcome outcome = Script(job, calls, {.seed = seed, .in_segment = true}).run();
    for (const std::string& error : outcome.errors) ADD_FAILURE() << error;
}

TEST(Types, OneOfEachKindIsRightOnTheVirtualWire) {
    for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) run_types(seed);
}

}  // namespace
}  // namespace weft::test
