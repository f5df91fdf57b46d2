// SPDX-License-Identifier: BSD-3-Clause
// simulated_call.hpp - a call, and helpers that simulate it with one of the engines.
#pragma once

#include <string>
#include <vector>

#include "tests/support/generate_all.hpp"
#include "tools/simulate/events.hpp"
#include "tools/simulate/noise.hpp"
#include "tools/simulate/simulate.hpp"
#include "tools/simulate/wire_model.hpp"

namespace weft::lab::test {

using namespace plan;

/// A collective call to simulate.
struct SimulatedCall {
    std::string collective = "allreduce";
    std::string spec;
    collectives::GenerateRequest request;
};

inline BufferSize size_of(const SimulatedCall& call) {
    return {call.request.elements, call.request.element_bytes};
}

inline std::vector<Program> programs_of(const SimulatedCall& call) {
    return weft::test::generate_all(call.collective, call.spec, call.request);
}

inline ImagePart image_of(std::span<const Program> programs, const SimulatedCall& call,
                          const SimulationInputs& setup) {
    ImagePart part(setup.model, size_of(call));
    for (const Program& program : programs) {
        const auto added = part.add(program);
        EXPECT_TRUE(added.ok()) << added.failure().text;
    }
    return part;
}

inline Outcome generic(const SimulatedCall& call, const SimulationInputs& setup) {
    const ImagePart part = image_of(programs_of(call), call, setup);
    const auto outcome = simulate_generic({&part, 1}, setup);
    EXPECT_TRUE(outcome.ok()) << outcome.failure().text;
    return *outcome;
}

inline Outcome events(const SimulatedCall& call, const SimulationInputs& setup,
                      const Queueing& queueing = {}) {
    const ImagePart part = image_of(programs_of(call), call, setup);
    const auto outcome = simulate_events({&part, 1}, setup, queueing);
    EXPECT_TRUE(outcome.ok()) << outcome.failure().text;
    return *outcome;
}

inline Stages stages_of(const SimulatedCall& call) {
    const auto spec = collectives::parse_spec(call.spec);
    EXPECT_TRUE(spec.ok()) << call.spec;
    auto stages = collectives::generate_stages(call.collective, *spec, call.request);
    EXPECT_TRUE(stages.ok()) << stages.failure().text;
    return *std::move(stages);
}

/// Returns the costs in tests/system/cli/simulate_test.py: latency 500 ns, 100 ns per
/// message, 0.4 ns per byte, 10 ns per operand.
inline SimulationInputs paper() {
    SimulationInputs setup;
    setup.model =
        message_model({.latency = 500'000, .issue = 100'000, .reduce = 10'000, .byte_fs = 400'000});
    return setup;
}

inline void expect_equal(const Outcome& a, const Outcome& b, const std::string& what) {
    EXPECT_EQ(a.makespan, b.makespan) << what;
    EXPECT_EQ(a.earliest_finish, b.earliest_finish) << what;
    EXPECT_EQ(a.messages, b.messages) << what;
}

}  // namespace weft::lab::test
