// SPDX-License-Identifier: BSD-3-Clause
// notation.cpp - fuzz target: the parser of algorithm specs.
#include "base/check.hpp"
#include "collectives/notation/schedule.hpp"
#include "collectives/notation/spec.hpp"
#include "tests/hostile/fuzz/targets.hpp"

void weft::fuzz::notation(std::string_view input) {
    const auto spec = collectives::parse_spec(input);
    if (!spec) return;
    const std::string printed = print(*spec);
    const auto reparsed = collectives::parse_spec(printed);
    WEFT_CHECK(reparsed.ok() && *reparsed == *spec, printed);
    if (!spec->is_schedule()) return;
    for (const Rank size : {1, 2, 3, 7, 16, 1000, 1 << 30})
        (void)collectives::validate(spec->schedule, size);
}
