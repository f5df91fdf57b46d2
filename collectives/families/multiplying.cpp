// SPDX-License-Identifier: BSD-3-Clause
// multiplying.cpp - allreduce and barrier by recursive multiplying: any schedule of the notation,
// and allreduce by pairwise exchange with elimination of odd groups.
//
// Idea     In each stage, groups of B ranks exchange and reduce their values. After stages with
//          factors B1, B2, .. every rank holds the reduction of B1*B2*.. ranks. If the number of
//          ranks has no good factors, fewer ranks run these stages. In a split (c, e) one rank
//          represents its group. In a merge (m, n) the remainders only send in the first stage and
//          only receive in the last. A barrier has the signals of the stages without the buffers.
//          elimination: groups of ranks with the same partial result pair up, so groups double in
//          size. If the number of groups is odd, the third group sends its value to the second (3-2
//          elimination) while the other groups exchange, and receives the result from it at the
//          end. The exchange of the second group is one round late. It is in the first pair of its
//          level, so the next elimination waits for it anyway and costs no further round.
// Source   Ruefenacht et al., recursive multiplying, section 4 and algorithms 2 to 6, with
//          corrected indices of the pseudocode; Hoefler and Moor, section 3.3, for barriers as
//          allreduce without data. elimination: Rabenseifner and Traeff, More efficient reduction
//          algorithms for non-power-of-two number of processors.
// Rounds   One for each stage. Messages (signals): n*(B-1) for each aB. elimination: log2 n, or
//          ceil(log2 n) + 1 if n is no power of two. Messages: on a level of g groups of S ranks
//          2*S*floor(g/2), and 2*S more if g is odd.
// Bytes    Each message carries the whole buffer. In a stage a rank sends and reduces B-1 buffers.
// Memory   In each stage, a slot for each sender of a group and each of its remainders; no scratch.
//          elimination: two slots for each level, and two for an elimination: value and result.
// Good for Short buffers: few rounds of many non-blocking puts. B near 4 is best if the issue of a
//          message takes a quarter of its latency. Barriers of ranks that share nodes: a schedule
//          can complete the stages on the nodes before it uses the network. Dissemination cannot,
//          because all ranks use the same distances. elimination: as many rounds as
//          recursive-doubling, but fewer ranks wait for another rank's result.
// Holds    All ranks reduce in the same order (with ordered placement: rank order), so results are
//          bit-identical. All puts of a stage carry the value from before the stage, which is
//          overwritten only after flush(). All puts of a rank in a stage have one number: the first
//          number of the stage plus the rank's position in its group. So puts are kShared, and
//          stages have separate slots. Members are before remainders, in the order of the paper,
//          because its simulated times depend on it.
#include <bit>
#include <vector>

#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"
#include "collectives/notation/cursor.hpp"

namespace weft::collectives {

namespace {

using plan::RankRun;

/// Returns the ranks that stay active when groups of `base` among the first `grouped` of `active`
/// ranks are each represented by a leader: the leaders, then the others. Leaders are the last of
/// their groups, which keeps the rank order.
std::vector<RankRun> leaders(Rank active, Rank grouped, Rank base) {
    const Rank others = active - grouped;
    std::vector<RankRun> runs{{.first = base - 1, .count = grouped / base, .pitch = base}};
    if (others > 0) runs.push_back(RankRun::adjacent(grouped, others));
    return runs;
}

/// Appends the levels of an allreduce with elimination.
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

enum class MergeRole : std::uint8_t { member, remainder };

/// Returns the positions of the ranks with a role in a merge. In the ordered placement, remainders
/// are directly before the members of their group, and the first groups have one more.
std::vector<RankRun> merged(const Stage& merge, bool paper_placement, MergeRole role) {
    const bool of_remainders = role == MergeRole::remainder;
    if (paper_placement)
        return {of_remainders ? RankRun::adjacent(0, merge.remainders)
                              : RankRun::adjacent(merge.remainders, merge.groups * merge.base)};
    const Rank least = merge.remainders / merge.groups;
    const Rank fuller = merge.remainders % merge.groups;
    std::vector<RankRun> runs;
    const auto add = [&](Rank first, Rank groups, Rank remainders) {
        const Rank width = of_remainders ? remainders : merge.base;
        if (groups > 0 && width > 0)
            runs.push_back({.first = of_remainders ? first : first + remainders,
                            .count = groups * width,
                            .width = width,
                            .pitch = merge.base + remainders});
    };
    add(0, fuller, least + 1);
    add(fuller * (merge.base + least + 1), merge.groups - fuller, least);
    return runs;
}

/// Translates the stages of the notation to plan::Stages, with a numbering of the active ranks for
/// each level. `paper_placement` selects Placement::paper for the remainders of merges.
class Translation {
  public:
    Translation(plan::Stages& stages, bool paper_placement)
        : stages_(stages), paper_placement_(paper_placement) {}

