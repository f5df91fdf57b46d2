// SPDX-License-Identifier: BSD-3-Clause
// Goal: measured points become ranges of sizes, in which a job uses the measured algorithm instead
// of a prediction. Malformed files are refused.
// Method: handwritten tables.
#include <gtest/gtest.h>

#include "run/job/measured_files.hpp"
#include "run/team/choice.hpp"
#include "tools/lab/cost/tuned_points.hpp"

namespace weft::plan {
namespace {

/// An allreduce of four ranks on one node.
const TunedCase kOnFour{
    .collective = "allreduce", .layout = "4", .provider = "none", .same_bits = true};

TEST(Tuning, AdjacentSizesWithOneWinnerFormOneRange) {
    const std::vector<lab::TunedPoint> points{
        {kOnFour, 64, "a2,a2", 2},  {kOnFour, 8, "a4", 1},      {kOnFour, 512, "a2,a2", 3},
        {kOnFour, 8, "a2,a2", 1.5}, {kOnFour, 4096, "ring", 9}, {kOnFour, 1 << 20, "ring", 99}};
    const auto choices = lab::choices_of(points);
    ASSERT_EQ(choices.size(), 3U);
    EXPECT_EQ(choices[0].algorithm, "a2,a2") << "the last point of a size applies";
    EXPECT_EQ(choices[0].from_bytes, 3U);
    EXPECT_EQ(choices[0].to_bytes, 1448U) << "the geometric middle of 512 and 4096";
    EXPECT_EQ(choices[0].median_us, 3);
    EXPECT_EQ(choices[1].from_bytes, 1449U);
    EXPECT_EQ(choices[1].to_bytes, 16384U) << "at most four times the last measured size, 4096";
    EXPECT_EQ(choices[2].from_bytes, (1U << 18) + 1);
    EXPECT_EQ(choices[2].to_bytes, 1U << 22);
}

TEST(Tuning, CasesAreKeptSeparate) {
    TunedCase other = kOnFour;
    other.layout = "2,2";
    TunedCase barrier = kOnFour;
    barrier.collective = "barrier";
    const Tuning tuning(lab::choices_of(std::vector<lab::TunedPoint>{
                            {kOnFour, 8, "a4", 1}, {other, 8, "a2,a2", 2}, {barrier, 0, "a4", 3}}),
                        "here");
    EXPECT_EQ(tuning.find(kOnFour, 8)->algorithm, "a4");
    EXPECT_EQ(tuning.find(other, 16)->algorithm, "a2,a2");
    EXPECT_EQ(tuning.find(barrier, 0)->median_us, 3);
    EXPECT_EQ(tuning.find(kOnFour, 64), nullptr);
    TunedCase any_bits = kOnFour;
    any_bits.same_bits = false;
    EXPECT_EQ(tuning.find(any_bits, 8)->algorithm, "a4") << "serves calls with weaker requirements";
    other.provider = "net";
    EXPECT_EQ(tuning.find(other, 8), nullptr);
    other.provider = "";
    EXPECT_NE(tuning.find(other, 8), nullptr);
}

TEST(Tuning, ConsecutiveRanksOfNodesHaveALayoutText) {
    EXPECT_EQ(layout_text({}, 5), "5");
    EXPECT_EQ(layout_text(std::vector<Rank>{7, 7, 7, 2, 5, 5, 5, 5}, 8), "3,1,4");
    EXPECT_EQ(layout_text(std::vector<Rank>{0, 1, 0}, 3), "");
}

std::string file_with(const std::string& choice) {
    return R"({"schema": "weft-tuning-1", "new": [[1, {"choices": 2}], null],
               "choices": [)" +
           choice + "]}";
}
const std::string kRing = R"({"collective": "allreduce", "layout": "4", "provider": "none",
    "same_bits": true, "from_bytes": 5, "to_bytes": 64, "algorithm": "ring", "median_us": 1.25,
    "tried": ["a4"]})";

