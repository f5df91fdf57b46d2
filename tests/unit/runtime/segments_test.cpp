// SPDX-License-Identifier: BSD-3-Clause
// Goal: segments_needed() computes the number of segments of a call from one generated program.
// Method: for every algorithm of the registry, on several layouts, programs of two, three and eight
// segments must give equal numbers. A program of one segment gives this number, or less if its
// blocks are sent together. With direct delivery, tests search sizes up to which a call fits as a
// whole.
#include <gtest/gtest.h>

#include "collectives/registry.hpp"
#include "collectives/transfer.hpp"
#include "run/bind/bind.hpp"
#include "run/team/choice.hpp"
#include "run/team/plan.hpp"

namespace weft::run {
namespace {

constexpr std::uint64_t kElements = std::uint64_t{1} << 20;

BindOptions options_of(std::uint64_t bank_bytes) {
    return {.elements = kElements,
            .element_bytes = 8,
            .shape = {.cells = 64, .banks = 2, .bulk_banks = 2, .bulk_bytes = bank_bytes}};
}

/// Returns true if contiguous blocks are sent together in one segment, but separately in several.
bool joins_blocks(const collectives::AlgorithmSpec& spec) {
    const collectives::SpecParameter* const near = spec.find("near");
    return spec.name == "hierarchical" ||
           (spec.name == "multi-object" && (near == nullptr || near->value == "mapped"));
}

class Segments : public testing::TestWithParam<std::string_view> {
  protected:
    void check(const collectives::AlgorithmSpec& spec, collectives::GenerateRequest request) {
        const auto generated = [&](std::uint32_t segments) {
            request.segments = segments;
            return collectives::generate(GetParam(), spec, request);
        };
        const auto whole = generated(1);
        if (!whole) return;
        const auto two = generated(2);
        ASSERT_TRUE(two.ok()) << two.failure().text;
        for (const std::uint32_t segments : {3U, 8U}) {
            const auto more = generated(segments);
            ASSERT_TRUE(more.ok()) << more.failure().text;
            for (const std::uint64_t bank : {1U << 12, 1U << 18, 1U << 22}) {
                const std::uint32_t needed = segments_needed(*two, 2, options_of(bank));
                EXPECT_EQ(segments_needed(*more, segments, options_of(bank)), needed)
                    << print(spec) << " on " << request.size << " ranks";
                const std::uint32_t first = segments_needed(*whole, 1, options_of(bank));
                if (joins_blocks(spec)) {
                    EXPECT_LE(first, needed) << print(spec) << " on " << request.size << " ranks";
                } else {
                    EXPECT_EQ(first, needed) << print(spec) << " on " << request.size << " ranks";
                }
            }
        }
        ++checked_;
    }
    int checked_ = 0;
};

TEST_P(Segments, OneProgramGivesTheNumberOfSegments) {
    std::vector<std::string> specs = collectives::specs_to_try(GetParam());
    if (GetParam() == "allreduce") specs.insert(specs.end(), {"a2", "a8", "m1g2a3,n1g3a2"});
    std::erase_if(specs, [](const std::string& text) {  // direct delivery has one segment
        return collectives::delivers_directly(*collectives::parse_spec(text));
    });
    for (const std::string& text : specs) {
        for (const Rank size : {2, 4, 5, 6, 8}) {
            for (const Rank per_node : {size, Rank{2}}) {
                std::vector<std::uint64_t> counts(static_cast<std::size_t>(size), 7);
                counts.front() = kElements - 7 * (counts.size() - 1);
                collectives::GenerateRequest request{
                    .rank = size - 1,
                    .size = size,
                    .root = collectives::is_rooted(GetParam()) ? 1 : plan::kNoRank,
                    .elements = kElements,
                    .element_bytes = 8,
                    .layout = plan::Layout(size, per_node)};
                check(*collectives::parse_spec(text), request);
                if (!collectives::contract(GetParam()).block_per_rank) continue;
                request.counts = counts;
                check(*collectives::parse_spec(text), request);
            }
        }
    }
    EXPECT_GT(checked_, 0);
}

// The first collective, barrier, has no data.
INSTANTIATE_TEST_SUITE_P(OfEachCollective, Segments,
                         testing::ValuesIn(collectives::collectives().begin() + 1,
                                           collectives::collectives().end()),
                         [](const auto& instance) { return std::string(instance.param); });

/// Segments in flight need eight copies of each slot. One at a time, they need only two.
TEST(SegmentsInFlight, RunOneAtATimeIfABankHasNoRoomForTheirSlots) {
    BindOptions options = options_of(2U << 20);
    options.shape.copied_bytes = 1U << 20;
    const auto program_for = [&](std::uint64_t elements) {
        options.elements = elements;
        const auto make = [&](std::uint32_t segments, bool one_at_a_time) {
            return collectives::generate("allreduce",
                                         *collectives::parse_spec("recursive-doubling:segments=8"),
                                         {.size = 4,
                                          .segments = segments,
                                          .elements = elements,
                                          .element_bytes = 8,
                                          .one_at_a_time = one_at_a_time});
        };
        return program_in_segments(make, options);
    };
    const auto in_flight = program_for(51200);
    EXPECT_EQ(in_flight->depth, 8U);
    for (const std::uint64_t elements : {102400U, 128000U, 1'024'000U}) {
        const auto program = program_for(elements);
        EXPECT_EQ(program->depth, 2U) << elements << " elements";
        const auto bound = bind(*program, options);
        EXPECT_TRUE(bound.ok()) << bound.failure().text;
    }
}

/// Only reduced data needs put targets, so four ranks can send a buffer of 2 MiB in one segment.
TEST(DirectDeliverySegments, ARingIsDeliveredDirectlyIfABankHoldsItsReductions) {
    const auto ring = collectives::parse_spec("ring:into=vector");
    const auto program = collectives::generate("allreduce", *ring, {.size = 4, .elements = 4});
    BindOptions options = options_of(2U << 20);
    options.shape.copied_bytes = 1U << 20;
    options.elements = 1U << 18;
    EXPECT_TRUE(fits_as_a_whole(*program, options));
    options.elements = 1U << 19;
    EXPECT_FALSE(fits_as_a_whole(*program, options));
    // Without direct delivery the call needs more of a bank, and two segments from 1 MiB on.
    const auto slots = collectives::generate("allreduce", *collectives::parse_spec("ring"),
                                             {.size = 4, .elements = 4});
    options.elements = 1U << 17;
    EXPECT_GT(segments_needed(*slots, 1, options), 1U);
}

TEST(DirectDeliverySegments, DirectDeliveryIsNoCandidateIfABankIsTooSmall) {
    plan::Machine machine = machine_over("net");
    machine.node_of = {0, 1, 2, 3};
    const auto offered = [&](std::uint64_t bytes) {
        const CallClass call{.collective = "allreduce", .elements = bytes / 8, .element_bytes = 8};
        const auto choice = rank_algorithms(machine, 4, call);
        return std::ranges::count(choice->candidates, "ring:into=vector",
                                  &plan::RankedCandidate::algorithm);
    };
    EXPECT_EQ(offered(2U << 20), 1);
    EXPECT_EQ(offered(4U << 20), 0);
    machine.bank_bytes = 4U << 20;
    EXPECT_EQ(offered(4U << 20), 1);
}

}  // namespace
}  // namespace weft::run
