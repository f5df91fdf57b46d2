// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/localize.hpp"

#include <map>
#include <set>

namespace weft::plan {

Program localize(const Program& program, const std::function<bool(Rank)>& near) {
    const auto is_shared = [&](const Step& step) {
        return (step.flags & kShared) != 0 && near(step.peer);
    };
    std::map<std::uint32_t, Rank> writers;  // by slot: local peer whose puts to it are shared
    for (const Step& step : program.steps)
        if (step.kind == StepKind::wait && is_shared(step)) writers[step.signal] = step.peer;
    Program result = program;
    for (Block& block : result.blocks) {
        const auto writer = writers.find(block.index);
        if (block.buffer != Buffer::slot || writer == writers.end()) continue;
        block.buffer = Buffer::published;
        block.peer = writer->second;
    }
    result.steps.clear();
    result.lanes.clear();
    std::set<std::uint32_t> published;  // numbers with a publish step in `result`
    const auto rewrite = [&](const Step& step) {
        const bool sends = step.kind == StepKind::put || step.kind == StepKind::signal;
        if (sends && is_shared(step)) {
            if (!published.insert(step.signal).second) return;
            result.steps.push_back({.kind = StepKind::publish,
                                    .lag = step.lag,
                                    .signal = step.signal,
                                    .source = step.source});
            return;
        }
        Step& kept = result.steps.emplace_back(step);
        if (step.kind == StepKind::wait && is_shared(step))
            kept.flags |= kFromPublished;
        else  // no later pass may publish the data of a shared put to a remote peer
            kept.flags &= static_cast<std::uint8_t>(~kShared);
    };
    for (const Lane& lane : program.distinct_lanes()) {
        const auto first = as_u32(result.steps.size());
        std::size_t loop = 0;      // index of the open loop's step in `result`
        std::uint32_t unread = 0;  // number of steps of the open loop still to be rewritten
        for (const Step& step : std::span(program.steps).subspan(lane.first, lane.count)) {
            if (step.kind == StepKind::loop) {
                loop = result.steps.size();
                unread = step.signal;
                result.steps.push_back(step);
                continue;
            }
            rewrite(step);
            // The body may have become shorter.
            if (unread > 0 && --unread == 0)
                result.steps[loop].signal = as_u32(result.steps.size() - loop - 1);
        }
        result.lanes.push_back({first, as_u32(result.steps.size()) - first});
    }
    repeat_lanes(result, program.window());
    return result;
}

}  // namespace weft::plan
