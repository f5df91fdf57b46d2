// SPDX-License-Identifier: BSD-3-Clause
// Goal: calls that the network executes give right results, and queue the number of descriptors
// that `weft cost` predicts. They complete although a rank that has started the call sleeps: the
// other ranks begin while it sleeps, and end before it continues. Method: `weft bench --offload`
// with the local provider that has triggered operations. As a control, its started calls wait for
// the sleeping rank.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

const std::string kWeft = std::string(RANK_PROGRAMS) + "/weft";

Outcome bench(const Words& more, const std::string& provider = "sockets", Words settings = {}) {
    Words command{kWeft, "bench"};
    command.insert(command.end(), more.begin(), more.end());
    command.insert(command.end(), {"--offload", "--json"});
    settings.push_back("WEFT_PROVIDER=" + provider);
    return run_ranks({"-n", "4", "--nodes", "4", "--timeout", "90"}, command, settings);
}

lab::Json result_of(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    const lab::Json object = lab::read_json(outcome.output);
    if (!object.is_object() || object["results"].size() != 1) {
        ADD_FAILURE() << outcome.output << outcome.errors;
        return {};
    }
    return object["results"][0];
}

lab::Json cost_of(const Words& more) {
    Words command{kWeft, "cost"};
    command.insert(command.end(), more.begin(), more.end());
    command.insert(command.end(), {"--ranks", "4", "--offload", "--json"});
    const Outcome outcome = run_command(command);
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    return lab::read_json(outcome.output)["descriptors"];
}

/// A round does not count if the rank sleeps only after the others began, or continues before the
/// others had enough processor time. On a busy machine this may be true for all rounds, so the test
/// makes more rounds with a longer sleep.
TEST(OffloadTest, ASleepingRankDoesNotDelayTheOthers) {
    for (const std::string collective : {"barrier", "broadcast", "allreduce"}) {
        SCOPED_TRACE(collective);
        lab::Json row;
        for (const std::string away_ms : {"160", "320", "640", "1280"}) {
            row = result_of(
                bench({collective, "--bytes", "64", "--iterations", "6", "--away-ms", away_ms}));
            ASSERT_TRUE(row.is_object());
            EXPECT_TRUE(row["checked"].get<bool>());
            EXPECT_EQ(row["entries_away"], 0);
            EXPECT_EQ(row["started_early"], 0) << "a started call did not wait for the rank";
            if (row["offloaded_early"] > 0) break;
        }
        EXPECT_GE(row["offloaded_early"], 1) << row["offloaded_away_us"];
        Words asked{collective};
        if (collective != "barrier") asked.insert(asked.end(), {"--bytes", "64"});
        EXPECT_EQ(row["descriptors"], cost_of(asked));
    }
}

TEST(OffloadTest, ResultsAndDescriptorCountsAreRightForEachCase) {
    const Words cases[] = {
        {"--bytes", "16K", "--type", "int32", "--op", "bxor"},
        {"--bytes", "24", "--type", "double", "--op", "min"},
        {"--bytes", "8K", "--type", "float", "--op", "sum", "--algorithm", "recursive-doubling"},
    };
    for (const Words& given : cases) {
        Words asked{"allreduce"};
        asked.insert(asked.end(), given.begin(), given.end());
        SCOPED_TRACE(given[1] + " " + given[3] + " " + given[5]);
        Words timed = asked;
        timed.insert(timed.end(), {"--iterations", "5", "--away-ms", "0"});
        const lab::Json row = result_of(bench(timed));
        ASSERT_TRUE(row.is_object());
        EXPECT_TRUE(row["checked"].get<bool>());
        EXPECT_EQ(row["descriptors"], cost_of(asked));
    }
}

/// A rank that sleeps queues nothing, so the call waits and is reported.
TEST(OffloadTest, WithABudgetOfOneTheHostQueuesTheRest) {
    const Outcome outcome = bench(
        {"allreduce", "--bytes", "8", "--budget", "1", "--iterations", "5", "--away-ms", "300"},
        "sockets", {"WEFT_TIMEOUT=0.1"});
    const lab::Json row = result_of(outcome);
    ASSERT_TRUE(row.is_object());
    EXPECT_TRUE(row["checked"].get<bool>());
    EXPECT_EQ(row["descriptors"], cost_of({"allreduce", "--bytes", "8"}));
    EXPECT_EQ(row["offloaded_early"], 0);
    EXPECT_NE(outcome.errors.find("offloaded allreduce reduce-broadcast number"), std::string::npos)
        << outcome.errors;
}

TEST(OffloadTest, UnsupportedOffloadsAreRefusedWithTheReason) {
    const Outcome provider = bench({"barrier", "--iterations", "1"}, "tcp");
    EXPECT_NE(provider.status, 0);
    EXPECT_NE(provider.errors.find("does not offload, because"), std::string::npos)
        << provider.errors;
    const Outcome order = bench({"allreduce", "--bytes", "8", "--algorithm", "generalized"});
    EXPECT_NE(order.status, 0);
    EXPECT_NE(order.errors.find("last bits"), std::string::npos) << order.errors;
}

}  // namespace
}  // namespace weft::test
