// SPDX-License-Identifier: BSD-3-Clause
// Goal: exchanges with several segments in flight give right results for every order of delivery,
// also if segments reuse the copies of slots several times.
// Method: calls with adversarial delivery run for random layouts and sizes, in place and not.
// Negative controls: the same programs with too few copies of slots, or without credits, give a
// wrong result for some seed.
#include <gtest/gtest.h>

#include <functional>

#include "plan/schedule/step.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/generate_all.hpp"
#include "tests/support/survives.hpp"

namespace weft::test {
namespace {

struct Exchange {
    const char* collective;
    const char* algorithm;
    Rank ranks;
    std::uint32_t segments;
    bool has_credits = false;
};
constexpr Exchange kExchanges[] = {
    {"allreduce", "recursive-doubling", 6, 19},
    {"allreduce", "a2,a2", 4, 17},
    {"allreduce", "c4m2,a2,e4m2", 4, 13},
    {"allreduce", "halving-doubling", 4, 17},
    {"allreduce", "binary-blocks", 7, 17},
    {"allreduce", "ring", 5, 11},
    {"allreduce", "generalized", 5, 17},
    {"allreduce", "reduce-broadcast", 5, 18},
    {"allgather", "bruck", 5, 17},
    {"broadcast", "scatter-allgather", 4, 13},
    {"reduce_scatter", "pairwise", 4, 13},
    {"scan", "recursive-doubling", 5, 17, true},
};

std::vector<plan::Program> generate(const Exchange& exchange) {
    const auto ranks = static_cast<std::uint64_t>(exchange.ranks);
    return generate_all(exchange.collective, exchange.algorithm,
                        {.size = exchange.ranks,
                         .root = collectives::is_rooted(exchange.collective) ? 1 : plan::kNoRank,
                         .segments = exchange.segments,
                         .elements = ranks * exchange.segments});
}

bool survives(const Exchange& exchange, const std::vector<plan::Program>& programs,
              std::uint64_t seeds, std::string* why = nullptr) {
    return test::survives(programs, collectives::contract(exchange.collective),
                          {.seeds = seeds, .commutes = true, .why = why});
}

TEST(Segments, InFlightGiveRightResults) {
    for (const Exchange& exchange : kExchanges) {
        const std::vector<plan::Program> programs = generate(exchange);
        ASSERT_GE(programs.front().window(), 2U) << exchange.algorithm;
        ASSERT_GT(exchange.segments, programs.front().depth) << "copies are reused";
        std::string why;
        EXPECT_TRUE(survives(exchange, programs, full_mode() ? 400 : 30, &why))
            << exchange.collective << ' ' << exchange.algorithm << ": " << why;
    }
}

/// Expects a wrong result after a change of all programs.
void expect_wrong(const Exchange& exchange, const std::function<void(plan::Program&)>& change) {
    std::vector<plan::Program> programs = generate(exchange);
    for (plan::Program& program : programs) change(program);
    EXPECT_FALSE(survives(exchange, programs, 60))
        << exchange.collective << ' ' << exchange.algorithm;
}

TEST(Segments, NeedACopyOfEachSlotForEachSegmentInFlight) {
    for (const Exchange& exchange : kExchanges)
        expect_wrong(exchange, [](plan::Program& program) { program.depth = 1; });
}

TEST(Segments, NeedTheirCredits) {
    int changed = 0;
    for (const Exchange& exchange : kExchanges) {
        if (!exchange.has_credits) continue;
        ++changed;
        expect_wrong(exchange, [](plan::Program& program) {
            // A wait is skipped in the first `lag` segments, so this change skips all waits.
            for (plan::Step& step : program.steps)
                if (step.kind == plan::StepKind::wait && step.lag != 0)
                    step.lag = static_cast<std::uint16_t>(program.segments);
        });
    }
    EXPECT_EQ(changed, 1);
}

}  // namespace
}  // namespace weft::test
