// SPDX-License-Identifier: BSD-3-Clause
// goal.cpp - fuzz target: the simulator of GOAL programs.
#include "tools/simulate/goal.hpp"

#include "base/check.hpp"
#include "tests/hostile/fuzz/targets.hpp"
#include "tools/simulate/wire_model.hpp"

void weft::fuzz::goal(std::string_view input) {
    static const auto model =
        lab::message_model({.latency = 500'000, .issue = 100'000, .byte_fs = 1'000'000'000});
    const auto outcome = lab::simulate_goal(input, model);
    if (!outcome) return;
    WEFT_CHECK(outcome->makespan >= outcome->earliest_finish && outcome->earliest_finish >= 0,
               outcome->makespan, outcome->earliest_finish);
}
