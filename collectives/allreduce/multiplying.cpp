// SPDX-License-Identifier: BSD-3-Clause
// multiplying.cpp - allreduce by recursive multiplying: any schedule of the notation.
//
// Idea     Stage by stage, groups of B ranks exchange what they hold and reduce it, so that after
//          the stages with factors B1, B2, .. every rank holds the reduction of B1*B2*.. ranks.
//          Sizes that do not factor well are reduced first: a split (c, e) lets one rank speak for
//          its group, a merge (m, n) lets the remainders ride along in the first and last stage.
// Source   Ruefenacht et al., recursive multiplying, section 4 and algorithms 2 to 6, with the
//          indices of the pseudocode put right.
// Rounds   One for each stage. Messages: n*(B-1) for each aB.
// Bytes    Each message carries the whole vector: in a stage a rank sends and reduces (B-1) of them.
// Memory   One slot for each member of a stage's groups and each remainder attached; no scratch.
// Good for Short vectors: few rounds of many non-blocking puts. B near 4 where issuing a message
//          costs a quarter of its latency.
// Holds    All ranks reduce in the same order, so results are bit-identical; with ordered placement
//          it is rank order. All puts of a stage carry the value from before the stage; that value
//          is overwritten only after local(). A rank's puts of a stage all carry one number: the
//          position of the sender in its group, counted from the stage's first number. So puts are
//          kShared, and the slots of different stages never meet. Members come first, remainders
//          after them, in the order of the paper: its simulated times depend on that.
// Next     notation/schedule.hpp for the rules; plan/schedule/stages.hpp for what a stage makes ranks do.
#include <bit>

#include "collectives/allreduce/allreduce.hpp"
#include "plan/schedule/stages.hpp"

namespace weft::collectives {

namespace {

using plan::Strip;

/// Who is left when the first `grouped` of `active` ranks, in groups of `base`, speak through the last
/// of each group: the leaders, then the others. Leaders are the last so that rank order is kept.
std::vector<Strip> leaders(Rank active, Rank grouped, Rank base) {
    const Rank others = active - grouped;
    std::vector<Strip> strips{{.first = base - 1, .count = grouped / base, .pitch = base}};
    if (others > 0)
        strips.push_back({.first = grouped, .count = others, .width = others, .pitch = others});
    return strips;
}

/// Where the members (or, if `riding`, the remainders) of a merge stand. In the ordered placement the
/// remainders of a group stand directly before its members, and the first groups have one more.
std::vector<Strip> merged(const Stage& merge, Placement placement, bool riding) {
    const Rank members = merge.groups * merge.base;
    if (placement == Placement::paper) {
        if (riding)
            return {
                {.count = merge.remainders, .width = merge.remainders, .pitch = merge.remainders}};
        return {{.first = merge.remainders, .count = members, .width = members, .pitch = members}};
    }
    const Rank least = merge.remainders / merge.groups;
    const Rank fuller = merge.remainders % merge.groups;
    std::vector<Strip> strips;
    const auto add = [&](Rank first, Rank groups, Rank riders) {
        const Rank width = riding ? riders : merge.base;
        if (groups > 0 && width > 0)
            strips.push_back({.first = riding ? first : first + riders,
                              .count = groups * width,
                              .width = width,
                              .pitch = merge.base + riders});
    };
    add(0, fuller, least + 1);
    add(fuller * (merge.base + least + 1), merge.groups - fuller, least);
    return strips;
}

/// Turns the stages of the notation into those of the value, with a numbering for each level.
class Translation {
  public:
    Translation(plan::Stages& stages, Placement placement)
        : stages_(stages), placement_(placement) {}

    void run(const Shape& shape) {
        for (const PlacedStage& placed : shape.stages) add(placed);
    }

  private:
    /// A level that is open: its numbering and that of its riders.
    struct Level {
        std::uint32_t numbering = 0;
        std::uint32_t riders = plan::kNoRiders;
    };

    void add(const PlacedStage& placed) {
        const Stage& stage = placed.stage;
        switch (stage.kind) {
            case StageKind::factor:
                stages_.add(exchange(placed.active / stage.base, stage.base, placed.stride));
                break;
            case StageKind::gather: {
                plan::Meeting meeting = exchange(stage.grouped / stage.base, stage.base, 1);
                meeting.senders = plan::Members::all_but_last;
                meeting.receivers = plan::Members::last;
                stages_.add(meeting);
                open_.push_back({number(leaders(placed.active, stage.grouped, stage.base))});
                break;
            }
            case StageKind::scatter: {
                open_.pop_back();
                plan::Meeting meeting = exchange(stage.grouped / stage.base, stage.base, 1);
                meeting.senders = plan::Members::last;
                meeting.receivers = plan::Members::all_but_last;
                meeting.keeps_own = false;
                stages_.add(meeting);
                break;
            }
            case StageKind::merge:
                open_merge(stage);
                break;
            case StageKind::release: {
                plan::Meeting meeting = exchange(stage.groups, stage.base, stage.groups);
                meeting.riders = open_.back().riders;
                meeting.dealt = placement_ == Placement::paper;
                meeting.riders_receive = true;
                stages_.add(meeting);
                open_.pop_back();
                break;
            }
        }
    }

    void open_merge(const Stage& stage) {
        const std::uint32_t inner = number(merged(stage, placement_, false));
        const std::uint32_t riders = number(merged(stage, placement_, true));
        open_.push_back({inner, riders});
        plan::Meeting meeting = exchange(stage.groups, stage.base, 1);
        meeting.riders = riders;
        meeting.dealt = placement_ == Placement::paper;
        meeting.riders_send = true;
        stages_.add(meeting);
    }

