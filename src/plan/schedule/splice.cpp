// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/splice.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "plan/schedule/canonical.hpp"
#include "plan/schedule/part_blocks.hpp"

namespace weft::plan {

namespace {

/// Largest number of units of the whole, unless a single part needs more.
constexpr std::uint64_t kUnitsMax = 1 << 20;

std::span<const Step> steps_of(const Program& program, const Lane& lane) {
    return std::span(program.steps).subspan(lane.first, lane.count);
}

/// Returns true if the program is one loop or empty.
bool is_loop(const Program& program) {
    if (program.steps.empty()) return true;
    return program.lanes.size() == 1 && program.steps.front().kind == StepKind::loop &&
           program.steps.front().signal + 1 == program.steps.size();
}

class Splicer {
  public:
    Splicer(Program header, const std::vector<SplicePart>& parts, Flow flow)
        : program_(std::move(header)),
          parts_(parts),
          flow_(flow),
          scratch_first_(program_.scratch) {
        program_.steps.clear();
        program_.lanes.clear();
        program_.blocks.clear();
        program_.slots = program_.slot_units = 0;
        program_.slot_capacity.clear();
    }

    base::Result<Program> run() {
        WEFT_TRY(set_sizes());
        if (in_lanes_)
            unflushed_.clear();
        else
            lanes_.resize(1);
        for (const SplicePart& part : parts_) {
            const std::uint32_t first_slot = program_.slots;
            reserve(part);
            if (part.own) WEFT_TRY(add(part, first_slot));
        }
        if (in_lanes_) connect_lanes();
        if (merged_ && program_.segments > 1) put_in_loops();
        for (const std::vector<Step>& lane : lanes_) {
            if (lane.empty()) continue;
            program_.lanes.push_back({as_u32(program_.steps.size()), as_u32(lane.size())});
            program_.steps.insert(program_.steps.end(), lane.begin(), lane.end());
        }
        if (flow_ != Flow::one_segment && merged_ && program_.segments > 1) interleave(program_);
        return std::move(program_);
    }

  private:
    /// Sets the number of units: a multiple of every part's units, and equal in all segments.
    base::Result<void> cut_units() {
        constexpr std::uint64_t kUnitsLimit = std::numeric_limits<std::uint32_t>::max();
        std::uint64_t units_max = kUnitsMax;
        std::uint64_t units = 1;  // units of a segment
        for (const SplicePart& part : parts_)
            for (const auto& shape : part.shapes)
                if (!part.bare) units_max = std::max(units_max, units_in_whole(part, *shape));
        for (const SplicePart& part : parts_) {
            for (const auto& shape_pointer : part.shapes) {
                const Program& shape = *shape_pointer;
                if (part.bare || shape.units == 0) continue;
                const std::uint64_t part_units = units_in_whole(part, shape);
                if (units_max <= kUnitsLimit)
                    units = std::lcm(units, part_units / std::gcd(part_units, shape.segments));
                if (units * program_.segments > units_max || units_max > kUnitsLimit)
                    return base::fail(Status::argument,
                                      "the parts cut the buffer into {} units, the limit is {}",
                                      std::max(units * program_.segments, units_max),
                                      std::min(units_max, kUnitsLimit));
            }
        }
        const bool has_data = !std::ranges::all_of(parts_, &SplicePart::bare);
        if (has_data) program_.units = as_u32(units * program_.segments);
        return base::Done{};
    }

