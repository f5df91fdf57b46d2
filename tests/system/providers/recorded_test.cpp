// SPDX-License-Identifier: BSD-3-Clause
// Goal: the decisions about each provider are right, also if this machine does not have it: its
// requirements, the strategies of notification for small and large payloads, and whether each
// forced strategy is accepted, or refused with its reason.
// Method: a table has attributes, recorded from fi_getinfo or taken from the provider's sources,
// and the expected decisions.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "link/fabric/notify.hpp"
#include "link/fabric/profile.hpp"
#include "link/fabric/survey.hpp"
#include "tests/system/providers/fabric_job.hpp"
#include "tests/system/providers/recorded_offer.hpp"

namespace weft::test {
namespace {

using link::Notify;

constexpr std::uint64_t kAnyOrder = ~std::uint64_t{0};

/// Attributes that a provider reports under weft's hints, and the expected decisions.
struct Row {
    const char* provider;
    const char* source;  ///< recorded: from fi_getinfo(); declared: from the provider's sources
    int mr_mode;
    std::size_t key_bytes;
    std::size_t immediate_bytes;
    std::size_t inject_bytes;
    bool ordered;
    bool fence;     ///< granted on request
    bool delivery;  ///< accepted for operations
    std::uint64_t mode;

    const char* plan;      ///< to_text() of the default choice
    const char* promised;  ///< strategies that can be forced
};

constexpr int kBasic = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

const Row kRows[] = {
    {"tcp;ofi_rxm", "recorded, 1.17", 0, 8, 8, 64, true, false, true, 0,
     "cells up to 48 bytes, immediate above", "immediate cells delivery ordered"},
    {"net", "recorded, 1.17", 0, 8, 8, 128, true, false, true, 0, "immediate",
     "immediate cells delivery ordered"},
    {"shm", "recorded, 1.17", 0, 8, 8, 4096, true, false, true, 0, "immediate",
     "immediate cells delivery ordered"},
    {"udp;ofi_rxd", "recorded, 1.17", 0, 8, 8, 1256, true, false, true, 0, "immediate",
     "immediate cells delivery"},
    {"sockets", "recorded, 1.17", 0, 8, 8, 255, true, true, true, 0, "immediate",
     "immediate delivery fence counter"},
    {"tcp", "declared, 2.6", 0, 8, 8, 128, true, false, true, 0, "immediate",
     "immediate cells delivery ordered"},
    {"cxi", "declared, 2.6", FI_MR_ENDPOINT | FI_MR_ALLOCATED, 4, 8, 192, false, true, true, 0,
     "cells up to 48 bytes, delivery above", "cells delivery fence"},
    {"psm2", "declared, 2.6", 0, 8, 8, 64, true, false, true, 0, "immediate", "immediate delivery"},
    {"psm3", "declared, 2.6", 0, 8, 8, 64, true, false, true, 0, "immediate", "immediate delivery"},
    {"verbs;ofi_rxm", "declared, 2.6", kBasic | FI_MR_LOCAL, 4, 4, 64, true, false, true,
     FI_CONTEXT, "immediate", "immediate"},
    {"efa", "declared, 2.6", kBasic | FI_MR_LOCAL, 4, 4, 32, false, false, true, FI_CONTEXT2,
     "immediate", "immediate"},
    {"opx", "declared, 2.6", 0, 8, 4, 16, false, false, true, FI_CONTEXT2, "immediate",
     "immediate"},
    {"gni", "declared, 1.20", FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY, 8, 8, 64, false,
     true, false, 0, "immediate", "immediate"},
};

/// Returns true if the provider grants counters if they are requested.
bool grants_counters(const Row& row) {
    return std::string_view(row.provider) == "sockets";
}

void set_attributes(const Row& row, RecordedOffer& offer) {
    offer.name(row.provider);
    offer.info.caps = FI_RMA | (row.fence ? FI_FENCE : 0) |
                      (grants_counters(row) ? FI_RMA_EVENT : std::uint64_t{0});
    offer.info.mode = row.mode;
    offer.tx.inject_size = row.inject_bytes;
    offer.tx.msg_order = row.ordered ? FI_ORDER_WAW | FI_ORDER_RMA_WAW : 0;
    offer.tx.op_flags = row.delivery ? FI_DELIVERY_COMPLETE : 0;
    offer.endpoint.max_order_waw_size = row.ordered ? kAnyOrder : 0;
    offer.domain_attributes.mr_mode = row.mr_mode;
    offer.domain_attributes.mr_key_size = row.key_bytes;
    offer.domain_attributes.cq_data_size = row.immediate_bytes;
}

void expect_attributes(const link::Grant& grant, const Row& row) {
    EXPECT_EQ(grant.virtual_addresses, (row.mr_mode & FI_MR_VIRT_ADDR) != 0);
    EXPECT_EQ(grant.provider_keys, (row.mr_mode & FI_MR_PROV_KEY) != 0);
    EXPECT_EQ(grant.local_registration, (row.mr_mode & FI_MR_LOCAL) != 0);
    EXPECT_EQ(grant.endpoint_registration, (row.mr_mode & FI_MR_ENDPOINT) != 0);
    EXPECT_EQ(grant.inject_bytes, row.inject_bytes);
    EXPECT_EQ(grant.immediate_bytes, row.immediate_bytes);
    EXPECT_EQ(grant.ordered_bytes != 0, row.ordered);
    EXPECT_EQ(grant.fence, row.fence);
    EXPECT_EQ(grant.delivery, row.delivery);
}

class Recorded : public testing::TestWithParam<Row> {};

TEST_P(Recorded, TheOfferIsAcceptedWithItsRequirements) {
    const Row& row = GetParam();
    RecordedOffer offer;
    set_attributes(row, offer);
    const auto grant = link::accept_offer(offer.info);
    ASSERT_TRUE(grant) << grant.failure().text;
    expect_attributes(*grant, row);
}

TEST_P(Recorded, PromisedNotificationsAreChosenAndOthersRefused) {
    const Row& row = GetParam();
    RecordedOffer offer;
    set_attributes(row, offer);
    const auto grant = link::accept_offer(offer.info);
    ASSERT_TRUE(grant) << grant.failure().text;
    const link::Profile& profile = link::profile_of(row.provider);
    ASSERT_EQ(profile.provider, row.provider) << "it has no profile";
    const auto chosen = link::choose_notify(profile, *grant, std::nullopt);
    ASSERT_TRUE(chosen) << chosen.failure().text;
    EXPECT_EQ(link::to_text(*chosen), row.plan);

    std::string promised;
    for (const Notify notify : link::kNotifies) {
        const auto forced = link::choose_notify(profile, *grant, notify);
        const std::string name(link::name_of(notify));
        if (forced) {
            promised += (promised.empty() ? "" : " ") + name;
            EXPECT_EQ(forced->small, notify);
            if (notify != Notify::cells) {
                EXPECT_EQ(forced->large, notify);
            }
        } else {
            const std::string& text = forced.failure().text;
            for (const std::string& word : {"WEFT_NOTIFY=" + name, std::string(row.provider),
                                            link::judge_notify(notify, profile, *grant).why}) {
                EXPECT_NE(text.find(word), std::string::npos) << word << " is not in: " << text;
            }
        }
    }
    EXPECT_EQ(promised, row.promised);
}

TEST_P(Recorded, TheProfileDeclaresTheOfferAndLeadsToTheSamePlan) {
    const Row& row = GetParam();
    const link::Profile& profile = link::profile_of(row.provider);
    const link::Grant& declared = profile.declared;
    EXPECT_FALSE(profile.declared_by.empty());
    EXPECT_FALSE(profile.cost.source.empty());
    expect_attributes(declared, row);
    EXPECT_EQ(declared.key_bytes, row.key_bytes);
    EXPECT_EQ(declared.counters, grants_counters(row));
    const link::FabricSurvey survey = link::survey_declared(profile, std::nullopt);
    EXPECT_EQ(link::to_text(survey.notify), row.plan);
    std::string promised;
    for (const link::NotifyFinding& finding : survey.strategies) {
        EXPECT_FALSE(finding.why.empty());
        if (!finding.promised) continue;
        promised += (promised.empty() ? "" : " ") + std::string(link::name_of(finding.strategy));
    }
    EXPECT_EQ(promised, row.promised);
}

TEST_P(Recorded, PromisesWithoutTheirGrantsAreIgnored) {
    const Row& row = GetParam();
    RecordedOffer offer;
    set_attributes(row, offer);
    offer.domain_attributes.cq_data_size = 3;
    offer.tx.op_flags = 0;
    offer.info.caps = FI_RMA;
    const auto grant = link::accept_offer(offer.info);
    ASSERT_TRUE(grant) << grant.failure().text;
    const link::Profile& profile = link::profile_of(row.provider);
    for (const Notify notify :
         {Notify::immediate, Notify::delivery, Notify::fence, Notify::counter}) {
        EXPECT_FALSE(link::choose_notify(profile, *grant, notify)) << link::name_of(notify);
    }
    // Other promises need no grant. Without such a promise, start-up fails with the reason.
    const auto chosen = link::choose_notify(profile, *grant, std::nullopt);
    EXPECT_EQ(chosen.ok(), profile.ordered.holds);
    if (!chosen) {
        const std::string why = link::judge_notify(Notify::immediate, profile, *grant).why;
        EXPECT_NE(chosen.failure().text.find(why), std::string::npos) << chosen.failure().text;
    }
}

void PrintTo(const Row& row, std::ostream* out) {
    *out << row.provider << ", " << row.source;
}

INSTANTIATE_TEST_SUITE_P(Providers, Recorded, testing::ValuesIn(kRows), [](const auto& chosen) {
    return provider_as_name(chosen.param.provider);
});

// --- The registry --------------------------------------------------------------------------------

TEST(Profiles, EveryProfileIsInTheTableAndComplete) {
    std::set<std::string_view> rows;
    for (const Row& row : kRows) rows.insert(row.provider);
    std::set<std::string_view> seen;
    for (const link::Profile* profile : link::preferred_profiles()) {
        EXPECT_FALSE(profile->provider.empty());
        EXPECT_TRUE(seen.insert(profile->provider).second)
            << profile->provider << " has two profiles";
        EXPECT_TRUE(rows.contains(profile->provider))
            << profile->provider << " has no row in kRows";
        EXPECT_EQ(&link::profile_of(profile->provider), profile);
        for (const link::Promise& promise : {profile->cells, profile->immediate, profile->delivery,
                                             profile->fence, profile->ordered}) {
            EXPECT_FALSE(promise.why.empty()) << profile->provider;
        }
        EXPECT_TRUE(!profile->prefers_cells || profile->cells.holds) << profile->provider;
    }
    EXPECT_EQ(rows, seen);
}

/// Returns "name=value name=value" for a job.
std::string settings_in(const link::JobFacts& job, const link::Profile& profile) {
    std::string text;
    for (const link::Setting& setting : profile.settings)
        text += (text.empty() ? "" : " ") + std::string(setting.name) + "=" + setting.value_in(job);
    return text;
}

TEST(Profiles, SettingsAreComputedFromTheJobAndHaveReasons) {
    const std::map<std::string_view, std::string> expected{
        {"psm2",
         "FI_PSM2_UUID=63cbe1e4-5932-0dd7-044c-3cd7f43c661c FI_PSM2_NAME_SERVER=0 "
         "FI_PSM2_LAZY_CONN=1"},
        {"psm3",
         "FI_PSM3_UUID=63cbe1e4-5932-0dd7-044c-3cd7f43c661c FI_PSM3_NAME_SERVER=0 "
         "FI_PSM3_LAZY_CONN=1"},
        {"opx", "FI_OPX_UUID=63cbe1e459320dd7044c3cd7f43c661c"},
        {"efa", "FI_EFA_ENABLE_SHM_TRANSFER=0"},
        {"sockets", "FI_SOCKETS_PE_WAITTIME=0"},
        {"verbs;ofi_rxm", "FI_OFI_RXM_BUFFER_SIZE=256 FI_OFI_RXM_USE_SRX=1 FI_UNIVERSE_SIZE=3000"},
        {"tcp;ofi_rxm", "FI_OFI_RXM_BUFFER_SIZE=256 FI_OFI_RXM_USE_SRX=1 FI_UNIVERSE_SIZE=3000"}};
    for (const link::Profile* profile : link::preferred_profiles()) {
        const auto known = expected.find(profile->provider);
        EXPECT_EQ(settings_in({.ranks = 3000, .number = 7}, *profile),
                  known == expected.end() ? "" : known->second)
            << profile->provider;
        for (const link::Setting& setting : profile->settings)
            EXPECT_FALSE(setting.why.empty()) << setting.name;
    }
    const link::Profile& verbs = link::profile_of("verbs;ofi_rxm");
    EXPECT_EQ(verbs.settings.back().value_in({.ranks = 2, .number = 7}), "1024");
    const link::Profile& psm2 = link::profile_of("psm2");
    EXPECT_EQ(psm2.settings.front().value_in({.ranks = 2}), "") << "only a job has an identifier";
    EXPECT_NE(psm2.settings.front().value_in({.ranks = 2, .number = 8}),
              psm2.settings.front().value_in({.ranks = 2, .number = 7}));
}

TEST(Profiles, OnlyTheseUseSeveralCardsAndBatchPosts) {
    std::string several;
    std::string batching;
    for (const link::Profile* profile : link::preferred_profiles()) {
        if (profile->several_cards) several += std::string(profile->provider) + " ";
        if (profile->batches_posts) batching += std::string(profile->provider) + " ";
    }
    EXPECT_EQ(several, "cxi verbs;ofi_rxm efa tcp net ");
    EXPECT_EQ(batching, "cxi ");
}

/// A dedicated network without figures of its own uses those of Aries, and says so.
TEST(Profiles, CostsNameTheirSources) {
    const std::string_view fallback = link::ProfiledCost{}.source;
    for (const link::Profile* profile : link::preferred_profiles())
        EXPECT_EQ(profile->cost.source == fallback, profile->provider == "psm3")
            << profile->provider << ": " << profile->cost.source;
}

TEST(Profiles, EachVariableHasOneValueInAllProfiles) {
    std::map<std::string, std::string> values;
    for (const link::Profile* profile : link::preferred_profiles()) {
        for (const link::Setting& setting : profile->settings) {
            const std::string value = setting.value_in({.ranks = 3000, .number = 7});
            const auto [at, added] = values.emplace(setting.name, value);
            EXPECT_TRUE(added || at->second == value) << setting.name;
        }
    }
}

TEST(Profiles, AnUnknownProviderGetsConservativeAnswers) {
    const link::Profile& profile = link::profile_of("nonesuch");
    EXPECT_EQ(profile.provider, "");
    RecordedOffer offer;
    const auto grant = link::accept_offer(offer.info);
    ASSERT_TRUE(grant);
    const auto chosen = link::choose_notify(profile, *grant, std::nullopt);
    ASSERT_TRUE(chosen);
    EXPECT_EQ(link::to_text(*chosen), "immediate");
    for (const Notify notify : {Notify::cells, Notify::delivery, Notify::fence, Notify::ordered})
        EXPECT_FALSE(link::choose_notify(profile, *grant, notify)) << link::name_of(notify);
    EXPECT_TRUE(profile.target_must_progress);
    EXPECT_FALSE(profile.several_cards || profile.batches_posts);
    EXPECT_FALSE(profile.writes_empty || profile.unsignaled_small_puts ||
                 profile.asks_write_order || profile.asks_fence || profile.prefers_cells);
}

}  // namespace
}  // namespace weft::test
