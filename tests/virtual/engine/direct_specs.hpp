// SPDX-License-Identifier: BSD-3-Clause
// direct_specs.hpp - algorithms whose ranks use each other's buffers in place: their names, their
// programs, and random scripts of their calls.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/collective_traits.hpp"
#include "collectives/transfer.hpp"
#include "plan/schedule/step.hpp"
#include "tests/support/draw_calls.hpp"
#include "tests/support/generate_all.hpp"
#include "tests/support/script.hpp"
#include "tools/verify/verify.hpp"

namespace weft::test {

struct DirectSpec {
    std::string_view collective;
    std::string text;
};

/// Returns the algorithms that can put directly into buffers of ranks on other nodes.
inline std::vector<DirectSpec> direct_delivery_specs() {
    std::vector<DirectSpec> list;
    for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
        const auto& known = algorithm.parameters;
        if (std::ranges::find(known, collectives::kIntoParameter.name,
                              &collectives::Parameter::name) != known.end())
            list.push_back({algorithm.collective, std::string(algorithm.name) + ":into=vector"});
    }
    return list;
}

/// Returns the algorithms whose ranks use memory of local peers.
inline std::vector<DirectSpec> mapped_specs() {
    std::vector<DirectSpec> list;
    for (const collectives::Algorithm& algorithm : collectives::algorithms())
        if (algorithm.name == "mapped")
            list.push_back({algorithm.collective, std::string(algorithm.name)});
    list.push_back({"scan", "mapped-linear:pieces=3"});
    return list;
}

/// Returns the programs of all ranks. The root of a rooted collective is the last rank.
inline std::vector<plan::Program> programs_of(const DirectSpec& spec, Rank size,
                                              std::uint64_t elements) {
    const Rank root = collectives::is_rooted(spec.collective) ? size - 1 : plan::kNoRank;
    return generate_all(spec.collective, spec.text,
                        {.size = size, .root = root, .elements = elements});
}

inline plan::Verdict verdict_on(const DirectSpec& spec, const std::vector<plan::Program>& programs,
                                std::uint64_t elements) {
    return plan::verify({.programs = programs,
                         .contract = &collectives::contract(spec.collective),
                         .elements = elements});
}

inline void erase_step(plan::Program& program, std::size_t at) {
    program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(at));
    --program.lanes.front().count;
}

/// Runs a random script of `count` calls of all ranks, with any root and size, and buffers inside
/// or outside the segment. Returns the errors. If `in_order`, half of the calls combine in rank
/// order. `keeps_memory` is passed to ScriptOptions.
[[nodiscard]] inline std::vector<std::string> errors_of_random_script(
    VirtualJob& job, const VirtualTeam& team, const std::vector<DirectSpec>& specs, bool in_order,
    base::Random& random, std::size_t count, bool keeps_memory = false) {
    const auto ranks = static_cast<std::uint64_t>(team.size());
    std::deque<TeamCall> palette;
    for (const DirectSpec& spec : specs) {
        const bool rooted = collectives::is_rooted(spec.collective);
        const bool ordered = in_order && random.chance(1, 2);
        palette.push_back(
            bind_call(job, team,
                      {.collective = std::string(spec.collective),
                       .algorithm = spec.text,
                       .elements = ranks * (1 + random.below(40)),
                       .algebra = ordered ? Algebra::affine : Algebra::sum64,
                       .root = rooted ? static_cast<Rank>(random.below(ranks)) : plan::kNoRank}));
    }
    const auto calls = draw_script(random, palette, count);
    const std::uint64_t seed = job.network().seed();
    return Script(job, calls,
                  {.seed = seed,
                   .in_place_percent = 40,
                   .in_segment = random.chance(1, 3),
                   .keeps_memory = keeps_memory})
        .run()
        .errors;
}

}  // namespace weft::test
