// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/splice.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "plan/schedule/canonical.hpp"
#include "plan/schedule/interleave.hpp"

namespace weft::plan {

namespace {

/// Largest number of units of the joined program, unless a single part has more.
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
    Splicer(Program header, const std::vector<SplicePart>& parts)
        : program_(std::move(header)), parts_(parts), scratch_first_(program_.scratch) {
        program_.steps.clear();
        program_.lanes.clear();
        program_.blocks.clear();
        program_.slots = program_.slot_units = 0;
        program_.slot_capacity.clear();
    }

    base::Result<Program> run(bool interleaves) {
        WEFT_TRY(set_sizes());
        lanes_.resize(1);
        if (merged_ && program_.segments > 1) lanes_.front().push_back({.kind = StepKind::loop});
        for (const SplicePart& part : parts_) {
            const std::uint32_t first = program_.slots;
            reserve(part);
            if (!part.own) continue;
            WEFT_TRY(add(part, first));
        }
        if (merged_ && program_.segments > 1) close_loop(lanes_.front(), 0);
        if (lanes_.front().size() == 1 && merged_) lanes_.front().clear();  // loop without a body
        for (const std::vector<Step>& lane : lanes_) {
            if (lane.empty()) continue;
            program_.lanes.push_back({as_u32(program_.steps.size()), as_u32(lane.size())});
            program_.steps.insert(program_.steps.end(), lane.begin(), lane.end());
        }
        if (interleaves && merged_ && program_.segments > 1) interleave(program_);
        return std::move(program_);
    }

  private:
    /// Sets the number of units: the same in each segment, and a multiple of every part's units.
    base::Result<void> cut_units() {
        // Units are numbered with 32 bits.
        constexpr std::uint64_t kCountable = std::numeric_limits<std::uint32_t>::max();
        std::uint64_t most = kUnitsMax;
        std::uint64_t units = 1;  // units of a segment
        for (const SplicePart& part : parts_)
            for (const auto& shape : part.shapes)
                if (!part.bare) most = std::max(most, units_in_whole(part, *shape));
        for (const SplicePart& part : parts_) {
            for (const auto& shape_pointer : part.shapes) {
                const Program& shape = *shape_pointer;
                if (part.bare || shape.units == 0) continue;
                const std::uint64_t whole = units_in_whole(part, shape);
                if (most <= kCountable)
                    units = std::lcm(units, whole / std::gcd(whole, shape.segments));
                if (units * program_.segments > most || most > kCountable)
                    return base::fail(
                        Status::argument, "the parts cut the vector into {} units, at most {} fit",
                        std::max(units * program_.segments, most), std::min(most, kCountable));
            }
        }
        const bool bare = std::ranges::all_of(parts_, &SplicePart::bare);
        if (!bare) program_.units = as_u32(units * program_.segments);
        return base::Done{};
    }