    /// Appends the stages of a schedule.
    void run(const Shape& shape) {
        for (const PlacedStage& placed : shape.stages) add(placed);
    }

  private:
    /// An open level: its numbering, and the numbering of its remainders.
    struct Level {
        std::uint32_t numbering = 0;
        std::uint32_t remainders = plan::kNoRemainders;
    };

    void add(const PlacedStage& placed) {
        const Stage& stage = placed.stage;
        switch (stage.kind) {
            case StageKind::factor:
                stages_.add(groups_of(placed.active / stage.base, stage.base, placed.stride));
                break;
            case StageKind::gather: {
                plan::ExchangeStage exchange = groups_of(stage.grouped / stage.base, stage.base, 1);
                exchange.senders = plan::Members::all_but_last;
                exchange.receivers = plan::Members::last;
                stages_.add(exchange);
                open_.push_back({number(leaders(placed.active, stage.grouped, stage.base))});
                break;
            }
            case StageKind::scatter: {
                open_.pop_back();
                plan::ExchangeStage exchange = groups_of(stage.grouped / stage.base, stage.base, 1);
                exchange.senders = plan::Members::last;
                exchange.receivers = plan::Members::all_but_last;
                exchange.keeps_own = false;
                stages_.add(exchange);
                break;
            }
            case StageKind::merge:
                open_merge(stage);
                break;
            case StageKind::release: {
                plan::ExchangeStage exchange = groups_of(stage.groups, stage.base, stage.groups);
                exchange.remainders = open_.back().remainders;
                exchange.dealt = paper_placement_;
                exchange.remainders_receive = true;
                stages_.add(exchange);
                open_.pop_back();
                break;
            }
        }
    }

    void open_merge(const Stage& stage) {
        const std::uint32_t inner = number(merged(stage, paper_placement_, MergeRole::member));
        const std::uint32_t remainders =
            number(merged(stage, paper_placement_, MergeRole::remainder));
        open_.push_back({inner, remainders});
        plan::ExchangeStage exchange = groups_of(stage.groups, stage.base, 1);
        exchange.remainders = remainders;
        exchange.dealt = paper_placement_;
        exchange.remainders_send = true;
        stages_.add(exchange);
    }

    /// Returns a stage in which every member of a group puts to all others, on the innermost level.
    [[nodiscard]] plan::ExchangeStage groups_of(Rank groups, Rank base, Rank stride) const {
        return {
            .numbering = open_.back().numbering, .groups = groups, .base = base, .stride = stride};
    }

    /// Adds a numbering of some of the ranks of the innermost level.
    std::uint32_t number(std::vector<RankRun> runs) {
        return stages_.add_numbering(open_.back().numbering, std::move(runs));
    }

