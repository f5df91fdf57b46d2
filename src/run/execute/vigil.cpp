// SPDX-License-Identifier: BSD-3-Clause
#include "run/execute/vigil.hpp"

namespace weft::run {

std::string to_text(const Stuck& stuck, Rank job_rank) {
    std::string text = fmt::format("rank {}: {} {} epoch {} step {}: ", job_rank,
                                   stuck.program->program.collective,
                                   stuck.program->program.algorithm, stuck.epoch, stuck.step);
    if (stuck.waits_for_local || stuck.peer < 0)
        return text + "waiting for earlier puts of its own to complete";
    return text + fmt::format("waiting for rank {} (have {}, want {}){}",
                              stuck.team->setup.job_ranks[static_cast<std::size_t>(stuck.peer)],
                              base::tick_of(stuck.have), base::tick_of(stuck.want),
                              base::tick_of(stuck.have) == base::tick_of(stuck.want)
                                  ? ", which signals for another call"
                                  : "");
}

std::string disagreement_text(const Inquiry& theirs, const BoundProgram& mine, Rank job_rank) {
    return fmt::format(
        "ranks disagree about call {} of team {}: rank {} called {}; rank {} called {}",
        theirs.epoch, theirs.team, job_rank, mine.description, theirs.rank,
        std::string_view(theirs.text));
}

Inquiry make_inquiry(const TeamState& team, Epoch epoch, const BoundProgram& program,
                     Rank job_rank) {
    Inquiry inquiry;
    inquiry.rank = job_rank;
    inquiry.team = team.setup.id;
    inquiry.team_since = team.setup.first_tick;
    inquiry.epoch = epoch;
    inquiry.call_hash = program.call_hash;
    set_text(inquiry, program.description);
    return inquiry;
}

std::vector<Rank> ranks_that_may_wait(const TeamState& team, const BoundProgram* program) {
    constexpr Rank kTellAll = 64;
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < team.size(); ++rank) {
        const bool near = team.near(rank) != nullptr;
        if (rank != team.setup.rank && (near || team.size() <= kTellAll)) ranks.push_back(rank);
    }
    if (team.size() <= kTellAll || program == nullptr) return ranks;
    for (const BoundStep& step : program->steps) {
        const bool raises = step.kind == plan::StepKind::put ||
                            step.kind == plan::StepKind::signal ||
                            step.kind == plan::StepKind::expose;
        if (raises && team.near(step.peer) == nullptr) ranks.push_back(step.peer);
    }
    return ranks;
}

}  // namespace weft::run
