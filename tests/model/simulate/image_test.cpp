// SPDX-License-Identifier: BSD-3-Clause
// Goal: an image (the compact form of programs that engines simulate) agrees with its programs, for
// each method of building it. Engines get equal times from an image, also for many lanes and for
// times that exceed 32 bits.
// Method: random schedules as streams of steps and as programs; handwritten programs with known
// times.
#include "tools/simulate/image.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "plan/schedule/builder.hpp"
#include "plan/schedule/step.hpp"
#include "schedules.hpp"
#include "simulated_call.hpp"

namespace weft::lab::test {
namespace {

using base::Random;

bool operator==(const ImageLane& a, const ImageLane& b) {
    return a.rank == b.rank && a.lane == b.lane && a.first == b.first;
}

void expect_same_image(const ImagePart& a, const ImagePart& b, const std::string& what) {
    EXPECT_EQ(a.pieces().rows(), b.pieces().rows()) << what;
    EXPECT_EQ(a.pieces().words(), b.pieces().words()) << what;
    EXPECT_TRUE(std::ranges::equal(a.lanes(), b.lanes(), [](const auto& x, const auto& y) {
        return x == y;
    })) << what;
    EXPECT_TRUE(a.costs() == b.costs()) << what;
    EXPECT_EQ(a.keys(), b.keys()) << what;
    EXPECT_EQ(a.raises(), b.raises()) << what;
    EXPECT_EQ(a.waits(), b.waits()) << what;
}

ImagePart streamed(const SimulatedCall& call, const SimulationInputs& setup) {
    ImagePart part(setup.model, size_of(call));
    const Stages stages = stages_of(call);
    const auto added = add_programs(part, stages, 0, stages.size());
    EXPECT_TRUE(added.ok()) << added.failure().text;
    return part;
}

TEST(Image, StreamedStepsEqualTheProgram) {
    constexpr std::uint64_t kSeed = 77;
    const Random seeds(kSeed);
    SimulationInputs setup = paper();
    for (int trial = 0; trial < 400 && !HasFailure(); ++trial) {
        Random random = seeds.stream(static_cast<std::uint64_t>(trial));
        SimulatedCall call = random_call(random, {.ranks_max = 61, .calls_per_segmented = 4});
        call.request.segments = 1;  // stages describe one segment
        if (random.chance(1, 5)) {  // without data
            call.collective = "barrier";
            call.spec = random.chance(1, 2)
                            ? fmt::format("multiplying:schedule=({})", call.spec)
                            : fmt::format("dissemination:k={}", 1 + random.below(5));
        }
        const std::string what =
            fmt::format("seed {} trial {}: {} of {}", kSeed, trial, call.spec, call.request.size);
        const std::vector<Program> programs = programs_of(call);
        expect_same_image(streamed(call, setup), image_of(programs, call, setup), what);
    }
}

TEST(Image, RanksWithEqualRelativeStepsSharePieces) {
    const SimulationInputs setup = paper();
    const SimulatedCall call{.spec = "a4,a5,a5,a4,a5",
                             .request = {.size = 2000, .elements = 1, .element_bytes = 8}};
    const ImagePart part = streamed(call, setup);
    EXPECT_EQ(part.raises(), 2000U * (3 + 4 + 4 + 3 + 4));
    EXPECT_EQ(part.waits(), part.raises());
    EXPECT_EQ(part.pieces().rows().size(), 2000U * 5);
    std::vector<std::uint32_t> distinct = part.pieces().rows();
    std::ranges::sort(distinct);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    EXPECT_EQ(distinct.size(), 4U + 5 + 5 + 4 + 5) << "one for each position in a group";
}

TEST(Image, GenericAndStructuredAgreeOnManyBlocksOfLanes) {
    SimulationInputs setup = paper();
    setup.noise = Noise(Distribution::uniform, 50'000, 3);
    setup.starts = {{12'345, 700'000}};
    for (const auto& [size, spec] : std::vector<std::pair<Rank, std::string>>{
             {20'000, "a4,a4,a2,a5,a5,a5,a5"}, {20'007, "m7g5000a4,a4,a2,a5,a5,a5,n7g4000a5"}}) {
        const SimulatedCall call{.spec = spec,
                                 .request = {.size = size, .elements = 1, .element_bytes = 8}};
        const ImagePart part = streamed(call, setup);
        const auto generic = simulate_generic({&part, 1}, setup);
        const auto structured = simulate_structured(stages_of(call), size_of(call), setup);
        ASSERT_TRUE(generic.ok() && structured.ok());
        expect_equal(*generic, *structured, spec);
        EXPECT_EQ(generic->events, structured->events);
    }
}

/// Returns programs that pass a token from rank to rank, upwards or downwards.
std::vector<Program> chain(Rank size, bool upwards) {
    std::vector<Program> programs;
    for (Rank rank = 0; rank < size; ++rank) {
        Builder builder({.collective = "chain", .rank = rank, .size = size, .slots = 1});
        const Rank from = upwards ? rank - 1 : rank + 1;
        const Rank to = upwards ? rank + 1 : rank - 1;
        if (from >= 0 && from < size) builder.wait(from, 0);
        if (to >= 0 && to < size) builder.signal(to, 0);
        programs.push_back(std::move(builder).finish());
    }
    return programs;
}

TEST(Image, ChainsInBothDirectionsTakeEqualTime) {
    constexpr Rank kRanks = 10'000;
    const SimulationInputs setup = paper();
    const SimulatedCall call{.request = {.size = kRanks}};
    for (const bool upwards : {true, false}) {
        const ImagePart part = image_of(chain(kRanks, upwards), call, setup);
        const auto generic = simulate_generic({&part, 1}, setup);
        const auto events = simulate_events({&part, 1}, setup);
        ASSERT_TRUE(generic.ok() && events.ok());
        EXPECT_EQ(generic->makespan, Time{kRanks - 1} * 600'000);
        EXPECT_EQ(generic->earliest_finish, 100'000);
        expect_equal(*generic, *events, upwards ? "upwards" : "downwards");
    }
}

TEST(Image, TimesMayExceed32Bits) {
    for (const Time latency : {Time{1'000'000'000}, Time{4'294'967'000}, Time{900'000'000'000}}) {
        SimulationInputs setup = paper();
        setup.model = message_model({.latency = latency, .issue = 100'000, .reduce = 10'000});
        const SimulatedCall call{.spec = "a4,a3,a2,a2,a2,a2",
                                 .request = {.size = 192, .elements = 1, .element_bytes = 8}};
        const ImagePart part = streamed(call, setup);
        const auto generic = simulate_generic({&part, 1}, setup);
        ASSERT_TRUE(generic.ok());
        EXPECT_EQ(generic->makespan, 6 * latency + (3 + 2 + 4) * 100'000 + (3 + 2 + 4) * 10'000);
        expect_equal(*generic, events(call, setup), "events");
    }
}

TEST(Image, CellsAmongSignalsAreOneReception) {
    // Ranks 0 and 1 raise signals at rank 2, and rank 3 publishes. Rank 2 receives all
    // three in one reception.
    const SimulationInputs setup = [] {
        SimulationInputs noisy = paper();
        noisy.noise = Noise(Distribution::uniform, 50'000);
        return noisy;
    }();
    std::vector<Program> programs;
    for (Rank rank = 0; rank < 4; ++rank) {
        Builder builder({.collective = "mixed", .rank = rank, .size = 4, .slots = 3});
        if (rank < 2) builder.signal(2, static_cast<std::uint32_t>(rank));
        if (rank == 3) builder.publish(2);
        if (rank == 2) {
            builder.wait(0, 0);
            builder.wait(3, 2, kFromPublished);
            builder.wait(1, 1);
        }
        programs.push_back(std::move(builder).finish());
    }
    const SimulatedCall call{.request = {.size = 4}};
    const ImagePart part = image_of(programs, call, setup);
    EXPECT_EQ(part.waits(), 3U);
    EXPECT_EQ(part.raises(), 3U);
    EXPECT_EQ(part.pieces().rows().size(), 4U) << "rank 2 has a single reception";
    const auto generic = simulate_generic({&part, 1}, setup);
    const auto by_events = simulate_events({&part, 1}, setup);
    ASSERT_TRUE(generic.ok() && by_events.ok());
    EXPECT_EQ(generic->makespan, 600'000 + setup.noise.delay(2, 0, 0)) << "one delay, not three";
    EXPECT_EQ(by_events->makespan, generic->makespan);
}

/// Each rank reduces its share of all inputs, in place, into the output of rank 0. Ranks other than
/// 0 also use that output in place.
TEST(Image, BuffersThatReductionsUseInPlaceAreCounted) {
    SimulatedCall call;
    call.collective = "reduce";
    call.spec = "mapped";
    call.request = {.size = 4, .root = 0, .elements = 4000, .element_bytes = 8};
    for (const Program& program : programs_of(call)) {
        std::uint32_t used = 0;
        ExecutedSteps(program, size_of(call), {.own = true})
            .for_each([&](const ExecutedStep& step) {
                used += step.mapped_buffers;
                EXPECT_EQ(step.mapped_bytes, 0U) << "no byte is copied";
            });
        EXPECT_EQ(used, program.rank == 0 ? 3U : 4U) << program.rank;
        const auto costs = [&](const MessageModel& model) {
            SimulationInputs setup;
            setup.model = model;
            return generic(call, setup).makespan;
        };
        EXPECT_EQ(costs({.mapped = 1000}), 4000);
        EXPECT_EQ(costs({.mapped_reduce_byte_fs = 1000}), 3 * 8000);
    }
}

Time costs_of(const char* collective, const char* spec, Rank size, const MessageModel& model) {
    SimulatedCall call;
    call.collective = collective;
    call.spec = spec;
    call.request = {.size = size, .elements = 4000, .element_bytes = 8};
    if (collective == std::string_view("broadcast") || collective == std::string_view("reduce"))
        call.request.root = 0;
    SimulationInputs setup;
    setup.model = model;
    return generic(call, setup).makespan;
}

TEST(Image, CopiesWithinARanksMemoryAreCounted) {
    const MessageModel own{.copy_byte_fs = 1000};
    EXPECT_EQ(costs_of("allgather", "mapped", 2, own), 16'000)
        << "a rank copies its own half of the buffer";
    EXPECT_EQ(costs_of("broadcast", "mapped", 2, own), 0) << "a broadcast has one buffer";
    EXPECT_EQ(costs_of("allreduce", "mapped", 2, own), 0) << "the scratch buffer is the output";
    EXPECT_EQ(costs_of("allgather", "direct", 2, own), 16'000);
    const MessageModel slots{.unpack_byte_fs = 1000};
    EXPECT_EQ(costs_of("allgather", "mapped", 2, slots), 0);
    EXPECT_EQ(costs_of("allgather", "direct", 2, slots), 16'000);
    EXPECT_EQ(costs_of("reduce", "flat", 2, slots), 32'000) << "slots are reduced";
    const MessageModel free{.unpack_byte_fs = 1000, .unpacked_free = 32'000};
    EXPECT_EQ(costs_of("reduce", "flat", 2, free), 0) << "32,000 bytes are free";
}

TEST(Image, ExposedBuffersAreCounted) {
    const MessageModel model{.expose = 1000};
    EXPECT_EQ(costs_of("broadcast", "mapped", 2, model), 1000);
    EXPECT_EQ(costs_of("allgather", "mapped", 4, model), 1000) << "one exposure for three peers";
    EXPECT_EQ(costs_of("alltoall", "mapped", 2, model), 2000) << "input and output";
    EXPECT_EQ(costs_of("allgather", "direct", 2, model), 0);
}

/// In slices ("mapped"), each of two ranks reads half of both inputs and writes the same amount;
/// the second rank's addend is cached. In a chain ("mapped-linear"), the second rank reads and
/// writes whole buffers.
TEST(Image, UncachedBytesAreCounted) {
    const auto costs = [](const char* spec, std::uint64_t cache) {
        return static_cast<double>(
                   costs_of("scan", spec, 2, {.cold_byte_fs = 1'000'000, .cache_bytes = cache})) /
               1e6;
    };
    EXPECT_EQ(costs("mapped", 64'000), 0) << "the size of input and output";
    EXPECT_NEAR(costs("mapped", 32'000), 32, 0.1);
    EXPECT_NEAR(costs("mapped", 0), 64, 0.1);
    EXPECT_EQ(costs("mapped-linear", 64'000), 0);
    EXPECT_NEAR(costs("mapped-linear", 0), 64 + 96, 0.1) << "one after the other";
}

}  // namespace
}  // namespace weft::lab::test
