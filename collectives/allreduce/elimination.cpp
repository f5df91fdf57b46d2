// SPDX-License-Identifier: BSD-3-Clause
// elimination.cpp - allreduce by pairwise exchange with elimination of odd groups.
//
// Idea     Groups of ranks with the same partial result pair up, so groups double in size. If the
//          number of groups is odd, the third group sends its value to the second (3-2 elimination)
//          while the other groups exchange. The third group receives the result from the second at
//          the end. The exchange of the second group is one round late. It is in the first pair of
//          its level, so the next elimination waits for it anyway and costs no further round.
// Source   Rabenseifner and Traeff, More efficient reduction algorithms for non-power-of-two number
//          of processors; Ruefenacht et al., recursive multiplying, section 6.4.
// Rounds   log2 n; ceil(log2 n) + 1 if n is no power of two. Messages: on a level of g groups of S
//          ranks 2*S*floor(g/2), and 2*S more if g is odd.
// Bytes    Each message carries the whole buffer.
// Memory   Two slots for each level, and two for an elimination: value and result; no scratch.
// Good for Short buffers and any n. It has as many rounds as recursive-doubling, but fewer ranks
//          wait for another rank's result.
// Holds    Operands stay in rank order and all ranks reduce in the same order, so results are
//          bit-identical.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

using plan::RankRun;

void add_levels(plan::Stages& stages, Rank size) {
    struct Elimination {
        std::uint32_t numbering;  ///< numbering of the ranks of the second and third group
        Rank width;               ///< ranks of a group
    };
    std::vector<Elimination> eliminations;
    std::uint32_t active = 0;
    Rank width = 1;
    for (Rank groups = size; groups > 1; groups /= 2, width *= 2) {
        if (groups % 2 != 0) {
            const std::uint32_t two =
                stages.add_numbering(active, {RankRun::adjacent(width, 2 * width)});
            stages.add(plan::ExchangeStage{.numbering = two,
                                           .groups = width,
                                           .base = 2,
                                           .stride = width,
                                           .senders = plan::Members::last,
                                           .receivers = plan::Members::all_but_last});
            eliminations.push_back({two, width});
            std::vector<RankRun> left{RankRun::adjacent(0, 2 * width)};
            if (groups > 3) left.push_back(RankRun::adjacent(3 * width, (groups - 3) * width));
            active = stages.add_numbering(active, std::move(left));
        }
        stages.add(plan::ExchangeStage{
            .numbering = active, .groups = groups / 2 * width, .base = 2, .stride = width});
    }
    for (auto back = eliminations.rbegin(); back != eliminations.rend(); ++back)
        stages.add(plan::ExchangeStage{.numbering = back->numbering,
                                       .groups = back->width,
                                       .base = 2,
                                       .stride = back->width,
                                       .senders = plan::Members::all_but_last,
                                       .receivers = plan::Members::last,
                                       .keeps_own = false});
}

base::Result<plan::Stages> elimination_stages(const AlgorithmSpec& spec,
                                              const GenerateRequest& request) {
    return stages_of_buffer(spec, request,
                            [&](plan::Stages& stages) { add_levels(stages, request.size); });
}

}  // namespace

Algorithm allreduce_elimination() {
    return {
        .collective = "allreduce",
        .name = "elimination",
        .summary = "pairwise exchange; of an odd number of groups, one sends its value to another",
        .source = "Rabenseifner and Traeff; Ruefenacht et al., section 6.4",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .stages = &elimination_stages,
    };
}

}  // namespace weft::collectives
