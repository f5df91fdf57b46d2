// SPDX-License-Identifier: BSD-3-Clause
// Goal: one rank of a node computes a choice, and the others use it. A rank computes the choice
// itself if it cannot get it from another rank.
// Method: several NodeChoices over one table stand for the ranks of a node.
#include "run/team/node_choices.hpp"

#include <gtest/gtest.h>

#include <string>

#include "run/team/choice.hpp"

namespace weft::run {
namespace {

struct Table {
    alignas(64) std::byte bytes[NodeChoices::kBytes] = {};
};

/// One rank, which counts the choices that it computes.
struct RankOfNode {
    explicit RankOfNode(Table& table, int wait_ms = 1000)
        : choices(table.bytes, std::chrono::milliseconds(wait_ms)) {}

    ChoiceText get(const std::string& key, const ChoiceText& own) {
        return *choices.get(key, [&]() -> base::Result<ChoiceText> {
            ++computed;
            return own;
        });
    }

    NodeChoices choices;
    int computed = 0;
};

TEST(NodeChoices, TheSecondRankUsesTheChoiceOfTheFirst) {
    Table table;
    RankOfNode first(table);
    RankOfNode second(table);
    first.get("allreduce 8", {"ring", "short"});
    const ChoiceText found = second.get("allreduce 8", {"tree", "other"});
    EXPECT_EQ(found.algorithm, "ring");
    EXPECT_EQ(found.reason, "short");
    EXPECT_EQ(second.computed, 0);
    EXPECT_EQ(second.get("allreduce 9", {"tree", ""}).algorithm, "tree");
    EXPECT_EQ(second.computed, 1);
}

TEST(NodeChoices, ARankComputesAChoiceThatIsNotPublishedInTime) {
    Table table;
    RankOfNode impatient(table, /*wait_ms=*/1);
    const NodeChoices slow(table.bytes);
    const auto entry = slow.get("key", [&]() -> base::Result<ChoiceText> {
        // While `slow` computes, the other rank waits for 1 ms, then computes a choice itself.
        EXPECT_EQ(impatient.get("key", {"tree", ""}).algorithm, "tree");
        return ChoiceText{"ring", ""};
    });
    EXPECT_EQ(entry->algorithm, "ring");
    EXPECT_EQ(impatient.computed, 1);
    EXPECT_EQ(impatient.get("key", {"tree", ""}).algorithm, "ring")
        << "expected the choice of slow";
}

TEST(NodeChoices, LongTextsAndFailuresAreNotPublished) {
    Table table;
    RankOfNode first(table);
    RankOfNode second(table);
    const std::string too_long(NodeChoices::kEntryBytes, 'a');
    first.get("long", {too_long, ""});
    EXPECT_EQ(second.get("long", {too_long, ""}).algorithm, too_long);
    EXPECT_EQ(second.computed, 1);
    const auto failed = first.choices.get(
        "failure", [] { return base::Result<ChoiceText>(base::fail(Status::argument, "none")); });
    EXPECT_FALSE(failed.ok());
    EXPECT_EQ(second.get("failure", {"tree", ""}).algorithm, "tree");
}

TEST(NodeChoices, WithAFullTableRanksComputeTheirChoices) {
    Table table;
    RankOfNode first(table);
    RankOfNode second(table);
    const int keys = 2 * NodeChoices::kEntries;
    for (RankOfNode* const rank : {&first, &second})
        for (int i = 0; i < keys; ++i) {
            const std::string text = std::to_string(i);
            EXPECT_EQ(rank->get(text, {text, ""}).algorithm, text);
        }
    EXPECT_EQ(first.computed, keys);
    EXPECT_GE(second.computed, keys - static_cast<int>(NodeChoices::kEntries));
    EXPECT_LT(second.computed, keys);
}

TEST(NodeChoices, ARankReadsThePublishedChoice) {
    // The second rank has other costs, so alone it would choose another algorithm.
    Table table;
    plan::Machine slow_machine = machine_over("");
    slow_machine.near.byte_fs *= 100'000;
    const CallClass call = rounded(class_of({.collective = Collective::allreduce, .count = 64}));
    const auto text = [&](const PlanContext& context) {
        return choose_algorithm(context, call)->text;
    };
    const NodeChoices choices(table.bytes);
    const PlanContext first{.size = 8, .machine = machine_over(""), .choices = choices};
    const PlanContext second{.size = 8, .machine = slow_machine, .choices = choices};
    const PlanContext alone{.size = 8, .machine = slow_machine};
    EXPECT_NE(text(first), text(alone));
    EXPECT_EQ(text(second), text(first));
}

}  // namespace
}  // namespace weft::run
