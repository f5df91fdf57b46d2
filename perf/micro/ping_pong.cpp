// SPDX-License-Identifier: BSD-3-Clause
// ping_pong.cpp - prints the calibrator: the time of one cache line between two processors.
#include "lab/measure/ping_pong.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

int main(int argument_count, char** arguments) {
    weft::lab::PingPongOptions options;
    std::pair<int, int> processors{-1, -1};
    bool json = false;
    CLI::App app{"Half a round trip of one cache line between two pinned processes."};
    app.add_option("--seconds", options.seconds, "How long to measure")
        ->check(CLI::Range(0.001, 60.0))
        ->capture_default_str();
    app.add_option("--processors", processors, "Two processors (default: the first two usable)")
        ->delimiter(',');
    app.add_flag("--json", json, "One JSON object on stdout");
    try {
        app.parse(argument_count, arguments);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    options.first_processor = processors.first;
    options.second_processor = processors.second;

    const auto measured = weft::lab::measure_ping_pong(options);
    if (!measured) {
        fmt::print(stderr, "ping_pong: {}\n", measured.failure().text);
        return 3;
    }
    if (json) {
        const nlohmann::ordered_json object{
            {"half_round_trip_ns", measured->median_ns},
            {"half_round_trip_min_ns", measured->min_ns},
            {"processors", {measured->first_processor, measured->second_processor}}};
        fmt::print("{}\n", object.dump());
    } else {
        fmt::print("half round trip between processors {} and {}: {:.1f} ns (least {:.1f} ns)\n",
                   measured->first_processor, measured->second_processor, measured->median_ns,
                   measured->min_ns);
    }
    return 0;
}
