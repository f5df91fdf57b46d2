// SPDX-License-Identifier: BSD-3-Clause
// Goal: settings are read from an environment as the table of variables defines. Errors name bad
// values and the first setting in which two ranks differ.
// Method: tests read handmade environments, and compare the table with its own texts and the guide.
#include "base/environment.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string>

namespace weft::base {
namespace {

/// Invented collectives. WEFT_GOSSIP forces the algorithm of the first one.
constexpr std::array<std::string_view, 2> kCollectives{"gossip", "neighbor_gossip"};

Result<Settings> read(std::initializer_list<const char*> entries) {
    std::vector<const char*> environment(entries);
    environment.push_back(nullptr);
    return read_settings(environment.data(), kCollectives);
}

Settings settings_of(std::initializer_list<const char*> entries) {
    Result<Settings> settings = read(entries);
    EXPECT_TRUE(settings.ok()) << settings.failure().text;
    return settings.ok() ? *settings : Settings{};
}

TEST(Environment, UnsetVariablesGiveTheDefaultsOfTheTable) {
    for (const Settings& settings :
         {*read_settings(nullptr, kCollectives), settings_of({"HOME=/"})})
        for (const Variable& variable : variables())
            EXPECT_EQ(variable.print(settings), variable.fallback) << variable.name;
}

TEST(Environment, EveryRowIsCompleteAndItsDefaultIsValid) {
    std::set<std::string_view> names;
    for (const Variable& variable : variables()) {
        EXPECT_TRUE(variable.name.starts_with("WEFT_"));
        EXPECT_TRUE(names.insert(variable.name).second)
            << variable.name << " is in the table twice";
        EXPECT_FALSE(variable.form.empty());
        EXPECT_FALSE(variable.meaning.empty());
        if (variable.fallback.empty()) continue;
        Settings settings;
        EXPECT_TRUE(variable.read(settings, variable.fallback).ok()) << variable.name;
        EXPECT_EQ(variable.print(settings), variable.fallback) << variable.name;
    }
}

TEST(Environment, ValuesReachTheirFields) {
    const Settings settings = settings_of({"WEFT_PROVIDER=abc",
                                           "WEFT_NOTIFY=fence",
                                           "WEFT_DIRECT=adopt",
                                           "WEFT_HEAP_SIZE=64M",
                                           "WEFT_BANKS=256",
                                           "WEFT_BANK_BYTES=128K",
                                           "WEFT_TIMEOUT=0.5",
                                           "WEFT_TIMEOUT_ACTION=abort",
                                           "WEFT_ON_FAILURE=continue",
                                           "WEFT_PROGRESS=thread",
                                           "WEFT_THREADS=multiple",
                                           "WEFT_NODES=3",
                                           "WEFT_NODE_ID=0",
                                           "WEFT_REDUCE_ISA=scalar",
                                           "WEFT_FABRIC_MODULE=/x/y.so",
                                           "WEFT_FABRIC_ADDRESS=127.0.0.1",
                                           "WEFT_CARDS=mlx5_0,mlx5_1",
                                           "WEFT_LOG=trace",
                                           "WEFT_LOG_FILE=log.%r",
                                           "WEFT_STATS=1",
                                           "WEFT_TUNING=t.json",
                                           "WEFT_PARAMETERS=p.json",
                                           "WEFT_TRACE=here",
                                           "WEFT_TRACE_EVENTS=1K",
                                           "WEFT_OBJECTIVE=energy",
                                           "WEFT_DESCRIPTORS_MAX=9",
                                           "WEFT_GOSSIP=a8,a4",
                                           "OTHER_WEFT_NODES=9"});
    EXPECT_EQ(settings.provider, "abc");
    EXPECT_EQ(settings.notify, Notify::fence);
    EXPECT_EQ(settings.direct, DirectMode::adopt);
    EXPECT_EQ(settings.heap_bytes, 64U << 20);
    EXPECT_EQ(settings.banks, 256U);
    EXPECT_EQ(settings.bank_bytes, 128U << 10);
    EXPECT_EQ(settings.timeout_ns, 500'000'000U);
    EXPECT_EQ(settings.timeout_action, TimeoutAction::abort);
    EXPECT_EQ(settings.on_failure, FailureAction::proceed);
    EXPECT_EQ(settings.progress, ProgressMode::thread);
    EXPECT_EQ(settings.threads, ThreadLevel::multiple);
    EXPECT_EQ(settings.nodes, 3U);
    EXPECT_EQ(settings.node_id, 0U);
    EXPECT_EQ(settings.reduce_isa, "scalar");
    EXPECT_EQ(settings.fabric_module, "/x/y.so");
    EXPECT_EQ(settings.fabric_address, "127.0.0.1");
    EXPECT_EQ(settings.cards, "mlx5_0,mlx5_1");
    EXPECT_EQ(settings.log, LogLevel::trace);
    EXPECT_EQ(settings.log_file, "log.%r");
    EXPECT_EQ(settings.tuning, "t.json");
    EXPECT_EQ(settings.parameters, "p.json");
    EXPECT_EQ(settings.trace, "here");
    EXPECT_EQ(settings.trace_events, 1024U);
    EXPECT_EQ(settings.objective, Objective::energy);
    EXPECT_EQ(settings.descriptors_max, 9U);
    EXPECT_EQ(settings.algorithms, (std::vector<ForcedAlgorithm>{{"gossip", "a8,a4"}}));
    EXPECT_EQ(settings.given.size(), variables().size() + 1)
        << "each row of the table needs a value above; WEFT_GOSSIP has no row";
    EXPECT_TRUE(settings.unknown.empty());
}

TEST(Environment, ErrorsNameVariableValueAndForm) {
    const std::pair<const char*, const char*> cases[] = {
        {"WEFT_NOTIFY=sometimes", "cells, immediate"},
        {"WEFT_HEAP_SIZE=1T", "multiple of 4K"},
        {"WEFT_HEAP_SIZE=0", "multiple of 4K"},
        {"WEFT_HEAP_SIZE=4095", "multiple of 4K"},
        {"WEFT_BANKS=100", "power of two"},
        {"WEFT_BANKS=2", "from 4 to"},
        {"WEFT_BANKS=1e2", "power of two"},
        {"WEFT_BANK_BYTES=65", "multiple of 64"},
        {"WEFT_TIMEOUT=-1", "seconds"},
        {"WEFT_TIMEOUT_ACTION=Abort", "report or abort"},
        {"WEFT_ON_FAILURE=proceed", "end or continue"},
        {"WEFT_PROGRESS=2", "calls, thread or remote"},
        {"WEFT_NODES=0", "1 or more"},
        {"WEFT_NODE_ID=a", "whole number"},
    };
    for (const auto& [entry, form] : cases) {
        const Result<Settings> settings = read({entry});
        ASSERT_FALSE(settings.ok()) << entry;
        EXPECT_EQ(settings.failure().status, Status::argument);
        EXPECT_TRUE(settings.failure().text.starts_with(entry)) << settings.failure().text;
        EXPECT_NE(settings.failure().text.find(form), std::string::npos) << settings.failure().text;
    }
}

TEST(Environment, EmptyMeansUnsetAndTheFirstDuplicateApplies) {
    const Settings settings =
        settings_of({"WEFT_NODES=", "WEFT_NODES=7", "WEFT_BANKS=64", "WEFT_BANKS=what"});
    EXPECT_EQ(settings.nodes, 0U);
    EXPECT_EQ(settings.banks, 64U);
    EXPECT_EQ(settings.given, std::vector<std::string>{"WEFT_BANKS"});
}

TEST(Environment, UnknownNamesAreReportedTogetherOnce) {
    EXPECT_TRUE(report_unknown(settings_of({"WEFT_BANKS=64", "PATH=/bin"})).empty());
    const Settings settings =
        settings_of({"WEFT_BANK=64", "WEFT_GOSSIPS=a2", "WEFT_BANK=65", "weft_banks=1"});
    EXPECT_EQ(settings.unknown, (std::vector<std::string>{"WEFT_BANK", "WEFT_GOSSIPS"}));
    const std::vector<std::string> reports = report_unknown(settings);
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports[0].find("WEFT_BANK (did you mean WEFT_BANKS?), WEFT_GOSSIPS"), 0U)
        << reports[0];
}

TEST(Environment, AnUnknownLogLevelIsReportedAndTheDefaultApplies) {
    const Settings settings = settings_of({"WEFT_LOG=loud"});
    EXPECT_EQ(settings.log, LogLevel::warn);
    EXPECT_EQ(
        report_unknown(settings),
        std::vector<std::string>{"WEFT_LOG=loud: expected warn, info or trace; warn is used"});
}

TEST(Environment, AgreementIgnoresSpellingOrderAndPerRankSettings) {
    const std::string plain = agreement_text(Settings{});
    EXPECT_EQ(agreement_text(settings_of({"WEFT_BANKS=512", "WEFT_BANK_BYTES=2048K"})), plain);
    EXPECT_EQ(agreement_text(settings_of({"WEFT_NODE_ID=3", "WEFT_LOG=trace", "WEFT_TIMEOUT=1"})),
              plain);
    EXPECT_EQ(agreement_text(settings_of({"WEFT_GOSSIP=a2", "WEFT_NEIGHBOR_GOSSIP=a4"})),
              agreement_text(settings_of({"WEFT_NEIGHBOR_GOSSIP=a4", "WEFT_GOSSIP=a2"})));
}

TEST(Environment, AgreementAndDifferenceCoverEveryAgreedSetting) {
    const Settings plain;
    const std::pair<const char*, const char*> cases[] = {
        {"WEFT_PROVIDER=abc", "WEFT_PROVIDER is not set here and \"abc\" there"},
        {"WEFT_NOTIFY=cells", "WEFT_NOTIFY is \"auto\" here and \"cells\" there"},
        {"WEFT_DIRECT=stage", "WEFT_DIRECT is \"auto\" here and \"stage\" there"},
        {"WEFT_HEAP_SIZE=8M", "WEFT_HEAP_SIZE is \"256M\" here and \"8M\" there"},
        {"WEFT_BANKS=64", "WEFT_BANKS is \"512\" here and \"64\" there"},
        {"WEFT_BANK_BYTES=64", "WEFT_BANK_BYTES is \"2M\" here and \"64\" there"},
        {"WEFT_ON_FAILURE=continue", "WEFT_ON_FAILURE is \"end\" here and \"continue\" there"},
        {"WEFT_PROGRESS=remote", "WEFT_PROGRESS is \"calls\" here and \"remote\" there"},
        {"WEFT_NODES=2", "WEFT_NODES is not set here and \"2\" there"},
        {"WEFT_STATS=1", "WEFT_STATS is \"0\" here and \"1\" there"},
        {"WEFT_TRACE=here", "WEFT_TRACE is not set here and \"here\" there"},
        {"WEFT_TRACE_EVENTS=16", "WEFT_TRACE_EVENTS is \"64K\" here and \"16\" there"},
        {"WEFT_OBJECTIVE=energy", "WEFT_OBJECTIVE is \"time\" here and \"energy\" there"},
        {"WEFT_DESCRIPTORS_MAX=9", "WEFT_DESCRIPTORS_MAX is \"0\" here and \"9\" there"},
        {"WEFT_GOSSIP=a2", "WEFT_GOSSIP is not set here and \"a2\" there"},
    };
    std::set<std::string> texts{agreement_text(plain)};
    for (const auto& [entry, difference] : cases) {
        const Settings other = settings_of({entry});
        EXPECT_TRUE(texts.insert(agreement_text(other)).second) << entry;
        EXPECT_EQ(first_difference(agreement_text(plain), agreement_text(other)), difference);
        EXPECT_EQ(first_difference(agreement_text(other), agreement_text(other)), "");
    }
    const auto agreed = std::count_if(variables().begin(), variables().end(),
                                      [](const Variable& variable) { return variable.agreed; });
    // Two more texts: the defaults, and WEFT_GOSSIP, which is not in the table.
    EXPECT_EQ(texts.size(), static_cast<std::size_t>(agreed) + 2)
        << "each agreed variable needs a case";
}

constexpr const char* kGuide = SOURCE_FOLDER "/docs/guide/environment.md";
constexpr std::string_view kBegin = "<!-- variables:";
constexpr std::string_view kEnd = "<!-- end of variables -->\n";

std::string guide() {
    std::ifstream page(kGuide);
    EXPECT_TRUE(page.is_open());
    return {std::istreambuf_iterator<char>(page), {}};
}

std::string markdown_table() {
    std::string text = "| Variable | Default | Same | Value | Meaning |\n|---|---|---|---|---|\n";
    for (const Variable& variable : variables()) {
        const std::string fallback =
            variable.fallback.empty() ? " " : fmt::format(" `{}` ", variable.fallback);
        text += fmt::format("| `{}` |{}| {} | {} | {} |\n", variable.name, fallback,
                            variable.agreed ? "yes" : "no", variable.form, variable.meaning);
    }
    return text;
}

/// Range of bytes in a page.
struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
};
Range range_of_table(const std::string& page) {
    const std::size_t mark = page.find(kBegin);
    const std::size_t end = page.find(kEnd);
    EXPECT_TRUE(mark != std::string::npos && end != std::string::npos && mark < end);
    return {page.find('\n', mark) + 1, end};
}

/// With WEFT_TESTS_WRITE=1, updates the page instead of comparing.
TEST(Environment, TheGuidesTableEqualsTheSource) {
    std::string page = guide();
    const Range table = range_of_table(page);
    if (const char* write = std::getenv("WEFT_TESTS_WRITE");
        write != nullptr && std::string_view(write) == "1") {
        page.replace(table.begin, table.end - table.begin, markdown_table());
        std::ofstream(kGuide) << page;
        GTEST_SKIP() << kGuide << " written";
    }
    EXPECT_EQ(page.substr(table.begin, table.end - table.begin), markdown_table())
        << "CONTRIBUTING.md says how to update it";
}

TEST(Environment, TextsFitACellOfTheGuidesTable) {
    for (const Variable& variable : variables())
        for (const std::string_view text : {variable.form, variable.meaning})
            EXPECT_EQ(text.find_first_of("|\n"), std::string_view::npos) << variable.name;
}

}  // namespace
}  // namespace weft::base
