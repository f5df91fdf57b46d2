// SPDX-License-Identifier: BSD-3-Clause
// recorded_wait.hpp - hook of recorded fused calls: records each store, wait and stage.
#pragma once

#include "run/execute/fused_runner.hpp"
#include "run/observe/recorder.hpp"

namespace weft::run {

/// Wraps `wait`, the hook of calls without a recorder.
template <class Wait>
struct RecordedWait {
    Wait wait;
    Recorder& recorder;
    Rank own_rank;  ///< in the job
    const FusedCall& call;
    const Recorder::Open& open;
    const FusedStep* last = nullptr;  ///< step in progress
    std::uint64_t step_since_ns = 0;
    std::uint64_t stage_since_ns = 0;

    bool operator()(const FusedCall& awaiting, const FusedStep& awaited) {
        return wait(awaiting, awaited);
    }
    void reaches(const FusedStep& step) {
        const std::uint64_t now_ns = Recorder::now();
        if (last != nullptr) ended(*last, now_ns);
        const bool begins = last == nullptr || last->stage != step.stage;
        if (last != nullptr && (begins || step.kind == FusedKind::end))
            recorder.add(open, {.begin_ns = stage_since_ns,
                                .end_ns = now_ns,
                                .step = last->stage,
                                .deed = Deed::stage});
        if (begins) stage_since_ns = now_ns;
        step_since_ns = now_ns;
        last = &step;
    }

  private:
    void ended(const FusedStep& step, std::uint64_t now_ns) {
        const bool stored = step.kind == FusedKind::raise || step.kind == FusedKind::send;
        if (!stored && step.kind != FusedKind::await) return;
        const Rank owner = job_rank(static_cast<Rank>(step.target.base - kFusedRegions));
        const std::uint64_t cell =
            step.target.offset + call.team.moves[static_cast<std::size_t>(step.target.move)];
        recorder.add(open, {.begin_ns = step_since_ns,
                            .end_ns = now_ns,
                            .key = key_of(owner, call.team.setup.region + cell, call.flag),
                            .bytes = step.amount,
                            .step = step.stage,
                            .peer = step.peer < 0 ? -1 : job_rank(step.peer),
                            .deed = stored ? deed_of_store(step) : Deed::wait});
    }
    [[nodiscard]] static Deed deed_of_store(const FusedStep& step) {
        if (step.peer < 0) return Deed::publish;
        return step.kind == FusedKind::raise ? Deed::signal : Deed::put;
    }
    [[nodiscard]] Rank job_rank(Rank member) const {
        return call.team.setup.job_ranks[static_cast<std::size_t>(member)];
    }
};

/// Deduction guide, which clang 16 needs.
template <class Wait>
RecordedWait(Wait, Recorder&, Rank, const FusedCall&, const Recorder::Open&) -> RecordedWait<Wait>;

}  // namespace weft::run