    /// Sets merged_, in_lanes_ and spreads_, and segments, depth and units that fit all parts.
    base::Result<void> set_sizes() {
        merged_ = true;
        program_.segments = program_.depth = 1;
        for (const SplicePart& part : parts_) {
            for (const auto& shape_pointer : part.shapes) {
                const Program& shape = *shape_pointer;
                WEFT_CHECK(shape.unit_counts.empty(), shape.algorithm);
                WEFT_TRY(check_fit(part, shape));
                if (shape.segments > 1 && program_.segments > 1 &&
                    shape.segments != program_.segments)
                    return base::fail(
                        Status::argument, "{} {} has {} segments, another part has {}",
                        shape.collective, shape.algorithm, shape.segments, program_.segments);
                program_.segments = std::max(program_.segments, shape.segments);
                program_.depth = std::max(program_.depth, shape.depth);
                merged_ = merged_ && is_loop(shape);
            }
        }
        if (cut_differently()) {
            spreads_ = merged_ && wants_lane_per_part() && can_spread_all();
            if (spreads_ && cut_units()) {
                in_lanes_ = true;
                return base::Done{};
            }
            merged_ = spreads_ = false;
        }
        in_lanes_ = merged_ && wants_lane_per_part();
        return cut_units();
    }

    [[nodiscard]] bool wants_lane_per_part() const {
        return flow_ == Flow::parts && program_.segments > 1;
    }
    /// Returns true if some parts cut the whole buffer and others cut each block.
    [[nodiscard]] bool cut_differently() const {
        return std::ranges::any_of(parts_, [&](const SplicePart& part) {
            return (part.blocks_of == nullptr) != (parts_.front().blocks_of == nullptr);
        });
    }
    /// Returns true if the units of all parts that cut the whole buffer can be spread over the
    /// blocks.
    [[nodiscard]] bool can_spread_all() const {
        return std::ranges::all_of(parts_, [&](const SplicePart& part) {
            return part.blocks_of != nullptr ||
                   (!part.bare && part.ranges == 1 &&
                    std::ranges::all_of(part.shapes, [&](const auto& shape) {
                        return shape->segments == program_.segments && can_spread(*shape);
                    }));
        });
    }
    [[nodiscard]] bool spreads(const SplicePart& part) const {
        return spreads_ && part.blocks_of == nullptr;
    }

    /// Returns true if the program's blocks cannot be mapped to blocks of the whole: they advance
    /// by several units in a segment, or a unit may have no fixed distance from the payload's
    /// start. The distance is fixed only if unit and start are in one block that represents a
    /// single block.
    static bool cannot_map_blocks(const SplicePart& part, const Program& program) {
        return std::ranges::any_of(program.blocks, [&](const Block& block) {
            if (block.advance > 1) return true;
            return is_payload(block.buffer) && block.stride == 1 && block.origin != block.first &&
                   (part.blocks_max > 1 || !same_block(program, block.origin, block.first));
        });
    }
    /// Returns true if units a and b of the part are in one block.
    static bool same_block(const Program& program, std::uint32_t a, std::uint32_t b) {
        return a / units_of_block(program) == b / units_of_block(program);
    }
    /// Returns true if an exposed block would become several ranges of the whole.
    static bool exposes_several(const SplicePart& part, const Program& program) {
        return std::ranges::any_of(program.steps, [&](const Step& step) {
            if (step.kind != StepKind::expose) return false;
            const Block& block = program.blocks[step.source.start];
            return part.blocks_max > 1 ||
                   !same_block(program, block.first, block.first + block.count - 1);
        });
    }
    static base::Result<void> check_fit(const SplicePart& part, const Program& program) {
        if (part.ranges > 1 && program.segments > 1 && !cuts_into_segments(program))
            return base::fail(Status::unsupported, "{} {} does not cut the buffer into segments",
                              program.collective, program.algorithm);
        if (part.blocks_of == nullptr) return base::Done{};
        const char* const what = cannot_map_blocks(part, program) ? "accesses blocks in pieces"
                                 : exposes_several(part, program) ? "exposes blocks"
                                                                  : nullptr;
        if (what == nullptr) return base::Done{};
        return base::fail(Status::unsupported,
                          "{} {} {}, but each of its blocks represents several here",
                          program.collective, program.algorithm, what);
    }

    /// Returns the smallest number of units of the whole buffer that fits the part's units.
    [[nodiscard]] std::uint64_t units_in_whole(const SplicePart& part, const Program& shape) const {
        if (spreads(part)) return std::uint64_t{shape.units} * as_u32(program_.size);
        if (part.blocks_of == nullptr) return std::uint64_t{shape.units} * part.ranges;
        return units_of_block(shape) * static_cast<std::uint64_t>(program_.size);
    }
    [[nodiscard]] static std::uint32_t units_of_block(const Program& shape) {
        return shape.units / as_u32(shape.size);
    }

