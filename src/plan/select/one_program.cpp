// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/one_program.hpp"

#include <algorithm>

#include "plan/schedule/step.hpp"
#include "plan/select/folding.hpp"
#include "plan/select/put_models.hpp"
#include "plan/simulate/uniform.hpp"

namespace weft::plan {

namespace {

/// Returns true if the program reads or writes memory of other ranks in place.
bool uses_others_memory(const Program& program) {
    return std::ranges::any_of(program.steps,
                               [](const Step& step) { return step.kind == StepKind::expose; }) ||
           std::ranges::any_of(program.blocks, [](const Block& block) {
               return block.buffer == Buffer::mapped || block.buffer == Buffer::published;
           });
}

}  // namespace

std::optional<Predicted> by_one_program(const Machine& machine, Rank size,
                                        const Candidate& candidate, const VectorSize& vector,
                                        Time give_up) {
    if (machine.crowded()) return {};
    const PutModels models = put_models(machine, true, true);
    if (!models.far) return {};
    const auto program = common_program(candidate, size, machine.node_of, vector);
    if (!program || uses_others_memory(*program)) return {};
    const Surroundings around{.model = models.model, .give_up = give_up};
    const auto outcome = simulate_uniform(*program, vector, *models.far, around);
    if (!outcome) return {};
    return Predicted{
        .time = outcome->makespan, .messages = outcome->messages, .in_stream = outcome->makespan};
}

}  // namespace weft::plan
