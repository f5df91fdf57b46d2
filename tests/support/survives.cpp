// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/survives.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "plan/schedule/canonical.hpp"
#include "plan/schedule/step.hpp"
#include "tests/support/draw_calls.hpp"
#include "tests/support/script.hpp"

namespace weft::test {

namespace {

constexpr std::size_t kExecutions = 6;  ///< executions of calls in one run

}  // namespace

bool need_one_node(const std::vector<plan::Program>& programs) {
    const auto is_mapped = [](const plan::Block& block) {
        return block.buffer == plan::Buffer::mapped;
    };
    return std::ranges::any_of(programs, [&](const plan::Program& program) {
        return std::ranges::any_of(program.steps, [&](const plan::Step& step) {
            if (step.kind != plan::StepKind::copy && step.kind != plan::StepKind::reduce)
                return false;
            return std::ranges::any_of(plan::blocks_of(program, step.source), is_mapped) ||
                   std::ranges::any_of(plan::blocks_of(program, step.target), is_mapped);
        });
    });
}

namespace {

/// Draws a layout, a network and calls of the programs from the seed, and runs them. Returns the
/// first error, or an empty text.
std::string run_once(const std::vector<plan::Program>& programs, const plan::Contract& contract,
                     const SurvivalOptions& options, std::uint64_t seed) {
    // Stream 7 is separate from the streams of the job and of the script.
    base::Random random = base::Random(seed).stream(7);
    std::vector<int> nodes(programs.size());
    const std::uint64_t node_count = 1 + random.below(programs.size());
    const bool one_node = need_one_node(programs);
    for (int& node : nodes) node = one_node ? 0 : static_cast<int>(random.below(node_count));
    if (options.own_nodes) std::iota(nodes.begin(), nodes.end(), 0);
    VirtualProfile profile;
    profile.delivers_at_target = random.chance(1, 2);
    profile.refuse_half_percent = 15;
    profile.copy_percent = static_cast<std::uint32_t>(random.below(80));
    profile.delay_max = static_cast<std::uint32_t>(random.below(80));
    VirtualJob job(
        {.segment_bytes = 1 << 20, .node_of_rank = nodes, .seed = seed, .profile = profile});
    const plan::Program& first = programs.front();
    const std::uint32_t cells = first.slots * first.depth + 16;
    const VirtualTeam& team =
        job.add_team({.shape = {.cells = cells, .banks = 4, .bulk_banks = 4, .bulk_bytes = 32768}});
    std::deque<TeamCall> palette;
    const std::uint64_t units = first.units;
    // Results of Algebra::affine depend on the order of operands.
    const Algebra main_algebra = options.commutes ? Algebra::sum64 : Algebra::affine;
    const Algebra other_type = kTypedAlgebras[seed % std::size(kTypedAlgebras)];
    // Nine elements of 8 bytes exceed a cell, so the third call uses bulk slots.
    for (const auto& [factor, algebra] :
         {std::pair{1U, main_algebra}, {2U, other_type}, {9U, main_algebra}}) {
        const std::uint64_t elements = options.elements != 0 ? options.elements : units * factor;
        palette.push_back(bind_programs(job, team,
                                        {.collective = first.collective,
                                         .algorithm = first.algorithm,
                                         .elements = elements,
                                         .algebra = algebra,
                                         .root = first.root,
                                         .localized = random.chance(1, 2)},
                                        programs, contract));
    }
    const auto script = draw_script(random, palette, kExecutions);
    const ScriptOutcome outcome = Script(job, script,
                                         {.seed = seed,
                                          .in_place_percent = 50,
                                          .in_segment = !options.own_nodes,
                                          .keeps_memory = options.own_nodes})
                                      .run();
    return outcome.errors.empty() ? "" : outcome.errors.front();
}

}  // namespace

bool survives(const std::vector<plan::Program>& programs, const plan::Contract& contract,
              const SurvivalOptions& options) {
    for (std::uint64_t i = 0; i < options.seeds; ++i) {
        const std::string wrong = run_once(programs, contract, options, options.first_seed + i);
        if (wrong.empty()) continue;
        if (options.why != nullptr) *options.why = wrong;
        return false;
    }
    return true;
}

}  // namespace weft::test
