// SPDX-License-Identifier: BSD-3-Clause
// ping_pong.cpp - prints the calibrator: the time in which one cache line moves from one processor
// to another.
#include "tools/measure/ping_pong.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/lab/program/command_line.hpp"
#include "tools/lab/program/json.hpp"

int main(int argument_count, char** arguments) {
    weft::lab::PingPongOptions options;
    std::pair<int, int> processors{-1, -1};
    bool json = false;
    weft::lab::CommandLine line{
        "ping_pong", "Half a round trip of one cache line between two pinned processes."};
    line.option("--seconds", options.seconds, "How long to measure").within(0.001, 60.0);
    line.option("--processors", processors, "Two processors (default: the first two usable)")
        .comma_separated();
    line.flag("--two-words", options.two_words,
              "Use one word for each direction, as puts do, instead of one shared word");
    line.flag("--json", json, "One JSON object on stdout");
    if (const auto status = line.read(argument_count, arguments)) return *status;
    options.first_processor = processors.first;
    options.second_processor = processors.second;

    const auto measured = weft::lab::measure_ping_pong(options);
    if (!measured) {
        fmt::print(stderr, "ping_pong: {}\n", measured.failure().text);
        return 3;
    }
    if (json) {
        const weft::lab::Json object{
            {"half_round_trip_ns", measured->median_ns},
            {"half_round_trip_min_ns", measured->min_ns},
            {"processors", {measured->first_processor, measured->second_processor}}};
        weft::lab::print_json(object);
    } else {
        fmt::print("half round trip between processors {} and {}: {:.1f} ns (least {:.1f} ns)\n",
                   measured->first_processor, measured->second_processor, measured->median_ns,
                   measured->min_ns);
    }
    return 0;
}
