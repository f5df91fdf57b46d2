// SPDX-License-Identifier: BSD-3-Clause
// ask.hpp - helpers that simulate a call with one of the engines.
#pragma once

#include <string>
#include <vector>

#include "tests/support/generate_all.hpp"
#include "tools/simulate/events.hpp"
#include "tools/simulate/noise_distributions.hpp"
#include "tools/simulate/simulate.hpp"
#include "tools/simulate/wire_model.hpp"

namespace weft::lab::test {

using namespace plan;

/// A call to simulate.
struct Question {
    std::string collective = "allreduce";
    std::string spec;
    collectives::GenerateRequest request;
};

inline VectorSize size_of(const Question& question) {
    return {question.request.elements, question.request.element_bytes};
}

inline std::vector<Program> programs_of(const Question& question) {
    return weft::test::generate_all(question.collective, question.spec, question.request);
}

inline ImagePart image_of(std::span<const Program> programs, const Question& question,
                          const Surroundings& around) {
    ImagePart part(around.model, size_of(question));
    for (const Program& program : programs) {
        const auto added = part.add(program);
        EXPECT_TRUE(added.ok()) << added.failure().text;
    }
    return part;
}

inline Outcome generic(const Question& question, const Surroundings& around) {
    const ImagePart part = image_of(programs_of(question), question, around);
    const auto outcome = simulate_generic({&part, 1}, around);
    EXPECT_TRUE(outcome.ok()) << outcome.failure().text;
    return *outcome;
}

inline Outcome events(const Question& question, const Surroundings& around,
                      const Queueing& queueing = {}) {
    const ImagePart part = image_of(programs_of(question), question, around);
    const auto outcome = simulate_events({&part, 1}, around, queueing);
    EXPECT_TRUE(outcome.ok()) << outcome.failure().text;
    return *outcome;
}

inline Stages stages_of(const Question& question) {
    const auto spec = collectives::parse_spec(question.spec);
    EXPECT_TRUE(spec.ok()) << question.spec;
    auto stages = collectives::generate_stages(question.collective, *spec, question.request);
    EXPECT_TRUE(stages.ok()) << stages.failure().text;
    return *std::move(stages);
}

/// Returns the costs in tests/system/cli/simulate_test.py: latency 500 ns, 100 ns per
/// message, 0.4 ns per byte, 10 ns per operand.
inline Surroundings paper() {
    Surroundings around;
    around.model =
        message_model({.latency = 500'000, .issue = 100'000, .reduce = 10'000, .byte_fs = 400'000});
    return around;
}

inline void expect_equal(const Outcome& a, const Outcome& b, const std::string& what) {
    EXPECT_EQ(a.makespan, b.makespan) << what;
    EXPECT_EQ(a.earliest_finish, b.earliest_finish) << what;
    EXPECT_EQ(a.messages, b.messages) << what;
}

}  // namespace weft::lab::test