TEST(Tuning, AMeasuredTeamUsesTheMeasuredAlgorithm) {
    const auto tuning = run::parse_tuning(file_with(kRing + "," + kRing), "file.json");
    ASSERT_TRUE(tuning.ok()) << tuning.failure().text;
    ASSERT_EQ(tuning->choices().size(), 2U);
    const Machine machine = run::machine_over("");
    const auto choose = [&](std::size_t count, Type type, Rank size) {
        return *run::rank_algorithms(
            machine, size,
            run::class_of({.collective = Collective::allreduce, .count = count, .type = type}),
            *tuning);
    };
    const Choice measured = choose(8, Type::float64, 4);
    EXPECT_EQ(measured.algorithm(), "ring");
    EXPECT_EQ(measured.measured_us, 1.25);
    EXPECT_NE(measured.reason.find("measured (file.json): 1.250 us; without it "),
              std::string::npos)
        << measured.reason;
    for (const Choice& predicted : {choose(32, Type::float64, 4), choose(8, Type::float64, 5)}) {
        EXPECT_FALSE(predicted.measured_us.has_value());
        EXPECT_NE(predicted.algorithm(), "ring");
    }
    const auto chosen = run::choose_algorithm(
        {.size = 4, .machine = machine, .tuning = &*tuning, .provider = "none"},
        run::rounded(run::class_of({.collective = Collective::allreduce, .count = 8})));
    ASSERT_TRUE(chosen.ok());
    EXPECT_EQ(chosen->text, "ring");
    EXPECT_EQ(chosen->reason, "measured (file.json): 1.250 us");
}

TEST(Tuning, UnsuitableMeasuredAlgorithmsAreSkipped) {
    // "mapped" needs memory of local peers, generalized with r = 1 gives ranks different bits, a
    // butterfly needs a power of two, and "gone" does not exist.
    for (const char* algorithm : {"mapped", "generalized:r=1", "butterfly", "gone"}) {
        std::string text = kRing;
        text.replace(text.find("ring"), 4, algorithm);
        text.replace(text.find("\"4\""), 3, "\"3\"");
        const auto tuning = run::parse_tuning(file_with(text), "file");
        ASSERT_TRUE(tuning.ok()) << tuning.failure().text;
        const auto chosen = run::choose_algorithm(
            {.size = 3, .machine = run::machine_over(""), .tuning = &*tuning, .provider = "none"},
            run::rounded(run::class_of({.collective = Collective::allreduce, .count = 8})));
        ASSERT_TRUE(chosen.ok());
        EXPECT_NE(chosen->text, algorithm);
        EXPECT_EQ(chosen->reason.find("measured"), std::string::npos);
    }
}