    plan::Stages& stages_;
    bool paper_placement_;
    std::vector<Level> open_{Level{}};
};

/// Returns a schedule of a2 stages. If the size is no power of two, the surplus ranks first send to
/// a partner (c2m.. stage) and receive the result at the end.
Schedule doubling_schedule(Rank size) {
    const Rank power = static_cast<Rank>(std::bit_floor(as_u32(size)));
    const Rank extra = size - power;
    Schedule schedule;
    if (extra > 0) schedule.push_back({.kind = StageKind::gather, .base = 2, .grouped = 2 * extra});
    for (Rank stride = 1; stride < power; stride *= 2)
        schedule.push_back({.kind = StageKind::factor, .base = 2});
    if (extra > 0)
        schedule.push_back({.kind = StageKind::scatter, .base = 2, .grouped = 2 * extra});
    return schedule;
}

/// Returns schedules that are worth a prediction. The first is the cheapest one by cost_of(). A
/// single exchange of all ranks, and a gather to one rank and back, suit expensive rounds. If all
/// nodes have the same number of ranks (ranks_per_node > 0), further schedules combine within nodes
/// first.
std::vector<std::string> promising_schedules(const CandidateRequest& request) {
    constexpr Rank kOneExchangeMax = 128;  // for one exchange of all ranks
    constexpr Rank kGatherMax = 4096;      // for a gather to one rank
    const Rank n = request.size;
    std::vector<std::string> specs;
    if (n < 2) return specs;
    const OptimumSearch search(n, request.stage);
    specs.push_back(print(search.find(n).schedule));
    if (n <= kOneExchangeMax) specs.push_back(fmt::format("a{}", n));
    if (n > 2 && n <= kGatherMax) specs.push_back(fmt::format("c{0}m{0},e{0}m{0}", n));
    const Rank q = request.ranks_per_node;
    if (q > 1 && q < n && n % q == 0) {
        const Optimum between = search.find(n / q);
        const std::string nodes = print(between.schedule);
        specs.push_back(fmt::format("c{0}m{1},{2},e{0}m{1}", n, q, nodes));
        // After the factor q, no c or m stage may open a level.
        if (between.family == ScheduleFamily::factored) {
            specs.push_back(fmt::format("a{},{}", q, nodes));
            const Optimum within = OptimumSearch(q, request.local_stage).find(q);
            if (within.family == ScheduleFamily::factored)
                specs.push_back(fmt::format("{},{}", print(within.schedule), nodes));
        }
    }
    return specs;
}

/// A schedule, and its position in the spec.
struct PlacedSchedule {
    Schedule schedule;
    std::size_t position = 0;
};

/// Returns the schedule that the spec is, or has in the parameter `schedule`.
base::Result<PlacedSchedule> schedule_parameter(const AlgorithmSpec& spec) {
    if (spec.is_schedule()) return PlacedSchedule{spec.schedule, spec.position};
    const SpecParameter* given = spec.find("schedule");
    if (given == nullptr)
        return fail_at(spec.position, "multiplying needs a schedule, as in schedule=(a2,a4)");
    if (given->nested.empty() || !given->nested.front().is_schedule())
        return fail_at(given->position,
                       "schedule must be in the notation and in parentheses, as in "
                       "schedule=(a2,a4)");
    return PlacedSchedule{given->nested.front().schedule, given->position};
}

base::Result<plan::Stages> schedule_stages(const PlacedSchedule& placed,
                                           const GenerateRequest& request) {
    const Shape shape = WEFT_TRY(validate(placed.schedule, request.size, placed.position));
    return stages_of_buffer(request, [&](plan::Stages& stages) {
        Translation(stages, request.placement == Placement::paper).run(shape);
    });
}

base::Result<plan::Stages> multiplying_stages(const GenerateRequest& request) {
    const auto placed = WEFT_TRY(schedule_parameter(*request.spec));
    return schedule_stages(placed, request);
}

base::Result<plan::Stages> doubling_stages(const GenerateRequest& request) {
    return schedule_stages({doubling_schedule(request.size), request.spec->position}, request);
}

base::Result<plan::Stages> elimination_stages(const GenerateRequest& request) {
    return stages_of_buffer(request,
                            [&](plan::Stages& stages) { add_levels(stages, request.size); });
}

base::Result<plan::Stages> barrier_stages(const GenerateRequest& request) {
    const auto placed = WEFT_TRY(schedule_parameter(*request.spec));
    const auto shape = WEFT_TRY(validate(placed.schedule, request.size, placed.position));
    plan::Stages stages = plan::begin_stages(program_header(request));
    Translation(stages, /*paper_placement=*/false).run(shape);
    return stages;
}

std::vector<std::string> barrier_variants(const CandidateRequest& request) {
    std::vector<std::string> specs;
    for (const std::string& schedule : promising_schedules(request))
        specs.push_back(fmt::format("multiplying:schedule=({})", schedule));
    if (request.size > 1)
        specs.push_back(
            fmt::format("multiplying:schedule=({})", print(doubling_schedule(request.size))));
    return specs;
}

}  // namespace

Algorithm allreduce_multiplying() {
    return {
        .collective = "allreduce",
        .name = "multiplying",
        .summary =
            "recursive multiplying: any schedule of the notation, as in a2,a4 or c6m2,a2,a2,e6m2",
        .source = "Ruefenacht et al., recursive multiplying, section 4",
        .parameters = {{"schedule", "",
                        "the schedule, in parentheses; a bare schedule names it too"},
                       kSegments},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .notation = true},
        .stages = &multiplying_stages,
        .variants = &promising_schedules};
}

Algorithm allreduce_recursive_doubling() {
    return {.collective = "allreduce",
            .name = "recursive-doubling",
            .summary = "a2 stages; if the size is not a power of two, pairs of ranks fold first",
            .source = "Ruefenacht et al., recursive multiplying, algorithm 1",
            .parameters = {kSegments},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .stages = &doubling_stages};
}

Algorithm allreduce_elimination() {
    return {
        .collective = "allreduce",
        .name = "elimination",
        .summary = "pairwise exchange; of an odd number of groups, one sends its value to another",
        .source = "Rabenseifner and Traeff; Ruefenacht et al., section 6.4",
        .parameters = {kTriedSegments},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .stages = &elimination_stages};
}

Algorithm allreduce_butterfly() {
    return {.collective = "allreduce",
            .name = "butterfly",
            .summary = "in stage k ranks at distance 2^k exchange their values",
            .source = "Hoefler and Moor, section 3.1.7",
            .parameters = {kSegments},
            .properties = {.ordered = true,
                           .bit_identical = true,
                           .synchronizing = true,
                           .power_of_two = true},
            .stages = &doubling_stages};
}

Algorithm barrier_multiplying() {
    return {.collective = "barrier",
            .name = "multiplying",
            .summary = "recursive multiplying without data, as in multiplying:schedule=(a4,a2)",
            .source = "Ruefenacht et al., recursive multiplying, section 4",
            .parameters = {{"schedule", "", "the schedule, in parentheses"}},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .stages = &barrier_stages,
            .variants = &barrier_variants};
}

}  // namespace weft::collectives
