// SPDX-License-Identifier: BSD-3-Clause
// provider_test.hpp - base of tests that run for each provider with a profile. They are skipped
// with libfabric's reason if the provider is not available.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/system/providers/fabric_job.hpp"

namespace weft::test {

/// Runs the job; a failure of a rank fails the test.
inline void expect_job(const std::string& provider, Rank size,
                       const std::function<void(Member&)>& body, Rank may_die = -1) {
    EXPECT_EQ(run_job(provider, size, body, may_die), "");
}

class ProviderTest : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        if (const std::string why = why_unavailable(GetParam()); !why.empty()) GTEST_SKIP() << why;
    }
    [[nodiscard]] static const link::Profile& profile() { return link::profile_of(GetParam()); }
};

}  // namespace weft::test

/// Instantiates a suite derived from ProviderTest.
#define WEFT_FOR_EACH_PROVIDER(Suite)                                                \
    INSTANTIATE_TEST_SUITE_P(Providers, Suite, testing::ValuesIn(known_providers()), \
                             [](const auto& chosen) { return provider_as_name(chosen.param); })