    /// Sets segments, depth and units that fit all parts, and merged_.
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
                merged_ = merged_ && is_loop(shape) &&
                          (part.blocks_of == nullptr) == (parts_.front().blocks_of == nullptr);
            }
        }
        return cut_units();
    }

    /// Returns true if the program's blocks cannot be mapped to blocks of the whole. A block of the
    /// part may represent several blocks, which need not be adjacent. Then a unit has no fixed
    /// distance from the start of its payload, unless both are in one block that represents one
    /// block. A block that advances by more than one unit in a segment cannot be mapped either.
    static bool reads_in_parts(const SplicePart& part, const Program& program) {
        return std::ranges::any_of(program.blocks, [&](const Block& block) {
            if (block.advance > 1) return true;
            return is_payload(block.buffer) && block.stride == 1 && block.origin != block.first &&
                   (part.blocks_max > 1 || !same_block(program, block.origin, block.first));
        });
    }
    /// Returns true if units a and b are in one block.
    static bool same_block(const Program& program, std::uint32_t a, std::uint32_t b) {
        return a / pieces_of(program) == b / pieces_of(program);
    }
    /// Returns true if an exposed block would become several ranges of memory.
    static bool exposes_several(const SplicePart& part, const Program& program) {
        return std::ranges::any_of(program.steps, [&](const Step& step) {
            if (step.kind != StepKind::expose) return false;
            const Block& block = program.blocks[step.source.start];
            return part.blocks_max > 1 ||
                   !same_block(program, block.first, block.first + block.count - 1);
        });
    }
    /// Returns true if some block does not move with the segments of the vector.
    static bool cuts_otherwise(const Program& program) {
        const std::uint32_t piece = program.units / program.segments;
        return std::ranges::any_of(program.blocks, [&](const Block& block) {
            return (block.advance != 0 && block.advance != piece) ||
                   block.first % piece + (block.count - 1) * block.stride >= piece;
        });
    }
    static base::Result<void> check_fit(const SplicePart& part, const Program& program) {
        if (part.ranges > 1 && program.segments > 1 && cuts_otherwise(program))
            return base::fail(Status::unsupported, "{} {} does not cut the vector into segments",
                              program.collective, program.algorithm);
        if (part.blocks_of == nullptr) return base::Done{};
        const char* const what = reads_in_parts(part, program)    ? "reads payloads in parts"
                                 : exposes_several(part, program) ? "exposes blocks"
                                                                  : nullptr;
        if (what == nullptr) return base::Done{};
        return base::fail(Status::unsupported, "{} {} {}, and its blocks stand for several here",
                          program.collective, program.algorithm, what);
    }

    /// Returns the smallest number of units of the whole buffer that fits the part's units.
    [[nodiscard]] std::uint64_t units_in_whole(const SplicePart& part, const Program& shape) const {
        if (part.blocks_of == nullptr) return std::uint64_t{shape.units} * part.ranges;
        return pieces_of(shape) * static_cast<std::uint64_t>(program_.size);
    }
    /// Returns the number of units of a block.
    [[nodiscard]] static std::uint32_t pieces_of(const Program& shape) {
        return shape.units / as_u32(shape.size);
    }

    /// Returns the number of units of the whole that each unit of the part becomes.
    [[nodiscard]] std::uint32_t factor(const SplicePart& part, const Program& shape) const {
        if (part.bare || shape.units == 0) return 1;
        return as_u32(program_.units / units_in_whole(part, shape));
    }
    /// Conversion of the part's slot capacities to units of the whole.
    struct Widening {
        std::uint64_t times = 1;  ///< blocks of the whole that a block of the part represents
        std::uint64_t most = std::numeric_limits<std::uint64_t>::max();  ///< before `factor`
        std::uint64_t factor = 1;

        [[nodiscard]] std::uint32_t widened(std::uint32_t units) const {
            return as_u32(std::min(units * times, most) * factor);
        }
    };
    [[nodiscard]] Widening widening(const SplicePart& part, const Program& shape) const {
        Widening wide{.factor = factor(part, shape)};
        if (part.blocks_of == nullptr) return wide;
        wide.times = static_cast<std::uint64_t>(part.blocks_max);
        wide.most = units_in_whole(part, shape);
        return wide;
    }

    /// Reserves the slots of a part after those of the preceding parts, and slots for
    /// its lanes' signals.
    void reserve(const SplicePart& part) {
        std::uint32_t slots = 0;
        lanes_max_ = 1;
        for (const auto& shape : part.shapes) {
            slots = std::max(slots, shape->slots);
            lanes_max_ = std::max(lanes_max_, shape->lanes.size());
        }
        slots_of_part_ = slots;
        slots += 2 * as_u32(lanes_max_ - 1);
        std::vector<std::uint32_t>& capacities = program_.slot_capacity;
        capacities.resize(program_.slots + slots);
        for (const auto& shape : part.shapes) {
            if (part.bare) continue;
            const Widening wide = widening(part, *shape);
            for (std::uint32_t slot = 0; slot < shape->slots; ++slot) {
                std::uint32_t& capacity = capacities[program_.slots + slot];
                capacity = std::max(capacity, wide.widened(shape->capacity_of(slot)));
                program_.slot_units = std::max(program_.slot_units, capacity);
            }
        }
        program_.slots += slots;
    }

    base::Result<void> add(const SplicePart& part, std::uint32_t first_slot) {
        const Program& own = *part.own;
        WEFT_TRY(check_fit(part, own));
        if (own.lanes.size() > lanes_max_ || (merged_ && !is_loop(own)))
            return base::fail(Status::unsupported,
                              "{} {} of {} ranks is of another form on rank {} than on others",
                              own.collective, own.algorithm, own.size, own.rank);
        part_ = &part;
        represented_.assign(static_cast<std::size_t>(own.size), {});
        slot_first_ = first_slot;
        factor_ = factor(part, own);
        if (!part.bare) program_.scratch = std::max(program_.scratch, scratch_first_ + own.scratch);
        if (pending_ && writes(own)) {
            lanes_.front().push_back({.kind = StepKind::flush});
            pending_ = false;
        }
        const std::uint32_t own_signals = first_slot + slots_of_part_;
        for (std::size_t lane = 1; lane < own.lanes.size(); ++lane)
            lanes_.front().push_back(to_itself(StepKind::signal, own_signals, lane, 0));
        for (std::size_t lane = 0; lane < own.lanes.size(); ++lane) {
            if (lanes_.size() <= lane) lanes_.emplace_back();
            if (lane > 0) lanes_[lane].push_back(to_itself(StepKind::wait, own_signals, lane, 0));
            translate(steps_of(own, own.lanes[lane]), lanes_[lane]);
            if (lane > 0) end_lane(own_signals, lane);
        }
        for (std::size_t lane = 1; lane < own.lanes.size(); ++lane)
            lanes_.front().push_back(to_itself(StepKind::wait, own_signals, lane, 1));
        return base::Done{};
    }

    /// Ends a lane other than the main one. The next part may overwrite data that this lane's puts
    /// read, so the lane flushes. add() flushes the main lane.
    void end_lane(std::uint32_t own_signals, std::size_t lane) {
        if (!part_->bare) lanes_[lane].push_back({.kind = StepKind::flush});
        lanes_[lane].push_back(to_itself(StepKind::signal, own_signals, lane, 1));
    }

    /// Returns a signal to this rank, or the wait for it, at the start (which = 0) or the end (1)
    /// of a lane.
    [[nodiscard]] Step to_itself(StepKind kind, std::uint32_t first, std::size_t lane,
                                 std::uint32_t which) const {
        const auto number = as_u32(lane - 1) * 2 + which;
        return {.kind = kind, .peer = program_.rank, .signal = first + number};
    }

    /// Returns true if steps of the part write to vectors.
    [[nodiscard]] bool writes(const Program& own) const {
        if (part_->bare) return false;
        return std::ranges::any_of(own.steps, [&](const Step& step) {
            const bool moves = step.kind == StepKind::reduce || step.kind == StepKind::copy;
            return (moves && !is_no_op(own, step)) || step.kind == StepKind::expose;
        });
    }

    /// Returns true if the step copies data to its own location.
    [[nodiscard]] bool is_no_op(const Program& own, const Step& step) const {
        if (step.kind != StepKind::copy) return false;
        const auto targets = blocks_of(own, step.target);
        const auto sources = blocks_of(own, step.source);
        return std::ranges::equal(targets, sources, [&](const Block& a, const Block& b) {
            return is_one_vector(named(a), named(b)) && translated({&a, 1}) == translated({&b, 1});
        });
    }

    [[nodiscard]] static bool is_one_vector(const Block& a, const Block& b) {
        return a.buffer == b.buffer && a.index == b.index && a.peer == b.peer;
    }

    void translate(std::span<const Step> steps, std::vector<Step>& lane) {
        std::size_t loop = 0;
        std::uint32_t left = 0;
        for (const Step& step : steps) {
            if (step.kind == StepKind::loop) {
                if (merged_) continue;
                loop = lane.size();
                left = step.signal;
                lane.push_back(step);
                continue;
            }
            translate(step, lane);
            if (left > 0 && --left == 0) close_loop(lane, loop);
        }
    }

    static void close_loop(std::vector<Step>& lane, std::size_t loop) {
        lane[loop].signal = as_u32(lane.size() - loop - 1);
    }

    void translate(const Step& step, std::vector<Step>& lane) {
        const Program& own = *part_->own;
        const bool moves = step.kind == StepKind::reduce || step.kind == StepKind::copy;
        if (moves && (part_->bare || is_no_op(own, step))) return;
        if (step.kind == StepKind::flush) {
            if (part_->bare) return;
            if (&lane == &lanes_.front()) pending_ = false;
            lane.push_back(step);
            return;
        }
        Step& kept = lane.emplace_back(step);
        if (!moves) kept.signal += slot_first_;
        if (kept.peer != kNoRank) kept.peer = part_->rank_of(kept.peer);
        if (part_->bare) {
            remove_data(kept);
            return;
        }
        if (step.kind == StepKind::put && &lane == &lanes_.front()) pending_ = true;
        kept.target = intern(own, step.target);
        kept.source = intern(own, step.source);
    }

    /// Turns a step into a signal or wait without data.
    static void remove_data(Step& step) {
        if (step.kind == StepKind::put || step.kind == StepKind::expose)
            step.kind = StepKind::signal;
        step.flags &= static_cast<std::uint8_t>(~kWritten);
        step.target = step.source = {};
    }

    BlockList intern(const Program& own, BlockList list) {
        translated_.clear();
        for (const Block& block : blocks_of(own, list)) translate(block, translated_);
        return index_.add_to(program_, translated_);
    }

    [[nodiscard]] std::vector<Block> translated(std::span<const Block> list) const {
        std::vector<Block> blocks;
        for (const Block& block : list) translate(block, blocks);
        return blocks;
    }

    /// Adds a block of the part as blocks of the whole. Units that are not adjacent
    /// become separate blocks.
    void translate(Block block, std::vector<Block>& blocks) const {
        block = named(block);
        if (part_->blocks_of != nullptr) return add_represented(block, blocks);
        const std::uint32_t shift = range_shift(block.first);
        const std::size_t before = blocks.size();
        widen(block, blocks);
        for (Block& one : std::span(blocks).subspan(before)) {
            one.first += shift;
            one.origin += shift;
            one.advance *= part_->ranges;
        }
    }

    /// Returns the distance by which a part's range moves a unit. A piece of the pipeline has
    /// `ranges` pieces of the part.
    [[nodiscard]] std::uint32_t range_shift(std::uint32_t unit) const {
        const std::uint32_t piece = part_->own->units / part_->own->segments;
        if (part_->ranges == 1 || piece == 0) return 0;
        return (unit / piece * (part_->ranges - 1) + part_->range) * piece * factor_;
    }

    /// Adds a block in the smaller units of the whole.
    void widen(Block block, std::vector<Block>& blocks) const {
        if (factor_ == 1) {
            blocks.push_back(block);
            return;
        }
        block.advance *= factor_;
        if (block.stride == 1 || block.count <= 1) {
            block.origin = (block.stride == 1 ? block.origin : block.first) * factor_;
            block.first *= factor_;
            block.count *= factor_;
            block.stride = 1;
            blocks.push_back(block);
            return;
        }
        for (std::uint32_t i = 0; i < block.count; ++i) {
            Block& one = blocks.emplace_back(block);
            one.origin = one.first = (block.first + i * block.stride) * factor_;
            one.count = factor_;
            one.stride = 1;
        }
    }

    /// Adds the blocks that a block of the group represents, piece by piece. Joins adjacent units,
    /// and units at equal distances.
    void add_represented(const Block& block, std::vector<Block>& blocks) const {
        const std::uint32_t pieces = pieces_of(*part_->own);
        bool follows = false;  // the next unit may extend the last block of the list
        for (std::uint32_t i = 0; i < block.count; ++i) {
            const std::uint32_t unit = block.first + i * block.stride;
            const Represented& whole = represented_by(unit / pieces);
            const bool strided = whole.stride > 1 && factor_ == 1;
            const bool in_part = i == 0 && block.stride == 1 && part_->blocks_max == 1;
            for (const Rank rank : whole.ranks) {
                const std::uint32_t first = (as_u32(rank) * pieces + unit % pieces) * factor_;
                if (follows && !strided && blocks.back().first + blocks.back().count == first) {
                    blocks.back().count += factor_;
                    continue;
                }
                Block& one = blocks.emplace_back(block);
                one.first = first;
                one.origin = first - (in_part ? (unit - block.origin) * factor_ : 0);
                one.count = strided ? as_u32(whole.ranks.size()) : factor_;
                one.stride = strided ? whole.stride * pieces : 1;
                one.advance = block.advance * factor_;
                follows = !strided;
                if (strided) break;
            }
        }
    }

    /// Blocks of the whole, by rank, that a block of the group represents.
    struct Represented {
        std::vector<Rank> ranks;
        std::uint32_t stride = 1;  ///< distance between the ranks if constant and positive, else 1
    };
    [[nodiscard]] const Represented& represented_by(std::uint32_t rank) const {
        Represented& known = represented_[rank];
        if (!known.ranks.empty()) return known;
        known.ranks = part_->blocks_of(static_cast<Rank>(rank));
        const std::vector<Rank>& ranks = known.ranks;
        if (ranks.size() < 2 || ranks[1] <= ranks[0]) return known;
        const Rank distance = ranks[1] - ranks[0];
        const bool even = std::ranges::adjacent_find(ranks, [&](Rank a, Rank b) {
                              return b - a != distance;
                          }) == ranks.end();
        if (even) known.stride = as_u32(distance);
        return known;
    }

    /// Returns the block with the buffer, index and peer of the whole; units are unchanged.
    [[nodiscard]] Block named(Block block) const {
        const auto rename = [&block](VectorName name) {
            block.buffer = name.buffer;
            block.index = name.index;
        };
        switch (block.buffer) {
            case Buffer::input:
                rename(part_->input);
                break;
            case Buffer::output:
                rename(part_->output);
                break;
            case Buffer::scratch:
                block.index += scratch_first_;
                break;
            case Buffer::slot:
                block.index += slot_first_;
                break;
            case Buffer::published:
            case Buffer::mapped:
                block.index += slot_first_;
                block.peer = part_->rank_of(block.peer);
                break;
        }
        return block;
    }

    Program program_;
    const std::vector<SplicePart>& parts_;
    std::uint32_t scratch_first_;
    BlockIndex index_;                              ///< index of the program's blocks
    std::vector<Block> translated_;                 ///< translation of the current list
    mutable std::vector<Represented> represented_;  ///< by rank of the part, filled on request
    std::vector<std::vector<Step>> lanes_;
    bool merged_ = false;   ///< all parts are in one loop
    bool pending_ = false;  ///< puts of the main lane since its last flush may read vectors
    std::size_t lanes_max_ = 1;
    std::uint32_t slots_of_part_ = 0;
    const SplicePart* part_ = nullptr;
    std::uint32_t slot_first_ = 0;
    std::uint32_t factor_ = 1;
};

}  // namespace

base::Result<Program> splice(Program header, const std::vector<SplicePart>& parts,
                             bool interleaves) {
    return Splicer(std::move(header), parts).run(interleaves);
}

}  // namespace weft::plan