TEST(Tuning, MalformedFilesAreRefused) {
    const auto refusal = [](const std::string& text) {
        const auto tuning = run::parse_tuning(text, "file");
        return tuning ? std::string("accepted") : tuning.failure().text;
    };
    for (const char* text : {"", "{", "[]", "7", R"({"choices": []})", R"({"schema": "other"})"})
        EXPECT_NE(refusal(text).find("weft-tuning-1"), std::string::npos) << text;
    EXPECT_EQ(refusal(file_with("")), "accepted");
    EXPECT_NE(refusal(std::string(100'000, '[')).find("weft-tuning-1"), std::string::npos);
    for (const auto& [from, to, words] :
         {std::tuple{"\"allreduce\"", "\"alreduce\"", "choice 0: unknown collective 'alreduce'"},
          std::tuple{"\"4\"", "\"\"", "choice 0: has no layout"},
          std::tuple{"64", "-1", "choice 0: to_bytes: '-1' is not a number"},
          std::tuple{"64", "4", "from_bytes 5 is more than to_bytes 4"},
          std::tuple{"ring", "ring:", "choice 0: algorithm \"ring:\""}}) {
        std::string text = kRing;
        text.replace(text.find(from), std::string_view(from).size(), to);
        EXPECT_NE(refusal(file_with(text)).find(words), std::string::npos)
            << refusal(file_with(text));
    }
}

TEST(MeasuredCosts, AFileReplacesOnlyTheCostsInIt) {
    const Machine machine = run::machine_over("");
    for (const char* text : {"far_latency_ns 1000\nmapped_ns 7 # of a page\nenergy 3\n",
                             R"({"schema": "weft-parameters-1", "turns": [{"half_us": 1}],
                                 "parameters": {"far_latency_ns": 1000, "mapped_ns": 7.0}})"}) {
        const auto costs = run::parse_costs(text);
        ASSERT_TRUE(costs.ok()) << costs.failure().text;
        const Machine measured = costs->over(machine);
        EXPECT_EQ(measured.far.latency, 1'000'000);
        EXPECT_EQ(measured.far.issue, 0) << "if a file has any cost of remote puts, the rest are 0";
        EXPECT_EQ(measured.near.latency, machine.near.latency);
        EXPECT_EQ(measured.mapped, 7'000);
        EXPECT_EQ(measured.mapped_byte_fs, machine.mapped_byte_fs);
        EXPECT_EQ(measured.reduce_byte_fs, machine.reduce_byte_fs);
    }
    EXPECT_NE(run::parse_costs("near_turn_ns x").failure().text.find("near_turn_ns: 'x'"),
              std::string::npos);
    EXPECT_FALSE(run::parse_costs("{}").ok());
}

TEST(MeasuredCosts, AFileSetsCostsOfSlotsCellsAndCalls) {
    const auto costs = run::parse_costs(
        "near_slot_ns 15.5\nfar_slot_ns 120\ncell_bytes 40\nunpack_ns_per_byte 0.25\n"
        "call_ns 30\nprocessors 18\nmapped_reduce_ns_per_byte 0.03\nexpose_ns 250\n"
        "copy_ns_per_byte 0.009\ncold_ns_per_byte 0.007\ncache_bytes 2M\n"
        "far_receive_ns_per_byte 0.03\n");
    ASSERT_TRUE(costs.ok()) << costs.failure().text;
    EXPECT_TRUE(costs->any());
    const Machine usual = run::machine_over("");
    EXPECT_EQ(usual.cell_bytes, 48U);
    EXPECT_EQ(usual.near.slot, 15'000);
    EXPECT_EQ(usual.far.slot, 0);
    const Machine measured = costs->over(usual);
    EXPECT_EQ(measured.near.slot, 15'500);
    EXPECT_EQ(measured.far.slot, 120'000);
    EXPECT_EQ(measured.cell_bytes, 40U);
    EXPECT_EQ(measured.slot_byte_fs, 250'000);
    EXPECT_EQ(measured.call, 30'000);
    EXPECT_EQ(usual.mapped_reduce_byte_fs, 20'000);
    EXPECT_EQ(measured.mapped_reduce_byte_fs, 30'000);
    EXPECT_EQ(usual.expose, 800'000);
    EXPECT_EQ(usual.copy_byte_fs, 0);
    EXPECT_EQ(usual.far.receive_byte_fs, 72'000) << "half of the cost of a byte";
    EXPECT_EQ(usual.unpack_byte_fs, 25'000);
    EXPECT_EQ(measured.unpack_byte_fs, 9'000) << "the cost of a copied byte";
    EXPECT_EQ(measured.expose, 250'000);
    EXPECT_EQ(measured.copy_byte_fs, 9'000);
    EXPECT_EQ(measured.cold_byte_fs, 7'000);
    EXPECT_EQ(measured.cache_bytes, 2U << 20);
    EXPECT_EQ(measured.far.receive_byte_fs, 30'000);
    EXPECT_EQ(plan::with_kernel_copies(measured).expose, 0) << "the kernel needs no shared pages";
    EXPECT_EQ(costs->processors(), 18);
    EXPECT_EQ(measured.host_processors, 1) << "a job counts its processors";
    EXPECT_FALSE(run::parse_costs("processors 0").ok());
}

TEST(MeasuredCosts, AFileSetsTheCostsOfRemappedMemory) {
    const link::AdoptionPrices usual;
    const auto prices = [](const char* text) { return run::prices_by(*run::parse_costs(text)); };
    EXPECT_EQ(prices("far_issue_ns 5").copy_ns, usual.copy_ns);
    // Costs of a copy by the kernel minus the costs of a copy in place.
    const link::AdoptionPrices copies =
        prices("mapped_ns 300\nmapped_ns_per_byte 0.05\nkernel_ns 2300\nkernel_ns_per_byte 0.07");
    EXPECT_EQ(copies.copy_ns, 2000U);
    EXPECT_EQ(copies.copied_byte_fs, 20'000U);
    EXPECT_EQ(copies.cost_of_copies({3, 1'000'001}), 3 * 2000U + 20'000);
    EXPECT_EQ(copies.adopt_ns, usual.adopt_ns);
    EXPECT_EQ(prices("kernel_ns 100").copy_ns, 0U)
        << "faster than in place: memory is never remapped";
    const link::AdoptionPrices adoption =
        prices("adopt_ns 1000\nadopt_ns_per_page 20\nwindow_ns 300\nwindow_ns_per_page 4");
    EXPECT_EQ(adoption.cost_of_adoption(10, 2, 15, 0), 1000 + 200 + 2 * 300 + 15 * 4);
    EXPECT_EQ(adoption.copy_ns, usual.copy_ns);
}

}  // namespace
}  // namespace weft::plan
