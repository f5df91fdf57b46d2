// SPDX-License-Identifier: BSD-3-Clause
// Goal: a change in a generator's output is visible in review.
// Method: the programs of worked examples are compared with files, which have the verifier's counts
// and the programs in text form. After an intended change run this program with GOLDEN_UPDATE=1 in
// the environment and review the difference.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/generate_all.hpp"
#include "tools/text/text.hpp"
#include "tools/verify/verify.hpp"

namespace weft::collectives {
namespace {

struct Golden {
    const char* file;
    const char* collective;
    const char* spec;
    GenerateRequest request;
};

std::string facts(const plan::Verdict& verdict) {
    return fmt::format(
        "# valid {} rounds {} messages {} signals {} bytes_total {} bytes_sent_max {} "
        "reduced_bytes_max {}\n# ordered {} bit_identical {} synchronizing {} slots_max {} "
        "descriptors_max {}\n",
        verdict.valid, verdict.rounds, verdict.messages, verdict.signals, verdict.bytes_total,
        verdict.bytes_sent_max, verdict.reduced_bytes_max, verdict.ordered, verdict.bit_identical,
        verdict.synchronizing, verdict.slots_max, verdict.descriptors_max);
}

std::string read(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

class GoldenPrograms : public ::testing::TestWithParam<Golden> {};

TEST_P(GoldenPrograms, ProgramsEqualTheirRecordedFiles) {
    const Golden& golden = GetParam();
    const auto programs = test::generate_all(golden.collective, golden.spec, golden.request);
    const auto verdict = plan::verify({.programs = programs,
                                       .contract = &contract(golden.collective),
                                       .elements = golden.request.elements,
                                       .element_bytes = 8});
    EXPECT_TRUE(verdict.valid) << verdict.error;
    const std::string text = facts(verdict) + plan::to_text(programs);
    const std::string path = fmt::format("{}/programs/{}.txt", GOLDEN_FOLDER, golden.file);
    if (std::getenv("GOLDEN_UPDATE") != nullptr) std::ofstream(path) << text;
    EXPECT_EQ(read(path), text) << path;
    const auto parsed = plan::parse_programs(text);
    ASSERT_TRUE(parsed.ok()) << parsed.failure().text;
    EXPECT_EQ(*parsed, programs);
}

constexpr auto kPaper = Placement::paper;

INSTANTIATE_TEST_SUITE_P(
    WorkedExamples, GoldenPrograms,
    ::testing::Values(
        Golden{"allreduce_6_a3_a2", "allreduce", "a3,a2", {.size = 6, .elements = 1}},
        Golden{"allreduce_6_c4m2_paper",
               "allreduce",
               "c4m2,a2,a2,e4m2",
               {.size = 6, .elements = 1, .placement = kPaper}},
        Golden{"allreduce_7_m1g2a3_paper",
               "allreduce",
               "m1g2a3,n1g3a2",
               {.size = 7, .elements = 1, .placement = kPaper}},
        Golden{"allreduce_7_m3g2a2_paper",
               "allreduce",
               "m3g2a2,n3g2a2",
               {.size = 7, .elements = 1, .placement = kPaper}},
        Golden{
            "allreduce_7_m3g2a2_ordered", "allreduce", "m3g2a2,n3g2a2", {.size = 7, .elements = 1}},
        Golden{"allreduce_7_c6m2_paper",
               "allreduce",
               "c6m2,a2,a2,e6m2",
               {.size = 7, .elements = 1, .placement = kPaper}},
        Golden{"allreduce_4_a2_a2_segments",
               "allreduce",
               "a2,a2",
               {.size = 4, .segments = 3, .elements = 9}},
        Golden{"barrier_6_dissemination", "barrier", "dissemination:k=2", {.size = 6}},
        Golden{"barrier_4_central", "barrier", "central", {.size = 4}},
        Golden{
            "broadcast_6_binomial", "broadcast", "binomial", {.size = 6, .root = 2, .elements = 1}},
        Golden{"broadcast_5_binomial_segments",
               "broadcast",
               "binomial:segments=4",
               {.size = 5, .root = 0, .elements = 8}},
        Golden{"broadcast_4_flat", "broadcast", "flat", {.size = 4, .root = 1, .elements = 1}},
        Golden{"broadcast_4_split_binary_segments",
               "broadcast",
               "split-binary:segments=3",
               {.size = 4, .root = 0, .elements = 6}},
        Golden{"allreduce_3_double_tree_segments",
               "allreduce",
               "double-tree:segments=3",
               {.size = 3, .elements = 6}},
        Golden{"allreduce_6_halving_doubling",
               "allreduce",
               "halving-doubling",
               {.size = 6, .elements = 8}},
        Golden{"allreduce_5_generalized_r1",
               "allreduce",
               "generalized:r=1",
               {.size = 5, .elements = 5}},
        Golden{"allreduce_6_elimination", "allreduce", "elimination", {.size = 6, .elements = 1}},
        Golden{"reduce_4_ring", "reduce", "ring", {.size = 4, .root = 1, .elements = 4}},
        Golden{"reduce_6_halving_doubling",
               "reduce",
               "halving-doubling",
               {.size = 6, .root = 3, .elements = 8}},
        Golden{"reduce_7_binary_blocks",
               "reduce",
               "binary-blocks",
               {.size = 7, .root = 6, .elements = 8}},
        Golden{"reduce_3_double_tree_segments",
               "reduce",
               "double-tree:segments=3",
               {.size = 3, .root = 0, .elements = 6}},
        Golden{"reduce_4_split_binary_segments",
               "reduce",
               "split-binary:segments=3",
               {.size = 4, .root = 0, .elements = 6}}),
    [](const auto& test) { return std::string(test.param.file); });

}  // namespace
}  // namespace weft::collectives
