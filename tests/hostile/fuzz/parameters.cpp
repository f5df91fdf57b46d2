// SPDX-License-Identifier: BSD-3-Clause
// parameters.cpp - fuzz target: parsers of options and parameter files. The first byte of the input
// selects the parser: t topology, n noise, d duration, s seconds, b bytes, else files.
#include "tools/lab/cost/parameters.hpp"

#include "base/check.hpp"
#include "base/units.hpp"
#include "run/job/measured_files.hpp"
#include "tests/hostile/fuzz/targets.hpp"
#include "tools/simulate/noise.hpp"
#include "tools/simulate/topology.hpp"

void weft::fuzz::parameters(std::string_view input) {
    if (input.empty()) return;
    const char kind = input.front();
    const std::string_view text = input.substr(1);
    if (kind == 't') {
        const auto topology = lab::Topology::parse(text, 1000, 64);
        if (!topology) return;
        WEFT_CHECK(topology->latency(0, 63) >= 0, text);
        std::vector<std::uint64_t> links;
        topology->route(0, 63, links);
        WEFT_CHECK(links.size() != 1, text);  // none within a node, else at least two
    } else if (kind == 'n') {
        (void)lab::parse_noise(text, 1);
    } else if (kind == 'd') {
        const auto time = base::parse_nanoseconds(text);
        WEFT_CHECK(!time || *time >= 0, text);
        (void)base::parse_nanoseconds_per_byte(text);
    } else if (kind == 's') {
        const auto seconds = base::parse_seconds(text);
        if (seconds)
            WEFT_CHECK(*base::parse_seconds(base::format_seconds(*seconds)) == *seconds, text);
    } else if (kind == 'b') {
        const auto sizes = base::parse_bytes_list(text);
        if (!sizes) return;
        for (const std::uint64_t bytes : *sizes)
            WEFT_CHECK(*base::parse_bytes(base::format_bytes(bytes)) == bytes, bytes);
    } else {
        (void)lab::parse_parameters("file", text);
        (void)run::parse_costs(text);
        (void)run::parse_tuning(text, "file");
    }
}