    /// All of a group put to all, on the innermost level.
    [[nodiscard]] plan::Meeting exchange(Rank groups, Rank base, Rank stride) const {
        return {
            .numbering = open_.back().numbering, .groups = groups, .base = base, .stride = stride};
    }

    /// A new numbering of some of the ranks of the innermost level.
    std::uint32_t number(std::vector<Strip> strips) {
        plan::Numbering numbering{.outer = open_.back().numbering, .strips = std::move(strips)};
        for (const Strip& strip : numbering.strips) numbering.count += strip.count;
        stages_.add(std::move(numbering));
        return static_cast<std::uint32_t>(stages_.numberings.size()) - 1;
    }

    plan::Stages& stages_;
    Placement placement_;
    std::vector<Level> open_{Level{}};
};

base::Result<plan::Stages> schedule_stages(const Schedule& schedule, std::size_t position,
                                           const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    const base::Result<Shape> shape = validate(schedule, request.size, position);
    if (!shape) return shape.failure();
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("allreduce", spec, request);
    header.root = plan::kNoRank;
    if (request.elements == 0) {  // nothing to send: such a call never is synchronizing
        header.units = 0;
        return plan::begin_stages(std::move(header));
    }
    header.units = *segments;
    header.segments = *segments;
    header.depth = *segments > 1 ? 2 : 1;
    header.synchronizing = true;
    plan::Stages stages = plan::begin_stages(std::move(header));
    stages.carries = true;
    Translation(stages, request.placement).run(*shape);
    return stages;
}

base::Result<plan::Stages> multiplying_stages(const AlgorithmSpec& spec,
                                              const GenerateRequest& request) {
    if (spec.is_schedule()) return schedule_stages(spec.schedule, spec.position, spec, request);
    const SpecParameter* schedule = spec.find("schedule");
    if (schedule == nullptr)
        return base::fail(Status::argument,
                          "character {}: multiplying needs a schedule, as in schedule=(a2,a4)",
                          spec.position);
    if (schedule->nested.empty() || !schedule->nested.front().is_schedule())
        return base::fail(
            Status::argument,
            "character {}: schedule must be in the notation and in parentheses, as in "
            "schedule=(a2,a4)",
            schedule->position);
    return schedule_stages(schedule->nested.front().schedule, schedule->position, spec, request);
}

/// The cheapest schedule by the model; all at once and all through one, where rounds cost much; and
/// those that finish on the nodes before they go to others.
std::vector<std::string> multiplying_variants(const CandidateRequest& request) {
    constexpr Rank kAllAtOnceMax = 128;
    constexpr Rank kThroughOneMax = 4096;
    const Rank n = request.size;
    std::vector<std::string> specs;
    if (n < 2) return specs;
    const OptimumSearch search(n, request.stage);
    specs.push_back(print(search.find(n).schedule));
    if (n <= kAllAtOnceMax) specs.push_back(fmt::format("a{}", n));
    if (n > 2 && n <= kThroughOneMax) specs.push_back(fmt::format("c{0}m{0},e{0}m{0}", n));
    const Rank q = request.ranks_per_node;
    if (q > 1 && q < n && n % q == 0) {
        const Optimum between = search.find(n / q);
        const std::string nodes = print(between.schedule);
        specs.push_back(fmt::format("c{0}m{1},{2},e{0}m{1}", n, q, nodes));
        // Nested levels do not follow a factor.
        if (between.family == ScheduleFamily::factored)
            specs.push_back(fmt::format("a{},{}", q, nodes));
    }
    return specs;
}

/// Pairs fold first until a power of two is left; then distance 1, 2, 4, ...
Schedule doubling_schedule(Rank size) {
    const Rank power = static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(size)));
    const Rank extra = size - power;
    Schedule schedule;
    if (extra > 0) schedule.push_back({.kind = StageKind::gather, .base = 2, .grouped = 2 * extra});
    for (Rank stride = 1; stride < power; stride *= 2)
        schedule.push_back({.kind = StageKind::factor, .base = 2});
    if (extra > 0)
        schedule.push_back({.kind = StageKind::scatter, .base = 2, .grouped = 2 * extra});
    return schedule;
}

base::Result<plan::Stages> doubling_stages(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    return schedule_stages(doubling_schedule(request.size), spec.position, spec, request);
}

base::Result<plan::Stages> butterfly_stages(const AlgorithmSpec& spec,
                                            const GenerateRequest& request) {
    if (!std::has_single_bit(static_cast<std::uint32_t>(request.size)))
        return base::fail(Status::argument,
                          "character {}: a butterfly needs a power of two, {} ranks are none",
                          spec.position, request.size);
    return schedule_stages(doubling_schedule(request.size), spec.position, spec, request);
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
                       {"segments", "1", "pieces of the vector that follow each other"}},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .notation = true},
        .stages = &multiplying_stages,
        .variants = &multiplying_variants,
    };
}

Algorithm allreduce_recursive_doubling() {
    return {
        .collective = "allreduce",
        .name = "recursive-doubling",
        .summary = "a2 stages; if the size is not a power of two, pairs of ranks fold first",
        .source = "Ruefenacht et al., recursive multiplying, algorithm 1",
        .parameters = {{"segments", "1", "pieces of the vector that follow each other"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .stages = &doubling_stages,
    };
}

Algorithm allreduce_butterfly() {
    return {
        .collective = "allreduce",
        .name = "butterfly",
        .summary = "in stage k ranks at distance 2^k exchange what they hold",
        .source = "Hoefler and Moor, section 3.1.7",
        .parameters = {{"segments", "1", "pieces of the vector that follow each other"}},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .power_of_two = true},
        .stages = &butterfly_stages,
    };
}

}  // namespace weft::collectives
