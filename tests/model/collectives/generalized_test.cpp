// SPDX-License-Identifier: BSD-3-Clause
// Goal: the generalized allreduce is right for every number of ranks, every number r of omitted
// steps and every group, with exactly the rounds, bytes and reductions of the paper.
// Method: the verifier's counts are compared with the paper's formula (`weft cost cyclic`).
#include <algorithm>
#include <numeric>

#include "plan/schedule/canonical.hpp"
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/figures.hpp"
#include "tools/lab/cost/formulas.hpp"

namespace weft::collectives {
namespace {

plan::Verdict prove_blocks(const std::string& spec, std::uint64_t n) {
    return prove("allreduce", spec, {.size = static_cast<int>(n), .elements = n});
}

/// Compares the rounds, and the bytes that one rank sends and reduces, with the paper's formula.
/// tests/system/cli/cost_test.py compares the formula with the printed tables.
void expect_formula(std::uint64_t n, std::uint64_t r) {
    const lab::FormulaValue given[] = {{"p", static_cast<double>(n)},
                                       {"r", static_cast<double>(r)}};
    const lab::FormulaResults formula = *lab::evaluate_formula("cyclic", given);
    const auto value = [&](std::string_view name) {
        return static_cast<std::uint64_t>(
            std::ranges::find(formula, name, &lab::FormulaResults::value_type::first)->second);
    };
    const auto verdict = prove_blocks(fmt::format("generalized:r={}", r), n);
    ASSERT_TRUE(verdict.valid) << n << " r=" << r << ": " << verdict.error;
    EXPECT_TRUE(verdict.synchronizing);
    EXPECT_TRUE(verdict.bit_identical || r > 0) << n;
    EXPECT_EQ(verdict.rounds, value("steps")) << n << " r=" << r;
    EXPECT_EQ(verdict.bytes_sent_max, value("vectors_sent") * 8) << n << " r=" << r;
    EXPECT_EQ(verdict.bytes_total, n * value("vectors_sent") * 8) << n << " r=" << r;
    EXPECT_EQ(verdict.reduced_bytes_max, value("vectors_reduced") * 8) << n << " r=" << r;
    EXPECT_EQ(verdict.messages, n * value("steps"));
}

TEST(AllreduceCounts, GeneralizedIsRightForEverySizeAndEveryR) {
    for (std::uint64_t n = 1; n <= 64; ++n)
        for (std::uint64_t r = 0; r <= log2_ceil(n); ++r) expect_formula(n, r);
    for (const std::uint64_t r : {0U, 2U, 4U, 6U, 7U}) expect_formula(127, r);
}

TEST(AllreduceCounts, GeneralizedOnACubeEqualsHalvingAndDoubling) {
    for (const auto& [group, n] : {std::pair{"2x2", 4U}, {"2x2x2", 8U}, {"2x2x2x2", 16U}}) {
        const std::uint64_t steps = log2_ceil(n);
        for (std::uint64_t r = 0; r <= steps; ++r) {
            const auto verdict =
                prove_blocks(fmt::format("generalized:r={},group={}", r, group), n);
            EXPECT_TRUE(verdict.valid) << group << " r=" << r << ": " << verdict.error;
            EXPECT_TRUE(verdict.ordered && verdict.bit_identical) << group << " r=" << r;
            EXPECT_EQ(verdict.rounds, 2 * steps - r);
            if (r == 0) {
                EXPECT_EQ(verdict.bytes_sent_max, 2 * (n - 1) * 8);
            }
            if (r == steps) {
                EXPECT_EQ(verdict.bytes_sent_max, steps * n * 8);
            }
        }
    }
    // On the cube, the numbers of a rank and its peer differ in a single bit.
    const auto programs = generate_all("allreduce", *parse_spec("generalized:group=2x2x2"),
                                       {.size = 8, .elements = 8});
    for (const plan::Program& program : programs) {
        std::vector<Rank> peers;
        for (const plan::Step& step : program.steps)
            if (step.kind == plan::StepKind::put) peers.push_back(step.peer ^ program.rank);
        EXPECT_EQ(peers, (std::vector<Rank>{1, 2, 4, 4, 2, 1}));
    }
}

TEST(AllreduceCounts, GeneralizedCopiesOnlyArrivingData) {
    // Arriving data goes to the output, or to scratch if steps are omitted and a later step
    // combines the data.
    const auto all_in = [](const plan::Program& program, plan::BlockList list,
                           plan::Buffer buffer) {
        return std::ranges::all_of(plan::blocks_of(program, list), [&](const plan::Block& block) {
            return block.buffer == buffer;
        });
    };
    std::size_t copies = 0;
    const auto check = [&](const plan::Program& program, bool omits_steps) {
        for (const plan::Step& step : program.steps) {
            if (step.kind != plan::StepKind::copy) continue;
            ++copies;
            EXPECT_TRUE(all_in(program, step.source, plan::Buffer::slot));
            EXPECT_TRUE(all_in(program, step.target, plan::Buffer::output) ||
                        (omits_steps && all_in(program, step.target, plan::Buffer::scratch)));
        }
    };
    for (int n = 2; n <= 33; ++n) {
        const auto elements = static_cast<std::uint64_t>(n);
        for (std::uint64_t r = 0; r <= log2_ceil(elements); ++r) {
            const auto spec = *parse_spec(fmt::format("generalized:r={}", r));
            for (const plan::Program& program :
                 generate_all("allreduce", spec, {.size = n, .elements = elements}))
                check(program, r > 0);
        }
    }
    EXPECT_GT(copies, 1000U);
}

TEST(AllreduceCounts, FurtherStepsMakeMessagesOfGeneralizedSmaller) {
    // 15 ranks need 2 x 4 steps; a product of groups takes 2 x 5, with shorter first messages.
    for (const auto& [group, steps, largest] :
         {std::tuple{"15", 8U, 7U}, {"3x5", 10U, 5U}, {"5x3", 10U, 6U}}) {
        const auto program =
            generate("allreduce", *parse_spec(fmt::format("generalized:group={}", group)),
                     {.size = 15, .elements = 15});
        ASSERT_TRUE(program.ok()) << program.failure().text;
        std::vector<std::uint64_t> units;
        for (const plan::Step& step : program->steps)
            if (step.kind == plan::StepKind::put)
                units.push_back(plan::units_of(plan::blocks_of(*program, step.source)));
        EXPECT_EQ(units.size(), steps) << group;
        EXPECT_EQ(std::ranges::max(units), largest) << group;
        EXPECT_EQ(std::accumulate(units.begin(), units.end(), std::uint64_t{0}), 2 * 14U) << group;
    }
}

TEST(AllreduceCounts, MixedGroupsAreRightForGeneralized) {
    for (const auto& [group, n] : {std::pair{"3x5", 15U},
                                   {"5x3", 15U},
                                   {"4x3x2", 24U},
                                   {"7x1x3", 21U},
                                   {"6x6", 36U},
                                   {"2x3x7", 42U}}) {
        for (int r = 0; r <= 7; ++r) {
            const std::string spec = fmt::format("generalized:r={},group={}", r, group);
            const GenerateRequest request{.size = static_cast<int>(n), .elements = n};
            if (!generate("allreduce", *parse_spec(spec), request)) {
                EXPECT_GT(r, 4) << spec;
                continue;
            }
            const auto verdict = prove("allreduce", spec, request);
            EXPECT_TRUE(verdict.valid) << spec << ": " << verdict.error;
            EXPECT_TRUE(verdict.bit_identical || r > 0) << spec;
            if (r == 0) {
                EXPECT_EQ(verdict.bytes_sent_max, 2 * (n - 1) * 8) << spec;
            }
        }
    }
    const auto refused = [](const char* spec) {
        return generate("allreduce", *parse_spec(spec), {.size = 12, .elements = 1}).failure().text;
    };
    EXPECT_EQ(refused("generalized:group=4x4"),
              "character 19: the product of group=4x4 is not 12 ranks");
    EXPECT_EQ(refused("generalized:group=axe"),
              "character 19: group=axe is not n, primes or a list of factors such as 4x3x2");
    EXPECT_EQ(refused("generalized:r=5"), "character 15: r=5 is not in 0..4");
}

}  // namespace
}  // namespace weft::collectives
