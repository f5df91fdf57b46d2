// SPDX-License-Identifier: BSD-3-Clause
// Goal: all simulation engines give the same times, to the picosecond.
// Method: random schedules, sizes, models, noise, skew and topologies from a printed seed. The
// structured and the folded engine do not support all calls, and must support a minimum number.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "collectives/notation/enumerate.hpp"
#include "plan/schedule/builder.hpp"
#include "plan/schedule/localize.hpp"
#include "plan/schedule/step.hpp"
#include "schedules.hpp"
#include "simulated_call.hpp"

namespace weft::lab::test {
namespace {

using base::Random;

/// Returns 0 or a random time below the limit.
Time random_time(Random& random, Time limit) {
    return random.chance(1, 3) ? 0
                               : static_cast<Time>(random.below(static_cast<std::uint64_t>(limit)));
}

SimulationInputs random_inputs(Random& random, Rank size) {
    SimulationInputs setup;
    const ModelParameters parameters{.model = static_cast<WireModel>(random.below(4)),
                                     .latency = random_time(random, 1'000'000),
                                     .issue = random_time(random, 300'000),
                                     .overhead = random_time(random, 300'000),
                                     .gap = random_time(random, 400'000),
                                     .reduce = random_time(random, 50'000),
                                     .byte_fs = random_time(random, 900'000),
                                     .reduce_byte_fs = random_time(random, 90'000)};
    setup.model = message_model(parameters);
    setup.model.slot = random_time(random, 300'000);
    setup.model.cell_bytes = 48;
    if (random.chance(1, 4)) {
        const char* const specs[] = {"two-level:ranks=3,near=20", "fat-tree:radix=4,hop=30",
                                     "dragonfly:routers=3,nodes=2,hop=10,global=70",
                                     "torus:dims=5x5x4,hop=9"};
        const auto topology = Topology::parse(specs[random.below(4)], parameters.latency, size);
        EXPECT_TRUE(topology.ok()) << topology.failure().text;
        setup.network = std::make_shared<Topology>(*topology);
    }
    if (random.chance(1, 4))
        setup.noise = Noise(static_cast<Distribution>(random.below(3)), 40'000, random());
    if (random.chance(1, 4))
        setup.starts = {{static_cast<Rank>(random.below(static_cast<std::uint64_t>(size))),
                         static_cast<Time>(random.below(3'000'000))}};
    return setup;
}

/// Numbers of calls that each of the engines that read stages has supported.
struct Supported {
    int structured = 0;
    int folded = 0;
};

/// Expects that every engine that supports the call agrees with the generic engine.
void expect_agreement(const SimulatedCall& call, const SimulationInputs& setup,
                      Supported& supported, const std::string& what) {
    const Outcome reference = generic(call, setup);
    expect_equal(events(call, setup), reference, "events, " + what);
    const Stages stages = stages_of(call);
    if (const auto outcome = simulate_structured(stages, size_of(call), setup)) {
        ++supported.structured;
        expect_equal(*outcome, reference, "structured, " + what);
        EXPECT_EQ(outcome->events, reference.events) << what;
    }
    if (const auto outcome = simulate_folded(stages, size_of(call), setup)) {
        ++supported.folded;
        expect_equal(*outcome, reference, "folded, " + what);
    }
}

TEST(Engines, AgreeOnRandomSchedules) {
    constexpr std::uint64_t kSeed = 2024;
    constexpr int kSchedules = 1200;
    const Random seeds(kSeed);
    Supported supported;
    for (int trial = 0; trial < kSchedules && !HasFailure(); ++trial) {
        Random random = seeds.stream(static_cast<std::uint64_t>(trial));
        const SimulatedCall call =
            random_call(random, {.ranks_max = 79, .calls_per_segmented = 20});
        expect_agreement(
            call, random_inputs(random, call.request.size), supported,
            fmt::format("seed {} trial {}: {} of {}", kSeed, trial, call.spec, call.request.size));
    }
    EXPECT_GE(supported.structured, 1000);
    EXPECT_GE(supported.folded, 250);
}

TEST(Engines, AgreeOnTwoWayCostsAndBursts) {
    const Random seeds(17);
    for (int trial = 0; trial < 300 && !HasFailure(); ++trial) {
        Random random = seeds.stream(static_cast<std::uint64_t>(trial));
        SimulatedCall call = random_call(random, {.ranks_max = 40, .calls_per_segmented = 4});
        if (random.chance(1, 3))
            call = {
                .collective = "broadcast",
                .spec = "double-tree:segments=4",
                .request = {
                    .size = 2 + static_cast<Rank>(random.below(30)), .root = 0, .elements = 40}};
        SimulationInputs setup = random_inputs(random, call.request.size);
        setup.model.two_way = random_time(random, 300'000);
        setup.model.two_way_byte_fs = random_time(random, 300'000);
        setup.model.free_messages = 1 + static_cast<std::uint32_t>(random.below(4));
        setup.model.pipeline = random_time(random, 200'000);
        setup.model.saturation = random_time(random, 200'000);
        expect_equal(events(call, setup), generic(call, setup),
                     fmt::format("trial {}: {}", trial, call.spec));
    }
}

TEST(Engines, AgreeOnEverySmallScheduleWithoutNesting) {
    Supported supported;
    int schedules = 0;
    for (Rank size = 2; size <= 16; ++size) {
        for (const auto family :
             {collectives::ScheduleFamily::factored, collectives::ScheduleFamily::split,
              collectives::ScheduleFamily::merged}) {
            collectives::for_each_schedule(size, family, [&](const auto& schedule) {
                const SimulatedCall call{
                    .spec = collectives::print(schedule),
                    .request = {.size = size, .elements = 1, .element_bytes = 8}};
                expect_agreement(call, paper(), supported, call.spec);
                ++schedules;
                return !HasFailure();
            });
        }
    }
    EXPECT_GT(schedules, 500);
    EXPECT_EQ(supported.structured, schedules);
    EXPECT_EQ(supported.folded, schedules);
}

TEST(Engines, AgreeOnShiftsOfAnySizeAndReach) {
    Random random(7);
    Supported supported;
    for (int trial = 0; trial < 60; ++trial) {
        const SimulatedCall call{.collective = "barrier",
                                 .spec = fmt::format("dissemination:k={}", 1 + random.below(6)),
                                 .request = {.size = 2 + static_cast<Rank>(random.below(90))}};
        expect_agreement(call, random_inputs(random, call.request.size), supported, call.spec);
    }
}

TEST(Engines, AgreeOnSchedulesWithoutData) {
    Supported supported;
    for (const auto& [size, spec] : std::vector<std::pair<Rank, std::string>>{
             {8, "a2,a4"}, {7, "c6m2,a2,a2,e6m2"}, {9, "c9m9,e9m9"}, {11, "m2g3a3,n2g3a3"}})
        expect_agreement({.collective = "barrier",
                          .spec = "multiplying:schedule=(" + spec + ")",
                          .request = {.size = size}},
                         paper(), supported, spec);
    EXPECT_EQ(supported.structured, 4);
    EXPECT_EQ(supported.folded, 4);
}

TEST(Engines, StructuredAndFoldedAgreeOnManyRanks) {
    const SimulationInputs setup = paper();
    const std::string ten_stages = ",a3,a3,a3,a3,a3,a3,a3,a3,a3,a3,";
    for (const auto& [size, spec] : std::vector<std::pair<Rank, std::string>>{
             {1'000'000, "a4,a4,a4,a5,a5,a5,a5,a5,a5"},
             {1'000'003, "c951430m2,a8,a8,a8,a8,a8,a4,a4,e951430m2"},
             {1'000'007, "m7g250000a4,a4,a4,a5,a5,a5,a5,a5,n7g200000a5"},
             {1'000'000, "m468559g177147a3" + ten_stages + "n468559g177147a3"}}) {
        const SimulatedCall call{.spec = spec,
                                 .request = {.size = size, .elements = 1, .element_bytes = 8}};
        const auto parsed = collectives::parse_spec(spec);
        ASSERT_TRUE(parsed.ok());
        const auto stages = collectives::generate_stages("allreduce", *parsed, call.request);
        ASSERT_TRUE(stages.ok()) << stages.failure().text;
        const auto structured = simulate_structured(*stages, size_of(call), setup);
        const auto folded = simulate_folded(*stages, size_of(call), setup);
        ASSERT_TRUE(structured.ok());
        ASSERT_TRUE(folded.ok()) << spec << ": " << folded.failure().text;
        expect_equal(*folded, *structured, spec);
    }
}

TEST(Engines, AgreeOnTreesPipelinesAndPublishedCells) {
    Random random(11);
    for (const char* spec : {"binomial", "flat", "binomial:segments=4"}) {
        for (Rank size = 2; size <= 20; ++size) {
            SimulatedCall call{.collective = "broadcast",
                               .spec = spec,
                               .request = {.size = size,
                                           .root = static_cast<Rank>(
                                               random.below(static_cast<std::uint64_t>(size))),
                                           .elements = 10,
                                           .element_bytes = 8}};
            const SimulationInputs setup = random_inputs(random, size);
            expect_equal(events(call, setup), generic(call, setup), spec);
            std::vector<Program> programs = programs_of(call);
            for (Program& program : programs)
                program = localize(program,
                                   [&program](Rank peer) { return peer / 4 == program.rank / 4; });
            const ImagePart part = image_of(programs, call, setup);
            const auto by_events = simulate_events({&part, 1}, setup);
            const auto by_generic = simulate_generic({&part, 1}, setup);
            ASSERT_TRUE(by_events.ok() && by_generic.ok());
            expect_equal(*by_events, *by_generic, spec);
        }
    }
}

TEST(Engines, WaitsForUnsentMessagesAreReported) {
    SimulatedCall call{.spec = "a2,a2", .request = {.size = 4, .elements = 1}};
    std::vector<Program> programs = programs_of(call);
    for (Step& step : programs[2].steps)
        if (step.kind == StepKind::put) step.signal = 0;  // both puts have the same number
    const SimulationInputs setup = paper();
    const ImagePart part = image_of(programs, call, setup);
    for (const auto& outcome :
         {simulate_generic({&part, 1}, setup), simulate_events({&part, 1}, setup)}) {
        ASSERT_FALSE(outcome.ok());
        EXPECT_NE(outcome.failure().text.find("waits for an unsent message"), std::string::npos);
    }
}

TEST(Engines, SeparateImagePartsGiveTheSameResult) {
    const SimulatedCall call{.spec = "m3g4a3,n3g3a4", .request = {.size = 15, .elements = 1}};
    const SimulationInputs setup = paper();
    const std::vector<Program> programs = programs_of(call);
    std::vector<ImagePart> parts;
    for (std::size_t first = 0; first < programs.size(); first += 4)
        parts.push_back(image_of(
            std::span(programs).subspan(first, std::min<std::size_t>(4, programs.size() - first)),
            call, setup));
    const auto outcome = simulate_generic(parts, setup);
    ASSERT_TRUE(outcome.ok());
    expect_equal(*outcome, generic(call, setup), "in four parts");
}

}  // namespace
}  // namespace weft::lab::test
