// SPDX-License-Identifier: BSD-3-Clause
// environment.cpp - fuzz target: the reader of weft's environment variables. Each line of the input
// is a variable. The input is also compared, as the settings of another rank.
#include "base/environment.hpp"

#include "base/check.hpp"
#include "tests/hostile/fuzz/targets.hpp"

void weft::fuzz::environment(std::string_view input) {
    // Collectives, for variables such as WEFT_ALLREDUCE.
    constexpr std::array<std::string_view, 3> kNames{"allreduce", "barrier", "alltoallv"};
    std::vector<std::string> lines(1);
    for (const char c : input) {
        if (c == '\n' || c == '\0') {
            lines.emplace_back();
        } else {
            lines.back() += c;
        }
    }
    std::vector<const char*> variables;
    for (const std::string& line : lines) variables.push_back(line.c_str());
    variables.push_back(nullptr);
    const auto settings = base::read_settings(variables.data(), kNames);
    if (!settings) return;
    (void)base::report_unknown(*settings);
    const std::string agreed = base::agreement_text(*settings);
    WEFT_CHECK(base::first_difference(agreed, agreed).empty(), agreed);
    (void)base::first_difference(agreed, input);
    (void)base::first_difference(input, agreed);
}
