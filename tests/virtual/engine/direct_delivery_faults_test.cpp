// SPDX-License-Identifier: BSD-3-Clause
// Goal: direct delivery into buffers on other nodes gives right results for every delivery order.
// Programs that the verifier rejects give wrong results.
// Method: ranks on virtual nodes make many calls over the virtual network, and with the real wire
// over a virtual fabric with each notify strategy. Then programs run with one wait removed, or with
// ranks that expose their memory too early, each rank on its own node.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/full_mode.hpp"
#include "tests/support/survives.hpp"
#include "tests/virtual/engine/direct_specs.hpp"

namespace weft::test {
namespace {

using plan::Program;
using plan::Step;
using plan::StepKind;
using Programs = std::vector<Program>;

constexpr std::uint64_t kElements = 240;

/// Runs one random script of `count` calls of correct programs. Each error fails the test.
void run_correct_programs(VirtualJob& job, base::Random& random, std::size_t count) {
    const VirtualTeam& team =
        job.add_team({.shape = {.cells = 64, .banks = 8, .bulk_banks = 4, .bulk_bytes = 32768}});
    for (const std::string& error : errors_of_random_script(job, team, direct_delivery_specs(),
                                                            /*in_order=*/false, random, count))
        ADD_FAILURE() << "seed " << job.network().seed() << ": " << error;
}

VirtualOptions draw_options(base::Random& random, std::uint64_t seed) {
    const auto ranks = static_cast<Rank>(2 + random.below(5));
    std::vector<int> nodes(static_cast<std::size_t>(ranks));
    for (Rank rank = 0; rank < ranks; ++rank) nodes[static_cast<std::size_t>(rank)] = rank;
    if (random.chance(1, 3)) nodes = draw_layout(random, ranks);
    return {.segment_bytes = 8 << 20, .node_of_rank = nodes, .seed = seed};
}

TEST(DirectDeliveryFaults, UnchangedProgramsAreRight) {
    const std::uint64_t wanted = kSlow ? 1'000 : full_mode() ? 1'000'000 : 20'000;
    std::uint64_t made = 0;
    for (std::uint64_t seed = 1; made < wanted && !HasFailure(); ++seed) {
        constexpr std::size_t kCalls = 200;
        base::Random random = base::Random(seed).stream(12);
        VirtualOptions options = draw_options(random, seed);
        options.profile.refuse_percent = static_cast<std::uint32_t>(random.below(40));
        VirtualJob job(options);
        run_correct_programs(job, random, kCalls);
        made += kCalls;
    }
    RecordProperty("operations", static_cast<int>(made));
}

TEST(DirectDeliveryFaults, UnchangedProgramsAreRightWithEachNotification) {
    FabricSetting in_order = counted_setting();
    in_order.conduct.keeps_order = true;
    in_order.completion = base::RemoteCompletion::ordered;
    const FabricSetting settings[] = {counted_setting(), delivered_setting(), ordered_setting(),
                                      ordered_cells_setting(), in_order};
    const std::uint64_t seeds = kSlow ? 1 : full_mode() ? 200 : 6;
    for (const FabricSetting& setting : settings) {
        std::uint64_t seen = 0;
        for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
            base::Random random = base::Random(seed).stream(13);
            FabricSetting hard = setting;
            hard.conduct = harden(setting.conduct, random);
            hard.conduct.flagged_parts_max =
                setting.notify.large == link::Notify::immediate ? seed % 4 : 0;
            hard.conduct.copied_bytes = seed % 3 * 40;
            hard.conduct.paced_bytes = seed % 5 * 24;
            VirtualJob job(draw_options(random, seed), hard);
            run_correct_programs(job, random, 60);
            seen += job.notify_watch()->checked();
            for (const EarlyFlag& early : job.notify_watch()->early())
                ADD_FAILURE() << "seed " << seed << ": " << to_text(early);
        }
        EXPECT_GT(seen, 0U);
    }
}

// --- faults --------------------------------------------------------------------------------------

/// Removes the first wait for a step of this kind. Returns false if no wait exists.
bool drop_wait_for(Programs& programs, StepKind kind) {
    for (const Program& sender : programs) {
        for (const Step& step : sender.steps) {
            if (step.kind != kind) continue;
            Program& waiter = programs[static_cast<std::size_t>(step.peer)];
            const auto wait = std::ranges::find_if(waiter.steps, [&](const Step& other) {
                return other.kind == StepKind::wait && other.signal == step.signal &&
                       other.peer == sender.rank;
            });
            if (wait == waiter.steps.end()) continue;
            erase_step(waiter, static_cast<std::size_t>(wait - waiter.steps.begin()));
            return true;
        }
    }
    return false;
}

/// Makes a put use the peer's previously exposed address, or none.
bool put_without_address(Programs& programs) {
    return drop_wait_for(programs, StepKind::expose);
}
/// Makes a rank return, or continue, before its payload has arrived.
bool skip_payload(Programs& programs) {
    return drop_wait_for(programs, StepKind::put);
}
/// Makes each rank expose its memory at the start, before its reductions have read that memory.
/// Returns false if no program reduces before it exposes.
bool expose_early(Programs& programs) {
    bool planted = false;
    for (Program& program : programs) {
        const auto expose =
            std::ranges::find(program.steps, StepKind::expose, &Step::kind) - program.steps.begin();
        const auto reduce =
            std::ranges::find(program.steps, StepKind::reduce, &Step::kind) - program.steps.begin();
        if (reduce >= expose || expose >= std::ssize(program.steps)) continue;
        const Step step = program.steps[static_cast<std::size_t>(expose)];
        program.steps.erase(program.steps.begin() + expose);
        program.steps.insert(program.steps.begin(), step);
        planted = true;
    }
    return planted;
}

struct Fault {
    const char* name;
    bool (*plant)(Programs& programs);
    int least;  ///< minimum number of affected specs
    bool runs;  ///< false: not executed, as its puts may write anywhere
};
constexpr Fault kFaults[] = {
    {"a put before its target's address is known", &put_without_address, 8, false},
    {"a rank that does not wait for its payload", &skip_payload, 8, true},
    {"memory exposed before its rank is done with it", &expose_early, 1, true},
};

TEST(DirectDeliveryFaults, RefusedProgramsGiveWrongResults) {
    for (const Fault& fault : kFaults) {
        int planted = 0;
        for (const DirectSpec& spec : direct_delivery_specs()) {
            Programs programs = programs_of(spec, 4, kElements);
            if (!fault.plant(programs)) continue;
            ++planted;
            EXPECT_FALSE(verdict_on(spec, programs, kElements).valid)
                << spec.collective << " " << spec.text << ": " << fault.name;
            if (!fault.runs) continue;
            // Harmless: a block arrives only after all ranks have sent their parts of it.
            if (fault.plant == &expose_early && spec.text.starts_with("pairwise-ring")) continue;
            EXPECT_FALSE(survives(programs, collectives::contract(spec.collective),
                                  {.seeds = 100, .elements = kElements, .own_nodes = true}))
                << spec.collective << " " << spec.text << ": " << fault.name;
        }
        EXPECT_GE(planted, fault.least) << fault.name;
    }
}

}  // namespace
}  // namespace weft::test