    /// Returns the number of adjacent units of the whole that each unit of the part becomes.
    [[nodiscard]] std::uint32_t factor(const SplicePart& part, const Program& shape) const {
        if (part.bare || shape.units == 0) return 1;
        return as_u32(program_.units / units_in_whole(part, shape));
    }
    /// Raises the capacities of the slots from `first` on to a shape's capacities, in units of the
    /// whole.
    void reserve_capacities(const SplicePart& part, const Program& shape, std::uint32_t first) {
        const std::uint64_t shape_factor = factor(part, shape);
        const auto blocks =
            static_cast<std::uint64_t>(spreads(part) ? program_.size : part.blocks_max);
        const std::uint64_t units_max = part.blocks_of == nullptr
                                            ? std::numeric_limits<std::uint64_t>::max()
                                            : units_in_whole(part, shape);
        for (std::uint32_t slot = 0; slot < shape.slots; ++slot) {
            const std::uint64_t units =
                std::min(shape.capacity_of(slot) * blocks, units_max) * shape_factor;
            std::uint32_t& capacity = program_.slot_capacity[first + slot];
            capacity = std::max(capacity, as_u32(units));
            program_.slot_units = std::max(program_.slot_units, capacity);
        }
    }

    /// Reserves the slots of a part after the slots of the preceding parts, and two signal numbers
    /// for each further lane (to_itself()).
    void reserve(const SplicePart& part) {
        std::uint32_t slots = 0;
        lanes_max_ = 1;
        for (const auto& shape : part.shapes) {
            slots = std::max(slots, shape->slots);
            lanes_max_ = std::max(lanes_max_, shape->lanes.size());
        }
        slots_of_part_ = slots;
        slots += 2 * as_u32(lanes_max_ - 1);
        program_.slot_capacity.resize(program_.slots + slots);
        for (const auto& shape : part.shapes)
            if (!part.bare) reserve_capacities(part, *shape, program_.slots);
        program_.slots += slots;
    }

    base::Result<void> add(const SplicePart& part, std::uint32_t first_slot) {
        const Program& own = *part.own;
        WEFT_TRY(check_fit(part, own));
        if (own.lanes.size() > lanes_max_ || (merged_ && !is_loop(own)) ||
            (spreads(part) && !can_spread(own)))
            return base::fail(Status::unsupported,
                              "{} {} of {} ranks has another form on rank {} than on others",
                              own.collective, own.algorithm, own.size, own.rank);
        part_ = &part;
        slot_first_ = first_slot;
        const auto ranks = as_u32(program_.size);
        blocks_.emplace(part, own,
                        PartPlace{.slot_first = slot_first_,
                                  .scratch_first = scratch_first_,
                                  .factor = factor(part, own),
                                  .blocks = spreads(part) ? ranks : 0,
                                  .block_units = program_.units / ranks});
        if (!part.bare) program_.scratch = std::max(program_.scratch, scratch_first_ + own.scratch);
        if (writes(own)) flush_lanes();
        if (in_lanes_) {
            if (lanes_.empty() || slots_of_part_ > 0) {
                lanes_.emplace_back();
                unflushed_.push_back(false);
            }
            for (const Lane& lane : own.lanes) translate(steps_of(own, lane), lanes_.size() - 1);
        } else {
            add_lanes(own, first_slot + slots_of_part_);
        }
        return base::Done{};
    }

