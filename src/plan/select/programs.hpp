// SPDX-License-Identifier: BSD-3-Clause
// programs.hpp - programs of an algorithm's ranks, and the work to read them.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Returns the program of a rank; fails if the algorithm does not support the team size.
using ProgramGenerator = std::function<base::Result<Program>(Rank)>;

/// Returns the time to read the program, as a number of steps. Loops count once.
[[nodiscard]] inline std::size_t steps_to_read(const Program& program) {
    constexpr std::size_t kBlocksOfStep = 3;  // blocks that take as long to read as a step
    return program.steps.size() + program.blocks.size() / kBlocksOfStep;
}

/// Returns the largest number of iterations of a loop of the program.
[[nodiscard]] inline std::uint32_t iterations_of(const Program& program) {
    std::uint32_t longest = 1;
    for (const Step& step : program.steps)
        if (step.kind == StepKind::loop) longest = std::max(longest, program.repeats(step));
    return longest;
}

/// Generates the program of each rank once.
class Programs {
  public:
    explicit Programs(const ProgramGenerator& program_of) : program_of_(program_of) {}
    [[nodiscard]] const base::Result<Program>& of(Rank rank) {
        const auto found = known_.find(rank);
        return found != known_.end() ? found->second
                                     : known_.emplace(rank, program_of_(rank)).first->second;
    }

    /// Generates a program that is needed only once.
    [[nodiscard]] base::Result<Program> once(Rank rank) const { return program_of_(rank); }

  private:
    const ProgramGenerator& program_of_;
    std::map<Rank, base::Result<Program>> known_;
};

}  // namespace weft::plan
