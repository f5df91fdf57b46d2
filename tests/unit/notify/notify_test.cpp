// SPDX-License-Identifier: BSD-3-Clause
// Goal: a notify strategy is chosen only if the provider's profile promises its guarantee and the
// grant (the features of an endpoint) has the features that it needs. The profile's order of
// preference is kept, and refusals name the reason. The table in docs/one-sided.md agrees with the
// profiles. Method: tests remove single promises and features from full profiles and grants, and
// read the page.
#include "link/fabric/notify.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "link/fabric/profile.hpp"

namespace weft::link {
namespace {

/// Returns a grant of all features that strategies need.
Grant full_grant() {
    Grant grant;
    grant.immediate_bytes = grant.key_bytes = 8;
    grant.fence = grant.counters = grant.delivery = true;
    return grant;
}

/// Returns a profile that promises all guarantees.
Profile full_profile() {
    Profile profile{.provider = "recorded"};
    for (Promise* promise : {&profile.cells, &profile.immediate, &profile.delivery, &profile.fence,
                             &profile.ordered, &profile.counter})
        *promise = {true, "it was written down for a test"};
    return profile;
}

NotifyPlan plan_of(const Profile& profile, const Grant& grant, std::optional<Notify> forced) {
    const auto plan = choose_notify(profile, grant, forced);
    EXPECT_TRUE(plan) << (plan ? "" : plan.failure().text);
    return plan ? *plan : NotifyPlan{};
}

std::string refusal_of(const Profile& profile, const Grant& grant, std::optional<Notify> forced) {
    const auto plan = choose_notify(profile, grant, forced);
    EXPECT_FALSE(plan) << to_text(*plan);
    return plan ? "" : plan.failure().text;
}

TEST(Notify, AProviderWithoutFurtherPromisesGetsImmediates) {
    const Profile unknown{.provider = "recorded"};
    EXPECT_EQ(plan_of(unknown, full_grant(), {}),
              (NotifyPlan{Notify::immediate, Notify::immediate}));
    for (const Notify notify :
         {Notify::cells, Notify::delivery, Notify::fence, Notify::ordered, Notify::counter}) {
        const std::string refusal = refusal_of(unknown, full_grant(), notify);
        EXPECT_NE(refusal.find(fmt::format("WEFT_NOTIFY={}", name_of(notify))), std::string::npos);
        EXPECT_NE(refusal.find("\"recorded\""), std::string::npos) << refusal;
        EXPECT_NE(refusal.find(judge_notify(notify, unknown, full_grant()).why), std::string::npos);
        EXPECT_NE(refusal.find("it promises: immediate"), std::string::npos) << refusal;
    }
}

TEST(Notify, AForcedStrategyIsUsedForAllPayloads) {
    for (const Notify notify :
         {Notify::immediate, Notify::delivery, Notify::fence, Notify::ordered, Notify::counter})
        EXPECT_EQ(plan_of(full_profile(), full_grant(), notify), (NotifyPlan{notify, notify}));
}

TEST(Notify, ForcedCellsLeaveLargePayloadsToThePreference) {
    constexpr Notify kOrdered[] = {Notify::ordered};
    Profile profile = full_profile();
    EXPECT_EQ(plan_of(profile, full_grant(), Notify::cells),
              (NotifyPlan{Notify::cells, Notify::immediate}));
    profile.preference = kOrdered;
    EXPECT_EQ(plan_of(profile, full_grant(), Notify::cells),
              (NotifyPlan{Notify::cells, Notify::ordered}));
}

TEST(Notify, TheFirstPromisedStrategyOfThePreferenceIsChosen) {
    constexpr Notify kOrder[] = {Notify::cells, Notify::fence, Notify::delivery};
    Profile profile = full_profile();
    profile.preference = kOrder;
    EXPECT_EQ(plan_of(profile, full_grant(), {}), (NotifyPlan{Notify::fence, Notify::fence}));
    profile.prefers_cells = true;
    EXPECT_EQ(plan_of(profile, full_grant(), {}), (NotifyPlan{Notify::cells, Notify::fence}));
    profile.cells = {false, "no"};
    Grant grant = full_grant();
    grant.fence = false;
    EXPECT_EQ(plan_of(profile, grant, {}), (NotifyPlan{Notify::delivery, Notify::delivery}));
}

TEST(Notify, StrategiesWithoutTheirGrantsAreNotPromised) {
    Grant grant = full_grant();
    grant.immediate_bytes = 2;
    EXPECT_NE(judge_notify(Notify::immediate, full_profile(), grant).why.find("cq_data_size"),
              std::string::npos);
    EXPECT_EQ(plan_of(full_profile(), grant, {}), (NotifyPlan{Notify::ordered, Notify::ordered}));
    grant.delivery = false;
    for (const Notify notify : {Notify::delivery, Notify::fence}) {
        const NotifyFinding finding = judge_notify(notify, full_profile(), grant);
        EXPECT_FALSE(finding.promised);
        EXPECT_NE(finding.why.find("FI_DELIVERY_COMPLETE"), std::string::npos) << finding.why;
    }
    grant.fence = false;
    EXPECT_NE(judge_notify(Notify::fence, full_profile(), grant).why.find("FI_FENCE"),
              std::string::npos);
}

TEST(Notify, AFenceRequiresDeliveryCompletions) {
    Profile profile = full_profile();
    profile.delivery = {false, "completions precede delivery"};
    EXPECT_FALSE(judge_notify(Notify::fence, profile, full_grant()).promised);
    EXPECT_FALSE(judge_notify(Notify::counter, profile, full_grant()).promised);
}

TEST(Notify, AProviderWithoutAnyPromiseIsRefused) {
    Profile profile{.provider = "recorded"};
    profile.immediate = {false, "it is switched off"};
    const std::string refusal = refusal_of(profile, full_grant(), {});
    EXPECT_NE(refusal.find("it is switched off"), std::string::npos) << refusal;
    profile.cells = {true, "words are whole"};
    EXPECT_FALSE(choose_notify(profile, full_grant(), {})) << "cells have no large payloads";
}

TEST(Completion, OrderIsPreferredToImmediatesAndDelivery) {
    using base::RemoteCompletion;
    Profile profile = full_profile();
    Grant grant = full_grant();
    EXPECT_EQ(choose_completion(profile, grant, {}), RemoteCompletion::ordered);
    profile.ordered.holds = false;
    EXPECT_EQ(choose_completion(profile, grant, {}), RemoteCompletion::counted);
    grant.immediate_bytes = 0;
    EXPECT_EQ(choose_completion(profile, grant, {}), RemoteCompletion::delivered);
}

TEST(Completion, AForcedStrategyDeterminesTheCompletion) {
    using base::RemoteCompletion;
    for (const auto& [forced, completion] :
         {std::pair{Notify::immediate, RemoteCompletion::counted},
          {Notify::ordered, RemoteCompletion::ordered},
          {Notify::delivery, RemoteCompletion::delivered},
          {Notify::fence, RemoteCompletion::delivered},
          {Notify::counter, RemoteCompletion::delivered},
          {Notify::cells, RemoteCompletion::ordered}})
        EXPECT_EQ(choose_completion(full_profile(), full_grant(), forced), completion)
            << name_of(forced);
}

TEST(Notify, APlanIsPrintedAsOneOrTwoStrategies) {
    EXPECT_EQ(to_text({Notify::cells, Notify::immediate}), "cells up to 48 bytes, immediate above");
    EXPECT_EQ(to_text({Notify::fence, Notify::fence}), "fence");
}

// --- The manual's table -------------------------------------------------------------------------

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream stream(line.substr(1));
    for (std::string cell; std::getline(stream, cell, '|');) {
        const std::size_t first = cell.find_first_not_of(' ');
        const std::size_t last = cell.find_last_not_of(' ');
        cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
    return cells;
}

/// Returns the page's "yes" or "no" for each provider (in backquotes) and strategy.
std::map<std::string, std::map<std::string, std::string>> table_of_the_page() {
    std::ifstream page(SOURCE_FOLDER "/docs/one-sided.md");
    std::map<std::string, std::map<std::string, std::string>> table;
    std::vector<std::string> strategies;
    for (std::string line; std::getline(page, line);) {
        if (line.rfind("| Provider |", 0) == 0) {
            strategies = cells_of(line);
        } else if (!strategies.empty() && line.rfind("| `", 0) == 0) {
            const std::vector<std::string> row = cells_of(line);
            for (std::size_t i = 1; i < row.size() && i < strategies.size(); ++i)
                table[row[0]][strategies[i]] = row[i].substr(0, row[i].find(','));
        } else if (line.empty()) {
            strategies.clear();
        }
    }
    return table;
}

TEST(NotifyTable, TheManualAgreesWithTheProfiles) {
    const auto table = table_of_the_page();
    std::vector<const Profile*> profiles(preferred_profiles().begin(), preferred_profiles().end());
    for (const Profile* profile : profiles) {
        const std::string name = fmt::format("`{}`", profile->provider);
        ASSERT_TRUE(table.contains(name)) << "docs/one-sided.md has no row for " << name;
        for (const Notify notify : kNotifies) {
            const bool promised = judge_notify(notify, *profile, full_grant()).promised;
            const auto& row = table.at(name);
            const std::string strategy(name_of(notify));
            ASSERT_TRUE(row.contains(strategy)) << name << ": no column " << strategy;
            EXPECT_EQ(row.at(strategy), promised ? "yes" : "no") << name << ", " << strategy;
        }
    }
    EXPECT_EQ(table.size(), profiles.size()) << "docs/one-sided.md has a row without a profile";
}

}  // namespace
}  // namespace weft::link
