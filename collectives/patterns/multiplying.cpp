// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/patterns/multiplying.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace weft::collectives::patterns {

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
std::vector<Strip> merged(const Stage& merge, bool papers, bool riding) {
    const Rank members = merge.groups * merge.base;
    if (papers) {
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
    Translation(plan::Stages& stages, bool papers) : stages_(stages), papers_(papers) {}

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
                meeting.dealt = papers_;
                meeting.riders_receive = true;
                stages_.add(meeting);
                open_.pop_back();
                break;
            }
        }
    }

    void open_merge(const Stage& stage) {
        const std::uint32_t inner = number(merged(stage, papers_, false));
        const std::uint32_t riders = number(merged(stage, papers_, true));
        open_.push_back({inner, riders});
        plan::Meeting meeting = exchange(stage.groups, stage.base, 1);
        meeting.riders = riders;
        meeting.dealt = papers_;
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
    bool papers_;
    std::vector<Level> open_{Level{}};
};

}  // namespace

void add_stages(plan::Stages& stages, const Shape& shape, bool papers_placement) {
    Translation(stages, papers_placement).run(shape);
}

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

std::vector<std::string> promising_schedules(Rank size, Rank ranks_per_node,
                                             const StageCost& stage) {
    constexpr Rank kAllAtOnceMax = 128;
    constexpr Rank kThroughOneMax = 4096;
    const Rank n = size;
    std::vector<std::string> specs;
    if (n < 2) return specs;
    const OptimumSearch search(n, stage);
    specs.push_back(print(search.find(n).schedule));
    if (n <= kAllAtOnceMax) specs.push_back(fmt::format("a{}", n));
    if (n > 2 && n <= kThroughOneMax) specs.push_back(fmt::format("c{0}m{0},e{0}m{0}", n));
    const Rank q = ranks_per_node;
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

}  // namespace weft::collectives::patterns
