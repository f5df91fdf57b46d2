// SPDX-License-Identifier: BSD-3-Clause
#include "tools/text/text_need.hpp"

#include <algorithm>

#include "plan/schedule/canonical.hpp"

namespace weft::plan {

namespace {

/// Limit for any text, below the 2^32 units that the verifier can number.
constexpr std::uint64_t kUnitsMax = std::uint64_t{1} << 30;

/// Returns the number of units of input, output and scratch buffers.
double units_of(const Program& program) {
    return static_cast<double>(program.units) * (2.0 + program.scratch);
}

/// Returns the number of executed steps, with loops unrolled, plus the units of their blocks.
double work_of(const Program& program) {
    double work = 0;
    double repeats = 1;
    std::size_t body_left = 0;
    for (const Step& step : program.steps) {
        if (body_left > 0 && --body_left == 0) repeats = 1;
        double units = 1;
        for (const BlockList list : {step.target, step.source})
            for (const Block& block : blocks_of(program, list)) units += block.count;
        work += repeats * units;
        if (step.kind != StepKind::loop) continue;
        repeats = std::max(1.0, static_cast<double>(program.repeats(step)));
        body_left = std::size_t{step.signal} + 1;
    }
    return work;
}

}  // namespace

// Factors and constants are far above the needs of generated programs and of small texts.
TextNeed::TextNeed(std::size_t text_bytes)
    : bytes(text_bytes),
      units(std::min(kUnitsMax, (std::uint64_t{1} << 22) + 64 * std::uint64_t{text_bytes})),
      work((std::uint64_t{1} << 21) + 256 * std::uint64_t{text_bytes}) {}

base::Result<void> TextNeed::check(std::span<const Program> programs,
                                   std::span<const std::size_t> lines) const {
    double units_sum = 0;
    double work_sum = 0;
    for (std::size_t i = 0; i < programs.size(); ++i) {
        units_sum += units_of(programs[i]);
        work_sum += work_of(programs[i]);
        const bool fits = units_sum <= static_cast<double>(units);
        if (fits && work_sum <= static_cast<double>(work)) continue;
        return base::fail(Status::argument,
                          "line {}: rank {}: {:.0f} {} up to here, a text of {} bytes may have {}",
                          lines[i], programs[i].rank, fits ? work_sum : units_sum,
                          fits ? "steps and units that they handle" : "units of buffers", bytes,
                          fits ? work : units);
    }
    return base::Done{};
}

}  // namespace weft::plan
