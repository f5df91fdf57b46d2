// SPDX-License-Identifier: BSD-3-Clause
// Goal: all simulation engines give the same times, to the picosecond.
// Method: random schedules, sizes, models, noise, skew and topologies from a printed seed. The
// structured and the folded engine do not support all calls, and must support a minimum number.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "ask.hpp"
#include "base/random.hpp"
#include "collectives/notation/enumerate.hpp"
#include "plan/schedule/builder.hpp"
#include "plan/schedule/localize.hpp"
#include "plan/schedule/step.hpp"
#include "schedules.hpp"

namespace weft::lab::test {
namespace {

using base::Random;

Time some_time(Random& random, Time most) {
    return random.chance(1, 3) ? 0
                               : static_cast<Time>(random.below(static_cast<std::uint64_t>(most)));
}

Surroundings some_surroundings(Random& random, Rank size) {
    Surroundings around;
    const ModelParameters parameters{.model = static_cast<WireModel>(random.below(4)),
                                     .latency = some_time(random, 1'000'000),
                                     .issue = some_time(random, 300'000),
                                     .overhead = some_time(random, 300'000),
                                     .gap = some_time(random, 400'000),
                                     .reduce = some_time(random, 50'000),
                                     .byte_fs = some_time(random, 900'000),
                                     .reduce_byte_fs = some_time(random, 90'000)};
    around.model = message_model(parameters);
    around.model.slot = some_time(random, 300'000);
    around.model.cell_bytes = 48;
    if (random.chance(1, 4)) {
        const char* const specs[] = {"two-level:ranks=3,near=20", "fat-tree:radix=4,hop=30",
                                     "dragonfly:routers=3,nodes=2,hop=10,global=70",
                                     "torus:dims=5x5x4,hop=9"};
        const auto topology = Topology::parse(specs[random.below(4)], parameters.latency, size);
        EXPECT_TRUE(topology.ok()) << topology.failure().text;
        around.network = std::make_shared<Topology>(*topology);
    }
    if (random.chance(1, 4))
        around.noise = make_noise(static_cast<Distribution>(random.below(3)), 40'000, random());
    if (random.chance(1, 4))
        around.starts = {{static_cast<Rank>(random.below(static_cast<std::uint64_t>(size))),
                          static_cast<Time>(random.below(3'000'000))}};
    return around;
}

/// Numbers of calls that the engines that read stages have simulated.
struct Answers {
    int structured = 0;
    int folded = 0;
};

/// Expects that every engine that supports the call agrees with the generic engine.
void expect_agreement(const Question& question, const Surroundings& around, Answers& answers,
                      const std::string& what) {
    const Outcome reference = generic(question, around);
    expect_equal(events(question, around), reference, "events, " + what);
    const Stages stages = stages_of(question);
    if (const auto outcome = simulate_structured(stages, size_of(question), around)) {
        ++answers.structured;
        expect_equal(*outcome, reference, "structured, " + what);
        EXPECT_EQ(outcome->events, reference.events) << what;
    }
    if (const auto outcome = simulate_folded(stages, size_of(question), around)) {
        ++answers.folded;
        expect_equal(*outcome, reference, "folded, " + what);
    }
}

TEST(Engines, AgreeOnRandomSchedules) {
    constexpr std::uint64_t kSeed = 2024;
    constexpr int kSchedules = 1200;
    const Random seeds(kSeed);
    Answers answers;
    for (int trial = 0; trial < kSchedules && !HasFailure(); ++trial) {
        Random random = seeds.stream(static_cast<std::uint64_t>(trial));
        const Question question = some_question(random, {.ranks_max = 79, .one_segmented_in = 20});
        expect_agreement(question, some_surroundings(random, question.request.size), answers,
                         fmt::format("seed {} trial {}: {} of {}", kSeed, trial, question.spec,
                                     question.request.size));
    }
    EXPECT_GE(answers.structured, 1000);
    EXPECT_GE(answers.folded, 250);
}

TEST(Engines, AgreeOnEverySmallScheduleWithoutNesting) {
    Answers answers;
    int schedules = 0;
    for (Rank size = 2; size <= 16; ++size) {
        for (const auto family :
             {collectives::ScheduleFamily::factored, collectives::ScheduleFamily::split,
              collectives::ScheduleFamily::merged}) {
            collectives::for_each_schedule(size, family, [&](const auto& schedule) {
                const Question question{
                    .spec = collectives::print(schedule),
                    .request = {.size = size, .elements = 1, .element_bytes = 8}};
                expect_agreement(question, paper(), answers, question.spec);
                ++schedules;
                return !HasFailure();
            });
        }
    }
    EXPECT_GT(schedules, 500);
    EXPECT_EQ(answers.structured, schedules);
    EXPECT_EQ(answers.folded, schedules);
}

TEST(Engines, AgreeOnShiftsOfAnySizeAndReach) {
    Random random(7);
    Answers answers;
    for (int trial = 0; trial < 60; ++trial) {
        const Question question{.collective = "barrier",
                                .spec = fmt::format("dissemination:k={}", 1 + random.below(6)),
                                .request = {.size = 2 + static_cast<Rank>(random.below(90))}};
        expect_agreement(question, some_surroundings(random, question.request.size), answers,
                         question.spec);
    }
}

TEST(Engines, AgreeOnSchedulesWithoutData) {
    Answers answers;
    for (const auto& [size, spec] : std::vector<std::pair<Rank, std::string>>{
             {8, "a2,a4"}, {7, "c6m2,a2,a2,e6m2"}, {9, "c9m9,e9m9"}, {11, "m2g3a3,n2g3a3"}})
        expect_agreement({.collective = "barrier",
                          .spec = "multiplying:schedule=(" + spec + ")",
                          .request = {.size = size}},
                         paper(), answers, spec);
    EXPECT_EQ(answers.structured, 4);
    EXPECT_EQ(answers.folded, 4);
}

TEST(Engines, StructuredAndFoldedAgreeOnManyRanks) {
    const Surroundings around = paper();
    const std::string nines = ",a3,a3,a3,a3,a3,a3,a3,a3,a3,a3,";
    for (const auto& [size, spec] : std::vector<std::pair<Rank, std::string>>{
             {1'000'000, "a4,a4,a4,a5,a5,a5,a5,a5,a5"},
             {1'000'003, "c951430m2,a8,a8,a8,a8,a8,a4,a4,e951430m2"},
             {1'000'007, "m7g250000a4,a4,a4,a5,a5,a5,a5,a5,n7g200000a5"},
             {1'000'000, "m468559g177147a3" + nines + "n468559g177147a3"}}) {
        const Question question{.spec = spec,
                                .request = {.size = size, .elements = 1, .element_bytes = 8}};
        const auto parsed = collectives::parse_spec(spec);
        ASSERT_TRUE(parsed.ok());
        const auto stages = collectives::generate_stages("allreduce", *parsed, question.request);
        ASSERT_TRUE(stages.ok()) << stages.failure().text;
        const auto structured = simulate_structured(*stages, size_of(question), around);
        const auto folded = simulate_folded(*stages, size_of(question), around);
        ASSERT_TRUE(structured.ok());
        ASSERT_TRUE(folded.ok()) << spec << ": " << folded.failure().text;
        expect_equal(*folded, *structured, spec);
    }
}

TEST(Engines, AgreeOnTreesPipelinesAndPublishedCells) {
    Random random(11);
    for (const char* spec : {"binomial", "flat", "binomial:segments=4"}) {
        for (Rank size = 2; size <= 20; ++size) {
            Question question{.collective = "broadcast",
                              .spec = spec,
                              .request = {.size = size,
                                          .root = static_cast<Rank>(
                                              random.below(static_cast<std::uint64_t>(size))),
                                          .elements = 10,
                                          .element_bytes = 8}};
            const Surroundings around = some_surroundings(random, size);
            expect_equal(events(question, around), generic(question, around), spec);
            std::vector<Program> programs = programs_of(question);
            for (Program& program : programs)
                program = localize(program,
                                   [&program](Rank peer) { return peer / 4 == program.rank / 4; });
            const ImagePart part = image_of(programs, question, around);
            const auto by_time = simulate_events({&part, 1}, around);
            const auto by_waves = simulate_generic({&part, 1}, around);
            ASSERT_TRUE(by_time.ok() && by_waves.ok());
            expect_equal(*by_time, *by_waves, spec);
        }
    }
}

TEST(Engines, WaitsForUnsentMessagesAreReported) {
    Question question{.spec = "a2,a2", .request = {.size = 4, .elements = 1}};
    std::vector<Program> programs = programs_of(question);
    for (Step& step : programs[2].steps)
        if (step.kind == StepKind::put) step.signal = 0;  // both puts have the same number
    const Surroundings around = paper();
    const ImagePart part = image_of(programs, question, around);
    for (const auto& outcome :
         {simulate_generic({&part, 1}, around), simulate_events({&part, 1}, around)}) {
        ASSERT_FALSE(outcome.ok());
        EXPECT_NE(outcome.failure().text.find("waits for what is never sent"), std::string::npos);
    }
}

TEST(Engines, SeparateImagePartsGiveTheSameResult) {
    const Question question{.spec = "m3g4a3,n3g3a4", .request = {.size = 15, .elements = 1}};
    const Surroundings around = paper();
    const std::vector<Program> programs = programs_of(question);
    std::vector<ImagePart> parts;
    for (std::size_t first = 0; first < programs.size(); first += 4)
        parts.push_back(image_of(
            std::span(programs).subspan(first, std::min<std::size_t>(4, programs.size() - first)),
            question, around));
    const auto outcome = simulate_generic(parts, around);
    ASSERT_TRUE(outcome.ok());
    expect_equal(*outcome, generic(question, around), "in four parts");
}

}  // namespace
}  // namespace weft::lab::test