    /// Adds the lanes of a part, with signals of the rank to itself before and after them.
    void add_lanes(const Program& own, std::uint32_t first_signal) {
        for (std::size_t lane = 1; lane < own.lanes.size(); ++lane)
            lanes_.front().push_back(to_itself(StepKind::signal, first_signal, lane, start));
        for (std::size_t lane = 0; lane < own.lanes.size(); ++lane) {
            if (lanes_.size() <= lane) lanes_.emplace_back();
            if (lane > 0)
                lanes_[lane].push_back(to_itself(StepKind::wait, first_signal, lane, start));
            translate(steps_of(own, own.lanes[lane]), lane);
            if (lane == 0) continue;
            // The next part may overwrite data that this lane's puts read.
            if (!part_->bare) lanes_[lane].push_back({.kind = StepKind::flush});
            lanes_[lane].push_back(to_itself(StepKind::signal, first_signal, lane, end));
        }
        for (std::size_t lane = 1; lane < own.lanes.size(); ++lane)
            lanes_.front().push_back(to_itself(StepKind::wait, first_signal, lane, end));
    }

    /// Flushes the puts of earlier parts, before a part that may overwrite the data that they read.
    void flush_lanes() {
        for (std::size_t lane = 0; lane < unflushed_.size(); ++lane) {
            if (unflushed_[lane]) lanes_[lane].push_back({.kind = StepKind::flush});
            unflushed_[lane] = false;
        }
    }

    enum LaneEvent : std::uint32_t { start, end };
    /// Returns a signal of this rank to itself, or the wait for it, for the start or the end of a
    /// lane other than the first. `first_signal`: number of the part's first signal of this kind.
    [[nodiscard]] Step to_itself(StepKind kind, std::uint32_t first_signal, std::size_t lane,
                                 LaneEvent event) const {
        const std::uint32_t number = first_signal + as_u32(lane - 1) * 2 + event;
        return {.kind = kind, .peer = program_.rank, .signal = number};
    }

    /// Makes each lane begin a segment after the lane before it has ended the segment. The first
    /// lane is at most `depth` segments ahead of the last one, because signals have `depth` copies.
    /// The rank signals itself under numbers that no other rank uses for signals to it. If there
    /// are too few of these numbers, the last lanes are joined.
    void connect_lanes() {
        std::erase_if(lanes_, [](const std::vector<Step>& lane) { return lane.empty(); });
        const std::vector<std::uint32_t> numbers = numbers_without_waits();
        while (lanes_.size() > std::max<std::size_t>(1, numbers.size())) {
            std::vector<Step>& before = lanes_[lanes_.size() - 2];
            before.insert(before.end(), lanes_.back().begin(), lanes_.back().end());
            lanes_.pop_back();
        }
        if (lanes_.size() < 2) return;
        Step credit{.lag = static_cast<std::uint16_t>(program_.depth),
                    .peer = program_.rank,
                    .signal = numbers.back()};
        credit.kind = StepKind::wait;
        lanes_.front().push_back(credit);
        credit.kind = StepKind::signal;
        lanes_.back().insert(lanes_.back().begin(), credit);
        for (std::size_t lane = 1; lane < lanes_.size(); ++lane) {
            Step ended{.peer = program_.rank, .signal = numbers[lane - 1]};
            ended.kind = StepKind::signal;
            lanes_[lane - 1].push_back(ended);
            ended.kind = StepKind::wait;
            lanes_[lane].insert(lanes_[lane].begin(), ended);
        }
    }
    /// Returns the signal numbers for which no step waits.
    [[nodiscard]] std::vector<std::uint32_t> numbers_without_waits() const {
        std::vector<bool> has_wait(program_.slots);
        for (const std::vector<Step>& lane : lanes_)
            for (const Step& step : lane)
                if (step.kind == StepKind::wait) has_wait[step.signal] = true;
        std::vector<std::uint32_t> numbers;
        for (std::uint32_t number = 0; number < program_.slots; ++number)
            if (!has_wait[number]) numbers.push_back(number);
        return numbers;
    }
    void put_in_loops() {
        for (std::vector<Step>& lane : lanes_)
            if (!lane.empty())
                lane.insert(lane.begin(), {.kind = StepKind::loop, .signal = as_u32(lane.size())});
    }

