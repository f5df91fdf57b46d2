// SPDX-License-Identifier: BSD-3-Clause
// Goal: with direct delivery no rank copies from a slot, or puts before it has received the target
// address. No rank returns or uses its memory before the payload has arrived.
// Method: the verifier checks programs for many team sizes, and the test looks for copies that read
// slots. Then the verifier must reject programs without one of their waits, and programs that
// expose memory for reading only.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/schedule/canonical.hpp"
#include "tests/virtual/engine/direct_specs.hpp"

namespace weft::collectives {
namespace {

using test::direct_delivery_specs;
using test::DirectSpec;
using test::erase_step;
using test::generate_all;
using test::programs_of;
using test::verdict_on;

using plan::Buffer;
using plan::Program;
using plan::Step;
using plan::StepKind;

constexpr std::uint64_t kElements = 240;

std::string error_of(const DirectSpec& spec, const std::vector<Program>& programs) {
    return verdict_on(spec, programs, kElements).error;
}

bool reads_slots(const Program& program, const Step& step) {
    return std::ranges::any_of(plan::blocks_of(program, step.source), [](const plan::Block& block) {
        return block.buffer == Buffer::slot;
    });
}

TEST(DirectDeliveryProof, TheProgramsAreRight) {
    for (const DirectSpec& spec : direct_delivery_specs()) {
        const AlgorithmSpec parsed = *parse_spec(spec.text);
        for (Rank size = 1; size <= 9; ++size) {
            for (Rank root = 0; root < (is_rooted(spec.collective) ? size : 1); ++root) {
                const auto n = static_cast<std::uint64_t>(size);
                for (const std::uint64_t elements : {std::uint64_t{0}, n, 6 * n}) {
                    const auto programs =
                        generate_all(spec.collective, parsed,
                                     {.size = size,
                                      .root = is_rooted(spec.collective) ? root : plan::kNoRank,
                                      .elements = elements});
                    const auto verdict = plan::verify({.programs = programs,
                                                       .contract = &contract(spec.collective),
                                                       .elements = elements,
                                                       .mixed = true});
                    EXPECT_TRUE(verdict.valid)
                        << spec.collective << " " << spec.text << " of " << size << ", root "
                        << root << ", " << elements << " elements: " << verdict.error;
                }
            }
        }
    }
}

TEST(DirectDeliveryProof, NoDataIsCopiedFromSlots) {
    EXPECT_GE(direct_delivery_specs().size(), 7U);
    for (const DirectSpec& spec : direct_delivery_specs()) {
        for (const Rank size : {2, 3, 4, 8}) {
            for (const Program& program : programs_of(spec, size, kElements)) {
                SCOPED_TRACE(fmt::format("{} {} of {}", spec.collective, spec.text, size));
                EXPECT_EQ(program.segments, 1U);
                for (const Step& step : program.steps) {
                    if (step.kind == StepKind::copy) {
                        EXPECT_FALSE(reads_slots(program, step));
                    }
                }
                // An allreduce ring reduces data in slots; a scan adds to delivered data.
                EXPECT_EQ(program.slot_units > 0, spec.collective == "allreduce");
            }
        }
    }
}

TEST(DirectDeliveryProof, AMissingWaitIsRefused) {
    int refused = 0;
    for (const DirectSpec& spec : direct_delivery_specs()) {
        for (const Rank size : {2, 4, 5}) {
            const auto programs = programs_of(spec, size, kElements);
            ASSERT_EQ(error_of(spec, programs), "") << spec.text;
            for (std::size_t rank = 0; rank < programs.size(); ++rank) {
                for (std::size_t at = 0; at < programs[rank].steps.size(); ++at) {
                    if (programs[rank].steps[at].kind != StepKind::wait) continue;
                    auto changed = programs;
                    erase_step(changed[rank], at);
                    EXPECT_NE(error_of(spec, changed), "") << spec.text << " step " << at;
                    ++refused;
                }
            }
        }
    }
    EXPECT_GT(refused, 200);
}

TEST(DirectDeliveryProof, APutIntoMemoryExposedForReadingIsRefused) {
    for (const DirectSpec& spec : direct_delivery_specs()) {
        auto programs = programs_of(spec, 4, kElements);
        for (Program& program : programs)
            for (Step& step : program.steps)
                if (step.kind == StepKind::expose) step.flags = 0;
        EXPECT_NE(error_of(spec, programs).find("exposed for reading only"), std::string::npos)
            << spec.text;
    }
}

TEST(DirectDeliveryProof, SegmentsAndUnknownTargetsAreRefused) {
    const auto refused = parse_spec("ring:into=vector,segments=3");
    ASSERT_TRUE(refused.ok());
    const GenerateRequest request{.size = 4, .elements = 64};
    EXPECT_FALSE(generate("allgather", *refused, request).ok());
    EXPECT_FALSE(generate("allgather", *parse_spec("ring:into=lap"), request).ok());
    EXPECT_EQ(print(into_slots(*parse_spec("ring:into=vector"))), "ring");
}

}  // namespace
}  // namespace weft::collectives
