// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/patterns/multiplying.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace weft::collectives::patterns {

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

/// Returns the positions of the members of a merge, or of the remainders if `of_remainders`. In the
/// ordered placement the remainders of a group are directly before its members, and the first
/// groups have one remainder more.
std::vector<RankRun> merged(const Stage& merge, bool paper_placement, bool of_remainders) {
    if (paper_placement) {
        return {of_remainders ? RankRun::adjacent(0, merge.remainders)
                              : RankRun::adjacent(merge.remainders, merge.groups * merge.base)};
    }
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

/// Translates the stages of the notation to plan::Stages, with a numbering for each level.
class Translation {
  public:
    Translation(plan::Stages& stages, bool paper_placement)
        : stages_(stages), paper_placement_(paper_placement) {}

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
        const std::uint32_t inner = number(merged(stage, paper_placement_, false));
        const std::uint32_t remainders = number(merged(stage, paper_placement_, true));
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

}  // namespace

void add_stages(plan::Stages& stages, const Shape& shape, bool paper_placement) {
    Translation(stages, paper_placement).run(shape);
}

Schedule doubling_schedule(Rank size) {
    const Rank power = static_cast<Rank>(std::bit_floor(plan::as_u32(size)));
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
    constexpr Rank kAllAtOnceMax = 128;    // for one exchange of all ranks
    constexpr Rank kThroughOneMax = 4096;  // for a gather to one rank
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
        // After the factor q, no c or m stage may open a level.
        if (between.family == ScheduleFamily::factored)
            specs.push_back(fmt::format("a{},{}", q, nodes));
    }
    return specs;
}

}  // namespace weft::collectives::patterns