    /// Returns true if the current part may overwrite input, output or scratch buffers.
    [[nodiscard]] bool writes(const Program& own) const {
        if (part_->bare) return false;
        return std::ranges::any_of(own.steps, [&](const Step& step) {
            const bool stores = step.kind == StepKind::reduce || step.kind == StepKind::copy;
            return (stores && !is_no_op(own, step)) || step.kind == StepKind::expose;
        });
    }

    /// Returns true if the step copies data onto itself.
    [[nodiscard]] bool is_no_op(const Program& own, const Step& step) const {
        return step.kind == StepKind::copy &&
               blocks_->are_same(blocks_of(own, step.target), blocks_of(own, step.source));
    }

    /// Adds steps of the current part to a lane. Some are omitted, so loops may become shorter.
    void translate(std::span<const Step> steps, std::size_t lane) {
        std::size_t loop = 0;      // index of the open loop's step in `kept`
        std::uint32_t unread = 0;  // number of steps of the open loop still to be read
        std::vector<Step>& kept = lanes_[lane];
        for (const Step& step : steps) {
            if (step.kind == StepKind::loop) {
                if (merged_) continue;
                loop = kept.size();
                unread = step.signal;
                kept.push_back(step);
                continue;
            }
            translate(step, lane);
            if (unread > 0 && --unread == 0) kept[loop].signal = as_u32(kept.size() - loop - 1);
        }
    }

    void translate(const Step& step, std::size_t lane) {
        const Program& own = *part_->own;
        const bool stores = step.kind == StepKind::reduce || step.kind == StepKind::copy;
        const bool is_tracked = lane < unflushed_.size();
        if (stores && (part_->bare || is_no_op(own, step))) return;
        if (step.kind == StepKind::flush) {
            if (part_->bare) return;
            if (is_tracked) unflushed_[lane] = false;
            lanes_[lane].push_back(step);
            return;
        }
        Step& kept = lanes_[lane].emplace_back(step);
        if (!stores) kept.signal += slot_first_;
        if (kept.peer != kNoRank) kept.peer = part_->rank_of(kept.peer);
        if (part_->bare) {
            if (step.kind == StepKind::put || step.kind == StepKind::expose)
                kept.kind = StepKind::signal;
            kept.flags &= static_cast<std::uint8_t>(~kWritten);
            kept.target = kept.source = {};
            return;
        }
        if (step.kind == StepKind::put && is_tracked) unflushed_[lane] = true;
        kept.target = intern(own, step.kind, step.target);
        kept.source = intern(own, step.kind, step.source);
    }

    /// Translates a list of blocks and adds it to the program.
    BlockList intern(const Program& own, StepKind kind, BlockList list) {
        translated_.clear();
        for (const Block& block : blocks_of(own, list))
            blocks_->translate(kind, block, translated_);
        return index_.add_to(program_, translated_);
    }

    Program program_;
    const std::vector<SplicePart>& parts_;
    Flow flow_;
    std::uint32_t scratch_first_;
    BlockIndex index_;                      ///< index of the program's blocks
    std::vector<Block> translated_;         ///< translation of the current list
    std::vector<std::vector<Step>> lanes_;  ///< steps of each lane
    bool merged_ = false;                   ///< each part is one loop over the same segments
    /// Several segments are in flight, in different parts. Parts without messages share the lane of
    /// the preceding part; other parts have their own lanes.
    bool in_lanes_ = false;
    bool spreads_ = false;  ///< parts that cut the whole buffer work on a piece of every block
    /// By lane: puts after its last flush may read buffers. Only the first lane, unless in_lanes_.
    std::vector<bool> unflushed_{false};
    // For the current part:
    std::size_t lanes_max_ = 1;  ///< largest number of lanes of its shapes
    std::uint32_t slots_of_part_ = 0;
    const SplicePart* part_ = nullptr;
    std::uint32_t slot_first_ = 0;
    std::optional<PartBlocks> blocks_;
};

}  // namespace

base::Result<Program> splice(Program header, const std::vector<SplicePart>& parts, Flow flow) {
    return Splicer(std::move(header), parts, flow).run();
}

}  // namespace weft::plan
