// SPDX-License-Identifier: BSD-3-Clause
// Goal: costs counted from programs equal the papers' formulas if a formula is exact. Pareto fronts
// and optima are right. Parameter files are read, or refused with the line.
// Method: small cases; brute force for fronts and optima.
#include "tools/lab/cost/cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <vector>

#include "base/random.hpp"
#include "collectives/registry.hpp"
#include "tools/lab/cost/formulas.hpp"

namespace weft::lab {
namespace {

using plan::BufferSize;

CostParameters infiniband() {
    return named_parameters().front();
}

Cost cost(const char* collective, const std::string& text, collectives::GenerateRequest request,
          const CostParameters& parameters) {
    const auto spec = collectives::parse_spec(text);
    EXPECT_TRUE(spec.ok());
    Programs programs{.size = request.size};
    const auto stages = collectives::generate_stages(collective, *spec, request);
    if (stages) programs.stages = &*stages;
    programs.program_of = [&](Rank rank) {
        auto one = request;
        one.rank = rank;
        return collectives::generate(collective, *spec, one);
    };
    const auto result = cost_of(programs, {request.elements, request.element_bytes}, parameters);
    EXPECT_TRUE(result.ok()) << result.failure().text;
    return *result;
}

double value(const FormulaResults& results, std::string_view name) {
    const auto found = std::ranges::find(results, name, &FormulaResults::value_type::first);
    EXPECT_NE(found, results.end()) << name;
    return found->second;
}

FormulaResults formula(std::string_view name, const std::vector<FormulaValue>& given) {
    const auto results = evaluate_formula(name, given);
    EXPECT_TRUE(results.ok()) << results.failure().text;
    return *results;
}

TEST(Cost, ButterfliesAndBinomialTreesMatchTheirFormulas) {
    std::string schedule = "a2";
    for (Rank size = 2; size <= 512; size *= 2, schedule += ",a2") {
        const double p = size;
        for (const std::uint64_t bytes : {8U, 4096U}) {
            const std::vector<FormulaValue> given{{"p", p}, {"bytes", static_cast<double>(bytes)}};
            const Cost butterfly =
                cost("allreduce", schedule, {.size = size, .elements = bytes}, infiniband());
            const FormulaResults expected = formula("butterfly", given);
            EXPECT_NEAR(butterfly.time_us(), value(expected, "time"), 1e-9);
            EXPECT_NEAR(butterfly.dynamic_uj, value(expected, "dynamic"), 1e-9);
            EXPECT_NEAR(butterfly.total_uj, value(expected, "total"), 1e-9);
            EXPECT_EQ(static_cast<double>(butterfly.descriptor_bytes), value(expected, "memory"));
            const Cost tree = cost("broadcast", "binomial",
                                   {.size = size, .root = 0, .elements = bytes}, infiniband());
            const FormulaResults tree_formula = formula("binomial-tree", given);
            EXPECT_NEAR(tree.time_us(), value(tree_formula, "time"), 1e-9);
            EXPECT_NEAR(tree.dynamic_uj, value(tree_formula, "dynamic"), 1e-9);
            EXPECT_EQ(static_cast<double>(tree.descriptor_bytes), value(tree_formula, "memory"));
        }
    }
}

TEST(Cost, ReductionsToARootMatchRabenseifnersFormulas) {
    // Costs in the printed formulas: 1 us for each message, 1 ns for each sent byte, 0.25 ns for
    // each combined byte.
    CostParameters wire{.name = "as printed"};
    wire.wire = {.model = WireModel::loggp,
                 .latency = 1'000'000,
                 .byte_fs = 1'000'000,
                 .reduce_byte_fs = 250'000};
    for (const Rank size : {2, 3, 4, 6, 8, 13, 16, 23, 32, 64}) {
        const double p = size;
        const std::uint64_t bytes = 64 * static_cast<std::uint64_t>(size);
        const double m = static_cast<double>(bytes);
        const std::vector<FormulaValue> given{{"p", p}, {"bytes", m}};
        const double halving = value(formula("halving", given), "time_reduce");
        const bool power_of_two = std::has_single_bit(static_cast<std::uint32_t>(size));
        for (const Rank root : {0, 1, size / 2, size - 1}) {
            const auto time = [&](const char* spec) {
                return cost("reduce", spec, {.size = size, .root = root, .elements = bytes}, wire)
                    .time_us();
            };
            EXPECT_LE(time("halving-doubling"), halving + 1e-9) << size << " to " << root;
            if (power_of_two) {
                EXPECT_NEAR(time("halving-doubling"), halving, 1e-9) << size;
                EXPECT_NEAR(time("binary-blocks"), halving, 1e-9) << size;
            }
            // In the formula, results arrive at the root one after the other; in the model, at the
            // same time.
            const double one_by_one = (p - 2) * (1 + m / p * 0.001);
            EXPECT_NEAR(time("ring"), value(formula("ring", given), "time_reduce") - one_by_one,
                        1e-9)
                << size;
        }
    }
}

TEST(Cost, PipelinesHaveConstantDescriptorMemory) {
    std::uint64_t first = 0;
    for (const std::uint32_t segments : {2U, 16U, 128U}) {
        const Cost piped =
            cost("broadcast", "binomial",
                 {.size = 8, .root = 0, .segments = segments, .elements = 1024}, infiniband());
        if (first == 0) first = piped.descriptor_bytes;
        EXPECT_EQ(piped.descriptor_bytes, first);
        EXPECT_EQ(piped.bytes, 7U * 1024);
        // Data to seven ranks, and seven credits for each segment except two.
        EXPECT_EQ(piped.messages, 7U * segments + 7U * (segments - 2));
    }
}

TEST(Cost, StagesCostTheSameAsTheirPrograms) {
    const CostParameters parameters = infiniband();
    for (const auto& [collective, text, size, segments] :
         std::vector<std::tuple<const char*, const char*, Rank, std::uint32_t>>{
             {"allreduce", "a3,a4", 12, 1},
             {"allreduce", "c6m2,a2,a2,e6m2", 7, 3},
             {"allreduce", "m3g4a3,n3g3a4", 15, 1},
             {"allreduce", "c9m9,e9m9", 9, 5},
             {"barrier", "dissemination:k=3", 23, 1},
             {"barrier", "multiplying:schedule=(m2g3a3,n2g3a3)", 11, 1}}) {
        const auto spec = collectives::parse_spec(text);
        ASSERT_TRUE(spec.ok()) << text;
        const collectives::GenerateRequest request{
            .size = size, .segments = segments, .elements = 103, .element_bytes = 4};
        const auto stages = collectives::generate_stages(collective, *spec, request);
        ASSERT_TRUE(stages.ok()) << text;
        Programs programs{.size = size};
        programs.program_of = [&](Rank rank) -> base::Result<Program> {
            return program_of(*stages, rank);
        };
        const BufferSize buffer{request.elements, request.element_bytes};
        const auto slow = cost_of(programs, buffer, parameters);
        programs.stages = &*stages;
        const auto fast = cost_of(programs, buffer, parameters);
        ASSERT_TRUE(slow.ok() && fast.ok()) << text;
        EXPECT_EQ(fast->time, slow->time) << text;
        EXPECT_EQ(fast->messages, slow->messages) << text;
        EXPECT_EQ(fast->bytes, slow->bytes) << text;
        EXPECT_EQ(fast->descriptors, slow->descriptors) << text;
        EXPECT_EQ(fast->total_uj, slow->total_uj) << text;
        EXPECT_EQ(fast->descriptor_bytes, slow->descriptor_bytes) << text;
    }
}

TEST(Cost, TheFrontKeepsAllNondominatedCosts) {
    base::Random random(3);
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<Cost> costs(1 + random.below(30));
        for (Cost& each : costs) {
            each.time = static_cast<Time>(random.below(6));
            each.total_uj = static_cast<double>(random.below(6));
            each.descriptor_bytes = random.below(6);
        }
        const auto no_worse = [](const Cost& a, const Cost& b) {
            return a.time <= b.time && a.total_uj <= b.total_uj &&
                   a.descriptor_bytes <= b.descriptor_bytes;
        };
        const std::vector<std::size_t> front = pareto_front(costs);
        for (std::size_t i = 0; i < costs.size(); ++i) {
            const bool kept = std::ranges::find(front, i) != front.end();
            const bool covered = std::ranges::any_of(
                front, [&](std::size_t j) { return j != i && no_worse(costs[j], costs[i]); });
            EXPECT_NE(kept, covered) << trial;
        }
    }
}

TEST(Parameters, ParametersAreReadFromLines) {
    const auto read =
        parse_parameters("mine",
                         "# a machine\nmodel loggp\n latency_ns 6000 \n\n"
                         "overhead_ns 4700 # both ends\nns_per_byte 0.73\n"
                         "message_pj 16.5\r\nbyte_pj 8.1e3\nstatic_w .5\nturn_ns 900\n"
                         "descriptor_bytes 32");
    ASSERT_TRUE(read.ok()) << read.failure().text;
    const CostParameters named = infiniband();
    EXPECT_EQ(read->wire.latency, named.wire.latency);
    EXPECT_EQ(read->wire.overhead, named.wire.overhead);
    EXPECT_EQ(read->wire.byte_fs, named.wire.byte_fs);
    EXPECT_EQ(read->wire.turn, 900'000);
    EXPECT_EQ(read->message_pj, named.message_pj);
    EXPECT_EQ(read->byte_pj, named.byte_pj);
    EXPECT_EQ(read->static_w, named.static_w);
    for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
             {"latency_ns 5\nlatency_ns 6", "mine line 2: latency_ns: is given twice"},
             {"speed 3", "line 1: speed: unknown key"},
             {"\n\nbyte_pj -1", "line 3: byte_pj: '-1'"},
             {"model quick", "unknown model"},
             {"static_w", "static_w: ''"}}) {
        const auto refused = parse_parameters("mine", text);
        ASSERT_FALSE(refused.ok()) << text;
        EXPECT_NE(refused.failure().text.find(reason), std::string::npos) << refused.failure().text;
    }
}

TEST(Formulas, TheOptimalNumberOfMessagesHasTheLeastTime) {
    for (double ratio = 1; ratio < 40; ratio += 0.37) {
        const double best = messages_optimal(ratio, std::exp(1.0));
        const auto at = [ratio](double b) { return (ratio + b) / std::log(b + 1); };
        EXPECT_LE(at(best), at(best * 1.0001));
        EXPECT_LE(at(best), at(best * 0.9999));
    }
}

}  // namespace
}  // namespace weft::lab
