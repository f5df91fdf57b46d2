// SPDX-License-Identifier: BSD-3-Clause
#include "plan/simulate/stream.hpp"

#include "plan/schedule/stage_steps.hpp"

namespace weft::plan {

base::Result<void> add_programs(ImagePart& part, const Stages& stages, Rank first, Rank last,
                                const std::function<void(Rank)>& progress) {
    constexpr Rank kReserveAfter = 64;
    constexpr Rank kTellEvery = 4096;
    auto sink = ImageSteps::into(part, stages.header);
    if (!sink) return sink.failure();
    StageSteps steps(stages, *sink);
    for (Rank rank = first; rank < last; ++rank) {
        sink->begin(rank);
        steps.write(rank);
        if (auto ended = sink->end(); !ended) return ended;
        if (rank - first == kReserveAfter) part.reserve(static_cast<std::size_t>(last - rank));
        if (progress && (rank - first) % kTellEvery == 0) progress(rank);
    }
    return base::Done{};
}

}  // namespace weft::plan
