// SPDX-License-Identifier: BSD-3-Clause
// Goal: the generalized allreduce is right for every size, number of steps left out and group, with
// exactly the rounds, bytes and reductions of the paper. Method: the verifier against a recursion
// over the numbers of vectors.
#include <algorithm>
#include <bit>

#include "tests/unit/collectives/proof.hpp"

namespace weft::collectives {
namespace {

std::uint64_t log2_ceil(std::uint64_t n) {
    return static_cast<std::uint64_t>(std::bit_width(n - 1));
}

plan::Verdict prove_blocks(const std::string& spec, std::uint64_t n) {
    return prove("allreduce", spec, {.size = static_cast<int>(n), .elements = n});
}

/// Vectors sent and reduced by one rank, counted by the recursion over the numbers of vectors.
struct Vectors {
    std::uint64_t steps = 0, sent = 0, reduced = 0;
};
Vectors generalized_vectors(std::uint64_t n, std::uint64_t r) {
    std::vector<std::uint64_t> counts{n};
    while (counts.back() > 1) counts.push_back((counts.back() + 1) / 2);
    const std::uint64_t steps = counts.size() - 1;
    const std::uint64_t results = counts[steps - r];
    Vectors sum{.steps = 2 * steps - r};
    bool apart = false;
    for (std::uint64_t i = 0; i < steps; ++i) {
        const std::uint64_t half = counts[i] / 2;
        const std::uint64_t sent = std::min(n, half + results - 1);
        sum.sent += sent;
        if (counts[i] % 2 == 0 && apart && counts[i] > 2) {
            sum.reduced += results + std::min(n, half - 1 + results - 1);
        } else {
            sum.reduced += sent;
        }
        apart = apart || counts[i] % 2 != 0;
    }
    sum.sent += n - results;
    return sum;
}

TEST(AllreduceCounts, GeneralizedHasTheExactCountsOfTheReconstruction) {
    struct Row {
        std::uint64_t n, r, steps, sent, reduced;
    };
    for (const Row& row :
         {Row{7, 0, 6, 12, 6}, Row{7, 1, 5, 14, 10}, Row{7, 2, 4, 18, 18}, Row{7, 3, 3, 21, 28},
          Row{8, 0, 6, 14, 7}, Row{8, 1, 5, 16, 10}, Row{8, 2, 4, 20, 16}, Row{8, 3, 3, 24, 24},
          Row{11, 0, 8, 20, 10}, Row{11, 1, 7, 23, 15}, Row{11, 2, 6, 26, 20},
          Row{11, 3, 5, 35, 35}, Row{11, 4, 4, 44, 55}, Row{127, 0, 14, 252, 126},
          Row{127, 2, 12, 270, 162}, Row{127, 4, 10, 342, 306}, Row{127, 6, 8, 630, 882},
          Row{127, 7, 7, 889, 1524}}) {
        const auto verdict = prove_blocks(fmt::format("generalized:r={}", row.r), row.n);
        EXPECT_TRUE(verdict.valid) << row.n << " r=" << row.r << ": " << verdict.error;
        EXPECT_EQ(verdict.rounds, row.steps) << row.n << " r=" << row.r;
        EXPECT_EQ(verdict.bytes_sent_max, row.sent * 8) << row.n << " r=" << row.r;
        EXPECT_EQ(verdict.reduced_bytes_max, row.reduced * 8) << row.n << " r=" << row.r;
    }
}

TEST(AllreduceCounts, GeneralizedIsRightForEverySizeAndEveryR) {
    for (std::uint64_t n = 1; n <= 64; ++n) {
        for (std::uint64_t r = 0; r <= log2_ceil(n); ++r) {
            const auto verdict = prove_blocks(fmt::format("generalized:r={}", r), n);
            const Vectors vectors = generalized_vectors(n, r);
            ASSERT_TRUE(verdict.valid) << n << " r=" << r << ": " << verdict.error;
            EXPECT_TRUE(verdict.synchronizing);
            EXPECT_TRUE(verdict.bit_identical || r > 0) << n;
            EXPECT_EQ(verdict.rounds, vectors.steps) << n << " r=" << r;
            EXPECT_EQ(verdict.bytes_sent_max, vectors.sent * 8) << n << " r=" << r;
            EXPECT_EQ(verdict.bytes_total, n * vectors.sent * 8) << n << " r=" << r;
            EXPECT_EQ(verdict.reduced_bytes_max, vectors.reduced * 8) << n << " r=" << r;
            EXPECT_EQ(verdict.messages, n * vectors.steps);
        }
    }
}

TEST(AllreduceCounts, GeneralizedOnACubeHasTheBytesOfHalvingAndOfDoubling) {
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
    // Peers of the cube are those of the exclusive or.
    const auto programs = generate_all("allreduce", *parse_spec("generalized:group=2x2x2"),
                                       {.size = 8, .elements = 8});
    for (const plan::Program& program : programs) {
        std::vector<Rank> peers;
        for (const plan::Step& step : program.steps)
            if (step.kind == plan::StepKind::put) peers.push_back(step.peer ^ program.rank);
        EXPECT_EQ(peers, (std::vector<Rank>{1, 2, 4, 4, 2, 1}));
    }
}

TEST(AllreduceCounts, GeneralizedServesMixedGroups) {
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
              "character 19: group=4x4 is not a product of 12 ranks");
    EXPECT_EQ(refused("generalized:group=axe"),
              "character 19: group=axe is no list of factors, as in group=4x3x2");
    EXPECT_EQ(refused("generalized:r=5"), "character 15: r=5 is not in 0..4");
}

}  // namespace
}  // namespace weft::collectives
