// SPDX-License-Identifier: BSD-3-Clause
// Goal: programs of recursive multiplying communicate with the peers in the paper's tables.
// Method: the worked examples, stage by stage, in the paper's placement of remainders.
#include <set>

#include "plan/schedule/step.hpp"
#include "tests/model/collectives/proof.hpp"

namespace weft::collectives {
namespace {

using plan::Program;
using plan::Step;
using plan::StepKind;

/// Puts as "from->to", by stage.
using Stages = std::vector<std::set<std::string>>;
/// Returns the puts of all programs. `firsts` has the first slot of each stage.
Stages stages_of(const std::vector<Program>& list, const std::vector<std::uint32_t>& firsts) {
    Stages stages(firsts.size());
    for (const Program& program : list) {
        for (const Step& step : program.steps) {
            if (step.kind != StepKind::put) continue;
            std::size_t stage = 0;
            while (stage + 1 < firsts.size() && step.signal >= firsts[stage + 1]) ++stage;
            const bool is_new =
                stages[stage].insert(fmt::format("{}->{}", program.rank, step.peer)).second;
            EXPECT_TRUE(is_new) << program.rank << " puts twice to " << step.peer;
        }
    }
    return stages;
}

/// Returns the puts between all pairs in each group, and `others`.
std::set<std::string> groups(std::initializer_list<std::initializer_list<int>> all,
                             std::set<std::string> others = {}) {
    for (const auto& group : all)
        for (const int from : group)
            for (const int to : group)
                if (from != to) others.insert(fmt::format("{}->{}", from, to));
    return others;
}

void expect_stages(const std::string& schedule, int size, const std::vector<std::uint32_t>& firsts,
                   const Stages& expected) {
    const auto list = generate_all("allreduce", *parse_spec(schedule),
                                   {.size = size, .elements = 1, .placement = Placement::paper});
    EXPECT_EQ(stages_of(list, firsts), expected) << schedule << " on " << size;
}

TEST(Multiplying, WorkedExamplesHaveThePublishedPeers) {
    expect_stages("a3,a2", 6, {0, 3},
                  {groups({{0, 1, 2}, {3, 4, 5}}), groups({{0, 3}, {1, 4}, {2, 5}})});
    expect_stages(
        "c4m2,a2,a2,e4m2", 6, {0, 1, 3, 5},
        {{"0->1", "2->3"}, groups({{1, 3}, {4, 5}}), groups({{1, 4}, {3, 5}}), {"1->0", "3->2"}});
    expect_stages("m1g2a3,n1g3a2", 7, {0, 4},
                  {groups({{1, 2, 3}, {4, 5, 6}}, {"0->1", "0->2", "0->3"}),
                   groups({{1, 4}, {2, 5}, {3, 6}}, {"1->0", "4->0"})});
    expect_stages("m3g2a2,n3g2a2", 7, {0, 4},
                  {groups({{3, 4}, {5, 6}}, {"0->3", "0->4", "2->3", "2->4", "1->5", "1->6"}),
                   groups({{3, 5}, {4, 6}}, {"3->0", "5->0", "4->1", "6->1", "3->2", "5->2"})});
    expect_stages("c6m2,a2,a2,e6m2", 7, {0, 1, 3, 5},
                  {{"0->1", "2->3", "4->5"},
                   groups({{1, 3}, {5, 6}}),
                   groups({{1, 5}, {3, 6}}),
                   {"1->0", "3->2", "5->4"}});
}

TEST(Multiplying, LargerWorkedExamplesHaveThePublishedPeers) {
    expect_stages("a2,a5", 10, {0, 2},
                  {groups({{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}}),
                   groups({{0, 2, 4, 6, 8}, {1, 3, 5, 7, 9}})});
    expect_stages("c4m2,a8,e4m2", 10, {0, 1, 9},
                  {{"0->1", "2->3"}, groups({{1, 3, 4, 5, 6, 7, 8, 9}}), {"1->0", "3->2"}});
    expect_stages("m2g3a3,n2g3a3", 11, {0, 4},
                  {groups({{2, 3, 4}, {5, 6, 7}, {8, 9, 10}},
                          {"0->2", "0->3", "0->4", "1->5", "1->6", "1->7"}),
                   groups({{2, 5, 8}, {3, 6, 9}, {4, 7, 10}},
                          {"2->0", "5->0", "8->0", "3->1", "6->1", "9->1"})});
    expect_stages(
        "m1g2a5,n1g5a2", 11, {0, 6},
        {groups({{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}, {"0->1", "0->2", "0->3", "0->4", "0->5"}),
         groups({{1, 6}, {2, 7}, {3, 8}, {4, 9}, {5, 10}}, {"1->0", "6->0"})});
    expect_stages(
        "m1g4a3,n1g3a4", 13, {0, 4},
        {groups({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}}, {"0->1", "0->2", "0->3"}),
         groups({{1, 4, 7, 10}, {2, 5, 8, 11}, {3, 6, 9, 12}}, {"1->0", "4->0", "7->0", "10->0"})});
    expect_stages(
        "m1g3a4,n1g4a3", 13, {0, 5},
        {groups({{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}, {"0->1", "0->2", "0->3", "0->4"}),
         groups({{1, 5, 9}, {2, 6, 10}, {3, 7, 11}, {4, 8, 12}}, {"1->0", "5->0", "9->0"})});
    // After stage c10m2, ranks 1, 3, 5, 7, 9, 10, 11, 12 remain.
    expect_stages("c10m2,a2,a2,a2,e10m2", 13, {0, 1, 3, 5, 7},
                  {{"0->1", "2->3", "4->5", "6->7", "8->9"},
                   groups({{1, 3}, {5, 7}, {9, 10}, {11, 12}}),
                   groups({{1, 5}, {3, 7}, {9, 11}, {10, 12}}),
                   groups({{1, 9}, {3, 10}, {5, 11}, {7, 12}}),
                   {"1->0", "3->2", "5->4", "7->6", "9->8"}});
}

}  // namespace
}  // namespace weft::collectives
