// SPDX-License-Identifier: BSD-3-Clause
// Goal: each model charges the costs that its papers define.
// Method: closed formulas, for numbers of ranks for which they hold exactly, are compared with the
// generic engine. tests/system/cli/simulate_test.py has worked examples for every engine.
#include <gtest/gtest.h>

#include "base/units.hpp"
#include "simulated_call.hpp"
#include "tools/text/text.hpp"

namespace weft::lab::test {
namespace {

SimulationInputs with(const ModelParameters& parameters) {
    SimulationInputs setup;
    setup.model = message_model(parameters);
    return setup;
}

TEST(Models, PostalChargesEveryMessageInFull) {
    // Chan et al.: alpha + n beta + n gamma for each stage. Messages of a rank do not overlap.
    const SimulationInputs setup = with({.model = WireModel::postal,
                                         .latency = 1'000'000,
                                         .byte_fs = 1'000'000,
                                         .reduce_byte_fs = 250'000});
    const auto time = [&](const char* spec, Rank size) {
        return generic(
                   {.spec = spec, .request = {.size = size, .elements = 100, .element_bytes = 8}},
                   setup)
            .makespan;
    };
    EXPECT_EQ(time("a2,a2,a2", 8), 3 * (1'000'000 + 800'000 + 200'000));
    EXPECT_EQ(time("a4", 4), 3 * (1'000'000 + 800'000) + 3 * 200'000);
}

TEST(Models, LogGPButterflyAndBinomialTreeMatchTheirFormulas) {
    // Hoefler and Moor 3.1: (L + 2o + sG) lg P for butterfly and binomial tree.
    const ModelParameters parameters{.model = WireModel::loggp,
                                     .latency = 6'000'000,
                                     .overhead = 4'700'000,
                                     .gap = 1'000'000,
                                     .byte_fs = 730'000};
    const Time hop = 6'000'000 + 2 * 4'700'000 + 8 * 730;
    std::string butterfly = "a2";
    for (Rank size = 2, rounds = 1; size <= 1024; size *= 2, ++rounds, butterfly += ",a2") {
        EXPECT_EQ(generic({.spec = butterfly,
                           .request = {.size = size, .elements = 1, .element_bytes = 8}},
                          with(parameters))
                      .makespan,
                  rounds * hop);
        EXPECT_EQ(generic({.collective = "broadcast",
                           .spec = "binomial",
                           .request = {.size = size, .root = 0, .elements = 1, .element_bytes = 8}},
                          with(parameters))
                      .makespan,
                  rounds * hop);
    }
}

TEST(Models, LogPAppliesTheGapAtBothEnds) {
    const SimulationInputs setup = with({.model = WireModel::logp,
                                         .latency = 6'000,
                                         .overhead = 2'000,
                                         .gap = 4'000,
                                         .byte_fs = 1'000'000});
    // The root starts a message every g; the last message takes o + L + o. Bytes cost nothing.
    EXPECT_EQ(generic({.collective = "broadcast",
                       .spec = "flat",
                       .request = {.size = 6, .root = 0, .elements = 100}},
                      setup)
                  .makespan,
              4 * 4'000 + 2'000 + 6'000 + 2'000);
    // All ranks signal rank 0 at the same time. It receives one message every g, then
    // sends one every g.
    EXPECT_EQ(generic({.collective = "barrier", .spec = "central", .request = {.size = 4}}, setup)
                  .makespan,
              (2'000 + 6'000) + 2 * 4'000 + 2'000 + 2 * 4'000 + 2'000 + 6'000 + 2'000);
}

/// Returns the time in which rank 0 sends to ranks 1 .. size - 1, in this order.
Time broadcast_time(const ModelParameters& parameters, Rank size) {
    return generic({.collective = "broadcast",
                    .spec = "flat",
                    .request = {.size = size, .root = 0, .elements = 100}},
                   with(parameters))
        .makespan;
}
Time barrier_time(const ModelParameters& parameters, Rank size) {
    return generic({.collective = "barrier", .spec = "central", .request = {.size = size}},
                   with(parameters))
        .makespan;
}

TEST(Models, LogfPSendsSomeMessagesWithoutAGap) {
    ModelParameters parameters{.model = WireModel::logfp,
                               .latency = 6'000,
                               .overhead = 2'000,
                               .gap = 4'000,
                               .free_messages = 3};
    // n messages: L + 2o + max((n - 1) o, (n - f) g).
    EXPECT_EQ(broadcast_time(parameters, 4), 6'000 + 2 * 2'000 + 2 * 2'000);
    EXPECT_EQ(broadcast_time(parameters, 6), 6'000 + 2 * 2'000 + 4 * 2'000);
    EXPECT_EQ(broadcast_time(parameters, 8), 6'000 + 2 * 2'000 + (7 - 3) * 4'000);
    parameters.free_messages = 1;
    const Time as_logfp = broadcast_time(parameters, 8);
    parameters.model = WireModel::logp;
    EXPECT_EQ(as_logfp, broadcast_time(parameters, 8));
}

TEST(Models, LoPChargesPipeliningProcessingAndSaturation) {
    const ModelParameters parameters{.model = WireModel::lop,
                                     .latency = 6'000,
                                     .overhead = 2'000,
                                     .pipeline = 3'000,
                                     .saturation = 800};
    // Message k: 2000 + 3000 / k + 800 (1 - 2^(1 - k)).
    const Time three = 5'000 + 3'900 + 3'600;
    EXPECT_EQ(broadcast_time(parameters, 4), three + 6'000 + 2'000);
    EXPECT_EQ(broadcast_time(parameters, 8), three + 3'450 + 3'350 + 3'275 + 3'216 + 6'000 + 2'000);
    // Rank 0 receives three messages, and then sends three as if they were its first.
    EXPECT_EQ(barrier_time(parameters, 4), (5'000 + 6'000 + 3 * 2'000) + three + 6'000 + 2'000);
}

TEST(Models, AMessageThatCrossesAnotherOneTakesLonger) {
    // 100 elements: 1.8 us in one direction, 2.7 us if the receiver has a message in flight.
    const SimulationInputs setup = with({.model = WireModel::postal,
                                         .latency = 1'000'000,
                                         .two_way = 500'000,
                                         .byte_fs = 1'000'000,
                                         .two_way_byte_fs = 500'000});
    const auto time = [&](const char* collective, const char* spec, Rank size, Rank root) {
        const SimulatedCall call{
            .collective = collective,
            .spec = spec,
            .request = {.size = size, .root = root, .elements = 100, .element_bytes = 8}};
        const Outcome outcome = generic(call, setup);
        expect_equal(events(call, setup), outcome, spec);
        return outcome.makespan;
    };
    const Time one = 1'800'000;
    const Time both = 2'700'000;
    EXPECT_EQ(time("broadcast", "binomial", 8, 0), 3 * one);
    EXPECT_EQ(time("reduce", "binomial", 8, 0), 3 * one);
    EXPECT_EQ(time("allreduce", "reduce-broadcast", 8, kNoRank), 6 * one);
    EXPECT_EQ(time("allreduce", "a2,a2,a2", 8, kNoRank), 3 * both);
    EXPECT_EQ(time("allgather", "ring", 4, kNoRank), 3 * (1'200'000 + 600'000));
    // Rank 2 sends before rank 1 has received from rank 0, so that no messages cross.
    EXPECT_EQ(time("allreduce", "c2m2,a2,e2m2", 3, kNoRank), 3 * one);
    const Stages stages = stages_of({.spec = "a2", .request = {.size = 2, .elements = 1}});
    EXPECT_FALSE(simulate_structured(stages, {}, setup).ok());
    EXPECT_FALSE(simulate_folded(stages, {}, setup).ok());
}

TEST(Models, RanksSleepAndComputeForTheStatedTime) {
    const auto programs = parse_programs(
        "rank 0\n sleep 700 ns\n put to 1 slot 0 from input\n"
        "rank 1\n compute 10 ns\n wait from 0 slot 0\n compute 20 ns\n");
    ASSERT_TRUE(programs.ok()) << programs.failure().text;
    const SimulationInputs setup = paper();
    const SimulatedCall call{.request = {.elements = 1, .element_bytes = 8}};
    const ImagePart part = image_of(*programs, call, setup);
    for (const auto& outcome :
         {simulate_generic({&part, 1}, setup), simulate_events({&part, 1}, setup)}) {
        ASSERT_TRUE(outcome.ok()) << outcome.failure().text;
        EXPECT_EQ(outcome->earliest_finish, 700'000 + 103'200);
        EXPECT_EQ(outcome->makespan, 700'000 + 103'200 + 500'000 + 20'000);
    }
}

/// A waiting receiver handles bytes as they arrive; a rank that is sending handles them afterwards.
TEST(Models, BytesOccupyAReceiverThatDidNotWait) {
    SimulationInputs setup;
    setup.model = {.byte_fs = 1'000'000, .latency = 5'000, .receive_byte_fs = 600'000};
    const auto time = [&](const char* collective, const char* spec, Rank size, Rank root) {
        const SimulatedCall call{
            .collective = collective,
            .spec = spec,
            .request = {.size = size, .root = root, .elements = 100, .element_bytes = 8}};
        const Time found = generic(call, setup).makespan;
        const auto programs = programs_of(call);
        const ImagePart part = image_of(programs, call, setup);
        const auto by_events = simulate_events({&part, 1}, setup);
        EXPECT_TRUE(by_events.ok());
        if (!by_events) return Time{0};
        EXPECT_EQ(by_events->makespan, found) << collective;
        return found;
    };
    EXPECT_EQ(time("broadcast", "flat", 2, 0), 800'000 + 5'000);
    EXPECT_EQ(time("allreduce", "a2", 2, kNoRank), 800'000 + 480'000)
        << "a rank sends, then receives";
    // The second and third message arrive while the first is received.
    EXPECT_EQ(time("reduce", "flat", 4, 0), 800'000 + 5'000 + 2 * 480'000);
    setup.model.receive = 1'000;
    EXPECT_EQ(time("allreduce", "a2", 2, kNoRank), 800'000 + 480'000 + 1'000);
}

TEST(Models, APayloadLargerThanACellAddsTheCostOfASlot) {
    SimulationInputs setup;
    setup.model = {.busy_base = 10'000,
                   .byte_fs = 80'000,
                   .slot = 15'000,
                   .cell_bytes = 48,
                   .latency = 50'000,
                   .receive = 20'000};
    const auto time = [&](const char* spec, Rank size, std::uint64_t elements) {
        const SimulatedCall call{
            .spec = spec, .request = {.size = size, .elements = elements, .element_bytes = 8}};
        const Outcome outcome = generic(call, setup);
        expect_equal(events(call, setup), outcome, spec);
        expect_equal(*simulate_structured(stages_of(call), size_of(call), setup), outcome, spec);
        expect_equal(*simulate_folded(stages_of(call), size_of(call), setup), outcome, spec);
        return outcome.makespan;
    };
    EXPECT_EQ(time("a2", 2, 6), 10'000 + 3'840 + 50'000 + 20'000);
    EXPECT_EQ(time("a2", 2, 7), 10'000 + 4'480 + 15'000 + 50'000 + 20'000);
    // The third message leaves at 3 x 29.48 ns. By its arrival the first two are received.
    EXPECT_EQ(time("a4", 4, 7), 3 * (10'000 + 4'480 + 15'000) + 50'000 + 20'000);
}

TEST(Models, ALateRankDelaysOnlyItsDependents) {
    // a2,a2: ranks 0 and 1 exchange first, then 0 with 2 and 1 with 3. Every rank depends on all
    // others.
    SimulationInputs setup = paper();
    const SimulatedCall call{.spec = "a2,a2", .request = {.size = 4, .elements = 1}};
    const Outcome before = generic(call, setup);
    setup.starts = {{3, 5'000'000}};
    const Outcome after = generic(call, setup);
    EXPECT_EQ(after.makespan, before.makespan + 5'000'000);
    // All data for the late rank has arrived: it sends and combines twice.
    EXPECT_EQ(after.earliest_finish, 5'000'000 + 2 * (100'400 + 10'000));
    // The root of a broadcast waits for no rank.
    const SimulatedCall tree{.collective = "broadcast",
                             .spec = "binomial",
                             .request = {.size = 4, .root = 0, .elements = 1}};
    SimulationInputs other = paper();
    const Time root_done = generic(tree, other).earliest_finish;
    other.starts = {{3, 9'000'000}};
    EXPECT_EQ(generic(tree, other).earliest_finish, root_done);
    EXPECT_EQ(generic(tree, other).makespan, 9'000'000);
}

TEST(Duration, DecimalsAreReadExactly) {
    EXPECT_EQ(*base::parse_nanoseconds("103.2"), 103'200);
    EXPECT_EQ(*base::parse_nanoseconds("0.001"), 1);
    EXPECT_EQ(*base::parse_nanoseconds("500"), 500'000);
    EXPECT_EQ(*base::parse_nanoseconds(".5"), 500);
    EXPECT_EQ(*base::parse_nanoseconds_per_byte("0.73"), 730'000);
    EXPECT_EQ(*base::parse_nanoseconds_per_byte("0.0125"), 12'500);
    for (const char* bad : {"", ".", "1.2.3", "-1", "1e3", "0.0001", "9999999999", "5 "})
        EXPECT_FALSE(base::parse_nanoseconds(bad).ok()) << bad;
}

}  // namespace
}  // namespace weft::lab::test
