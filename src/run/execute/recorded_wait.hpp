// SPDX-License-Identifier: BSD-3-Clause
// recorded_wait.hpp - the hook of fused calls that are recorded: it also tells the recorder
// what was stored and awaited.
#pragma once

#include "run/execute/fused_runner.hpp"
#include "run/execute/recorder.hpp"

namespace weft::run {

/// wait: the hook of calls that are not recorded.
template <class Wait>
struct RecordedWait {
    Wait wait;
    Recorder& recorder;
    Rank own_rank;  ///< in the job
    const FusedCall& call;
    const Recorder::Open& open;

    bool operator()(const FusedCall& awaiting, const FusedWait& awaited) {
        return wait(awaiting, awaited);
    }
    [[nodiscard]] static std::uint64_t now() { return Recorder::now(); }
    void stored(const FusedStore& store, std::uint32_t stage, std::uint64_t since_ns) {
        const bool published = store.peer < 0;
        const Rank owner = published ? own_rank : job_rank(store.peer);
        recorder.add(open, {.begin_ns = since_ns,
                            .end_ns = now(),
                            .key = key(owner, store.target.number, published),
                            .bytes = store.bytes,
                            .step = stage,
                            .peer = published ? -1 : owner,
                            .deed = published          ? Deed::publish
                                    : store.bytes == 0 ? Deed::signal
                                                       : Deed::put});
    }
    void awaited(const FusedOperand& operand, std::uint32_t stage, std::uint64_t since_ns) {
        const bool published = operand.place.published();
        const Rank peer = operand.place.peer < 0 ? -1 : job_rank(operand.place.peer);
        recorder.add(open,
                     {.begin_ns = since_ns,
                      .end_ns = now(),
                      .key = key(published ? peer : own_rank, operand.place.number, published),
                      .step = stage,
                      .peer = peer,
                      .deed = Deed::wait});
    }
    void ended(std::uint32_t stage, std::uint64_t since_ns) {
        recorder.add(open,
                     {.begin_ns = since_ns, .end_ns = now(), .step = stage, .deed = Deed::stage});
    }

  private:
    [[nodiscard]] Rank job_rank(Rank member) const {
        return call.team.setup.job_ranks[static_cast<std::size_t>(member)];
    }
    [[nodiscard]] std::uint64_t key(Rank owner, std::uint32_t number, bool published) const {
        const base::RegionShape& shape = call.team.setup.shape;
        const std::uint64_t cell =
            published ? shape.published(call.bank, number) : shape.cell(call.bank, number);
        return key_of(owner, call.team.setup.region + cell, call.flag);
    }
};

}  // namespace weft::run
