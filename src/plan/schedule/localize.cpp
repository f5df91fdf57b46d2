// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/localize.hpp"

#include <map>
#include <set>

namespace weft::plan {

namespace {

/// Rewrites one program step by step into a new list of steps.
class Localizer {
  public:
    Localizer(const Program& program, const std::function<bool(Rank)>& near)
        : result_(program), near_(near) {
        for (const Step& step : program.steps) {
            if (step.kind == StepKind::wait && is_shared(step)) writers_[step.signal] = step.peer;
        }
    }

    Program run(const Program& program) && {
        result_.steps.clear();
        for (Block& block : result_.blocks) rewrite(block);
        result_.lanes.clear();
        for (const Lane& lane : program.distinct_lanes()) {
            const auto first = as_u32(result_.steps.size());
            for (std::uint32_t i = lane.first; i < lane.first + lane.count; ++i) {
                if (program.steps[i].kind == StepKind::loop)
                    open_loop(program.steps[i]);
                else
                    rewrite(program.steps[i]);
                close_loop_after(i, program);
            }
            result_.lanes.push_back({first, as_u32(result_.steps.size()) - first});
        }
        repeat_lanes(result_, program.window());
        return std::move(result_);
    }

  private:
    [[nodiscard]] bool is_shared(const Step& step) const {
        return (step.flags & kShared) != 0 && near_(step.peer);
    }

    void rewrite(Block& block) {
        if (block.buffer != Buffer::slot) return;
        const auto writer = writers_.find(block.index);
        if (writer == writers_.end()) return;
        block.buffer = Buffer::published;
        block.peer = writer->second;
    }

    void rewrite(const Step& step) {
        const bool sends = step.kind == StepKind::put || step.kind == StepKind::signal;
        if (sends && is_shared(step)) {
            if (!published_.insert(step.signal).second) return;
            result_.steps.push_back({.kind = StepKind::publish,
                                     .lag = step.lag,
                                     .signal = step.signal,
                                     .source = step.source});
            return;
        }
        Step& kept = result_.steps.emplace_back(step);
        if (step.kind == StepKind::wait && is_shared(step)) {
            kept.flags |= kFromPublished;
        } else {
            // No later pass may publish the data of a shared put to a remote peer.
            kept.flags &= static_cast<std::uint8_t>(~kShared);
        }
    }

    void open_loop(const Step& loop) {
        loop_start_ = result_.steps.size();
        loop_left_ = loop.signal;
        result_.steps.push_back(loop);
    }

    /// Sets the length of a loop after its last step, since the body may have become shorter.
    void close_loop_after(std::uint32_t index, const Program& program) {
        if (loop_left_ == 0 || program.steps[index].kind == StepKind::loop) return;
        if (--loop_left_ == 0)
            result_.steps[loop_start_].signal = as_u32(result_.steps.size() - loop_start_ - 1);
    }

    Program result_;
    const std::function<bool(Rank)>& near_;
    std::map<std::uint32_t, Rank> writers_;  ///< by slot: local peer whose puts to it are shared
    std::set<std::uint32_t> published_;      ///< numbers with a publish step in result_
    std::size_t loop_start_ = 0;             ///< index of the last loop step in result_
    std::uint32_t loop_left_ = 0;  ///< number of steps of the open loop still to be rewritten
};

}  // namespace

Program localize(const Program& program, const std::function<bool(Rank)>& near) {
    return Localizer(program, near).run(program);
}

}  // namespace weft::plan
