// SPDX-License-Identifier: BSD-3-Clause
// validate.cpp - checks that a list of stages is an allreduce of n ranks.
//
// Idea     Walk the stages with a stack of levels. A level has a number of active ranks (n) and a
//          product of factors so far (S). It is complete when S == n.
// Why      The walk that finds a broken rule also yields n and S of every stage, which generators
//          need.
#include <cstdint>

#include "collectives/notation/cursor.hpp"
#include "collectives/notation/schedule.hpp"

namespace weft::collectives {

namespace {

enum class StagePart { stage, grouped, remainders, groups, base };

class Validator {
  public:
    Validator(const Schedule& schedule, Rank size, std::size_t first_position)
        : schedule_(schedule), first_position_(first_position), shape_{.size = size, .stages = {}} {
        levels_.push_back({.active = size});
    }

    base::Result<Shape> run() && {
        for (index_ = 0; index_ < schedule_.size(); ++index_) WEFT_TRY(check(schedule_[index_]));
        if (levels_.size() > 1)
            return fail(StagePart::stage, "the level that {} opened is not closed",
                        print(levels_.back().opened));
        WEFT_TRY(check_level());
        return std::move(shape_);
    }

  private:
    struct Level {
        Rank active = 0;  ///< n
        Rank stride = 1;  ///< S
        Stage opened{};   ///< the c or m stage that opened it; unused on the outermost level
    };

    base::Result<void> check(const Stage& stage) {
        if (stage.base < 2) return fail(StagePart::base, "B={} is less than 2", stage.base);
        shape_.stages.push_back(
            {.stage = stage, .active = levels_.back().active, .stride = levels_.back().stride});
        switch (stage.kind) {
            case StageKind::factor:
                return factor(stage);
            case StageKind::gather:
                return gather(stage);
            case StageKind::scatter:
                return scatter(stage);
            case StageKind::merge:
                return merge(stage);
            case StageKind::release:
                return release(stage);
        }
        return base::Done{};
    }

    base::Result<void> factor(const Stage& stage) {
        Level& level = levels_.back();
        const std::int64_t product = std::int64_t{level.stride} * stage.base;
        if (level.active % product != 0)
            return fail(StagePart::base, "n={} is not divisible by S*B={}*{}", level.active,
                        level.stride, stage.base);
        level.stride = static_cast<Rank>(product);
        return base::Done{};
    }

    base::Result<void> gather(const Stage& stage) {
        const Level& level = levels_.back();
        WEFT_TRY(check_first(stage));
        if (stage.grouped < stage.base)
            return fail(StagePart::grouped, "T={} is less than B={}", stage.grouped, stage.base);
        if (stage.grouped > level.active)
            return fail(StagePart::grouped, "T={} is more than n={}", stage.grouped, level.active);
        if (stage.grouped % stage.base != 0)
            return fail(StagePart::base, "T={} is not divisible by B={}", stage.grouped,
                        stage.base);
        const Rank leaders = stage.grouped / stage.base;
        levels_.push_back({.active = leaders + (level.active - stage.grouped), .opened = stage});
        return base::Done{};
    }

    base::Result<void> scatter(const Stage& stage) {
        const Level& level = levels_.back();
        const bool matches = levels_.size() > 1 && level.opened.kind == StageKind::gather &&
                             level.opened.grouped == stage.grouped &&
                             level.opened.base == stage.base;
        if (!matches) return unmatched(stage, StageKind::gather);
        WEFT_TRY(check_level());
        close_level();
        return base::Done{};
    }

    base::Result<void> merge(const Stage& stage) {
        const Level& level = levels_.back();
        WEFT_TRY(check_first(stage));
        if (stage.remainders < 1)
            return fail(StagePart::remainders, "R={} is less than 1", stage.remainders);
        const std::int64_t inner = std::int64_t{stage.groups} * stage.base;
        if (inner != level.active - stage.remainders)
            return fail(StagePart::groups, "G*B={}*{} must be n-R={}-{}={}", stage.groups,
                        stage.base, level.active, stage.remainders,
                        level.active - stage.remainders);
        levels_.push_back(
            {.active = static_cast<Rank>(inner), .stride = stage.base, .opened = stage});
        return base::Done{};
    }

    base::Result<void> release(const Stage& stage) {
        const Level& level = levels_.back();
        const bool matches = levels_.size() > 1 && level.opened.kind == StageKind::merge &&
                             level.opened.remainders == stage.remainders;
        if (!matches) return unmatched(stage, StageKind::merge);
        if (stage.groups != level.stride)
            return fail(StagePart::groups, "G={} must be S={}", stage.groups, level.stride);
        if (std::int64_t{stage.groups} * stage.base != level.active)
            return fail(StagePart::base, "G*B={}*{} must be n-R={}", stage.groups, stage.base,
                        level.active);
        close_level();
        return base::Done{};
    }

    base::Result<void> check_first(const Stage& stage) const {
        if (levels_.back().stride == 1) return base::Done{};
        return fail(StagePart::stage,
                    "{} must be the first stage of its level; earlier stages have the product S={}",
                    static_cast<char>(stage.kind), levels_.back().stride);
    }

    base::Result<void> check_level() const {
        const Level& level = levels_.back();
        if (level.stride == level.active) return base::Done{};
        return fail(StagePart::stage,
                    "the level has n={} ranks, but the product of its factors is {}", level.active,
                    level.stride);
    }

    /// When the inner level is complete, all ranks of the outer level hold the result.
    void close_level() {
        levels_.pop_back();
        levels_.back().stride = levels_.back().active;
    }

    base::Failure unmatched(const Stage& stage, StageKind opener) const {
        const Level& level = levels_.back();
        return fail(StagePart::stage, "{} matches no open {} stage; innermost open stage: {}",
                    print(stage), static_cast<char>(opener),
                    levels_.size() > 1 ? print(level.opened) : "none");
    }

    /// Returns the position of a part of the current stage in the printed schedule.
    std::size_t position(StagePart part) const {
        std::size_t at = first_position_;
        for (std::size_t i = 0; i < index_; ++i) at += print(schedule_[i]).size() + 1;
        if (index_ == schedule_.size()) return index_ == 0 ? at : at - 1;  // after the last stage
        if (part == StagePart::stage) return at;
        const Stage& stage = schedule_[index_];
        at += 1;  // the letter; the first number follows
        if (part == StagePart::grouped || part == StagePart::remainders) return at;
        if (stage.kind == StageKind::factor) return at;
        const bool split = stage.kind == StageKind::gather || stage.kind == StageKind::scatter;
        at += fmt::to_string(split ? stage.grouped : stage.remainders).size() + 1;
        if (split || part == StagePart::groups) return at;
        return at + fmt::to_string(stage.groups).size() + 1;
    }

    template <class... Arguments>
    base::Failure fail(StagePart part, fmt::format_string<Arguments...> format,
                       Arguments&&... arguments) const {
        return fail_at(position(part), format, std::forward<Arguments>(arguments)...);
    }

    const Schedule& schedule_;
    std::size_t first_position_;
    std::size_t index_ = 0;
    std::vector<Level> levels_;
    Shape shape_;
};

}  // namespace

base::Result<Shape> validate(const Schedule& schedule, Rank size, std::size_t first_position) {
    if (size < 1)
        return base::fail(Status::argument, "ranks: {} given, at least 1 is needed", size);
    return Validator(schedule, size, first_position).run();
}

}  // namespace weft::collectives
