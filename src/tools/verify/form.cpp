// SPDX-License-Identifier: BSD-3-Clause
// form.cpp - checks that programs are well-formed, without executing them.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "plan/schedule/canonical.hpp"
#include "tools/text/text.hpp"
#include "tools/verify/verify.hpp"

namespace weft::plan {

namespace {

/// Checks one program. Functions return the defect, or an empty text.
class FormCheck {
  public:
    explicit FormCheck(const Program& program) : program_(program) {}

    std::string check() {
        std::string defect = header();
        if (defect.empty()) defect = lanes();
        for (std::size_t i = 0; i < program_.steps.size() && defect.empty(); ++i) {
            const Step& step = program_.steps[i];
            defect = lists(step);
            if (defect.empty()) defect = check_step(step);
            if (defect.empty()) continue;
            const bool printable = lists(step).empty();
            return fmt::format("rank {} step {}{}: {}", program_.rank, i,
                               printable ? fmt::format(" ({})", to_text(program_, step)) : "",
                               defect);
        }
        return defect.empty() ? defect : fmt::format("rank {}: {}", program_.rank, defect);
    }

  private:
    std::string header() const {
        if (program_.segments == 0) return "segments is 0, expected at least 1";
        if (program_.depth == 0) return "depth is 0, expected at least 1";
        if (std::string defect = counts(); !defect.empty()) return defect;
        if (!program_.slot_capacity.empty() && program_.slot_capacity.size() != program_.slots)
            return fmt::format("slot-capacity has {} values, expected {}, the number of slots",
                               program_.slot_capacity.size(), program_.slots);
        for (const std::uint32_t capacity : program_.slot_capacity) {
            if (capacity > program_.slot_units)
                return fmt::format("a slot has a capacity of {} units, but slot-units is {}",
                                   capacity, program_.slot_units);
        }
        if (program_.root != kNoRank && !is_rank(program_.root))
            return fmt::format("root {} is not a rank", program_.root);
        return {};
    }

    /// Checks an uneven buffer: all blocks have the same number of units, and these are enough for
    /// the largest block.
    std::string counts() const {
        const std::vector<std::uint64_t>& counts = program_.unit_counts;
        if (counts.empty()) return {};
        if (program_.units == 0 || program_.units % counts.size() != 0)
            return fmt::format("counts has {} values, which does not divide the {} units",
                               counts.size(), program_.units);
        const std::uint64_t block_units = program_.units / counts.size();
        const std::uint64_t largest = std::ranges::max(counts);
        if (block_units == 1 || program_.unit_elements * block_units >= largest) return {};
        return fmt::format("{} units of {} elements are too few for a block of {}", block_units,
                           program_.unit_elements, largest);
    }

    /// Checks the number of iterations of a loop. A signal's value contains its segment modulo
    /// `segments`, and successive signals of one copy must have different values.
    std::string repeats(const Step& loop, std::uint64_t at) const {
        if (loop.operands <= program_.segments) return {};
        if (!program_.pairwise)
            return fmt::format("the loop at step {} runs {} times, but there are {} segments", at,
                               loop.operands, program_.segments);
        if (program_.segments >= 2 * program_.depth) return {};
        return fmt::format(
            "the loop at step {} runs {} times, which requires {} segments for {} copies, but "
            "there are {}",
            at, loop.operands, 2 * program_.depth, program_.depth, program_.segments);
    }

    /// Checks the lanes of a program with several segments in flight (interleave()): they share
    /// the steps of the distinct lanes, and all steps are in loops over the segments.
    std::string window() const {
        const std::uint32_t window = program_.window();
        const std::span<const Lane> lanes = program_.lanes;
        if (window == 0 || window > program_.segments || lanes.size() % window != 0)
            return fmt::format("window {}: expected 1 to {} segments, and a divisor of {} lanes",
                               window, program_.segments, lanes.size());
        const std::size_t each = lanes.size() / window;
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            const Lane expected{lanes[i % each].first, lanes[i % each].count,
                                static_cast<std::uint32_t>(i / each), window};
            if (!(lanes[i] == expected))
                return fmt::format("lane {} does not share the steps of lane {}", i, i % each);
        }
        return window == 1 ? std::string() : only_loops();
    }

    /// Checks that each lane is a sequence of loops over the segments.
    std::string only_loops() const {
        for (const Lane& lane : program_.distinct_lanes()) {
            std::uint64_t at = lane.first;
            while (at < std::min<std::uint64_t>(lane.first + lane.count, program_.steps.size())) {
                const Step& step = program_.steps[at];
                if (step.kind != StepKind::loop || step.operands != 0)
                    return fmt::format(
                        "step {} of several lanes is not in a loop over the segments", at);
                at += 1 + std::uint64_t{step.signal};
            }
        }
        return {};
    }

    /// Checks that lanes cover the steps in order, and that loops are in one lane and do not nest.
    std::string lanes() const {
        if (std::string defect = window(); !defect.empty()) return defect;
        std::uint64_t next = 0;
        for (const Lane& lane : program_.distinct_lanes()) {
            if (lane.first != next)
                return fmt::format("a lane starts at step {}, expected {}", lane.first, next);
            const std::uint64_t end = next + lane.count;
            if (end > program_.steps.size()) return "a lane ends after the last step";
            std::uint64_t body_end = 0;
            for (; next < end; ++next) {
                const Step& step = program_.steps[next];
                if (step.kind != StepKind::loop) continue;
                if (next < body_end)
                    return fmt::format("the loop at step {} is inside another loop", next);
                body_end = next + 1 + step.signal;
                if (std::string defect = repeats(step, next); !defect.empty()) return defect;
                if (body_end > end) return fmt::format("the loop at step {} leaves its lane", next);
            }
        }
        return next == program_.steps.size() ? std::string() : "the last steps are in no lane";
    }

    bool is_rank(Rank rank) const { return rank >= 0 && rank < program_.size; }

    /// Checks that the lists of a step are within the table of blocks.
    std::string lists(const Step& step) const {
        for (const BlockList list : {step.target, step.source}) {
            if (std::uint64_t{list.start} + list.count > program_.blocks.size())
                return "names blocks that do not exist";
        }
        return {};
    }

    std::string check_step(const Step& step) const {
        for (const BlockList list : {step.target, step.source}) {
            for (const Block& block : blocks_of(program_, list)) {
                std::string defect = check_block(block);
                if (!defect.empty()) return defect;
            }
        }
        const bool raises = step.kind == StepKind::put || step.kind == StepKind::signal ||
                            step.kind == StepKind::expose;
        const bool numbered =
            raises || step.kind == StepKind::publish || step.kind == StepKind::wait;
        if (numbered && step.signal >= program_.slots)
            return fmt::format("names slot {}, but there are {} slots", step.signal,
                               program_.slots);
        if ((raises || step.kind == StepKind::wait) && !is_rank(step.peer))
            return fmt::format("names rank {}, but there are {} ranks", step.peer, program_.size);
        if (step.lag != 0 && step.kind != StepKind::signal && step.kind != StepKind::wait &&
            step.kind != StepKind::publish)
            return "has a lag (only signals, waits and publishes do)";
        if ((step.flags & kWritten) != 0 && step.kind != StepKind::expose)
            return "is marked for writing (only exposes are)";
        switch (step.kind) {
            case StepKind::put:
                return put(step);
            case StepKind::signal:
            case StepKind::wait:
                return step.source.count + step.target.count == 0 ? "" : "names blocks";
            case StepKind::expose:
                return expose(step);
            case StepKind::publish:
                return payload(step);
            case StepKind::reduce:
                return reduce(step);
            case StepKind::copy:
                if (units(step.target) == units(step.source)) return {};
                return fmt::format("copies {} units to {}", units(step.source), units(step.target));
            default:
                return {};
        }
    }

    std::string check_block(const Block& block) const {
        if (block.stride == 0 && block.count > 1) return "has a block with stride 0";
        if (block.count > program_.units)
            return fmt::format("names unit {}, but buffers have {} units",
                               block.first + std::uint64_t{block.count - 1} * block.stride,
                               program_.units);
        switch (block.buffer) {
            case Buffer::scratch:
                if (block.index < program_.scratch) return {};
                return fmt::format("names scratch {}, but there are {} scratch buffers",
                                   block.index, program_.scratch);
            case Buffer::published:
            case Buffer::mapped:
                if (!is_rank(block.peer))
                    return fmt::format("names a block of rank {}, but there are {} ranks",
                                       block.peer, program_.size);
                [[fallthrough]];
            case Buffer::slot:
                if (block.index < program_.slots) return {};
                return fmt::format("names slot {}, but there are {} slots", block.index,
                                   program_.slots);
            default:
                return {};
        }
    }

    std::uint64_t units(BlockList list) const { return units_of(blocks_of(program_, list)); }

    std::string payload(const Step& step) const {
        const std::uint64_t carried = units(step.source);
        const std::uint32_t capacity = program_.capacity_of(step.signal);
        if (carried <= capacity) return {};
        return fmt::format("carries {} units, but slot {} has a capacity of {}", carried,
                           step.signal, capacity);
    }

    std::string put(const Step& step) const {
        if (step.source.count == 0) return "has no source (a put without data is a signal)";
        if (step.target.count == 0) return payload(step);
        const Block& target = program_.blocks[step.target.start];
        if (step.target.count != 1 || target.buffer != Buffer::mapped || target.stride != 1)
            return "has a target other than one mapped block of consecutive units";
        if (target.peer != step.peer)
            return fmt::format("puts into memory of rank {}, expected rank {}", target.peer,
                               step.peer);
        if ((step.flags & kShared) != 0) return "shares a put into exposed memory";
        if (target.count == units(step.source)) return {};
        return fmt::format("puts {} units into {}", units(step.source), target.count);
    }

    std::string expose(const Step& step) const {
        if (step.source.count != 1) return "exposes a list of blocks, expected one";
        const Block& block = program_.blocks[step.source.start];
        if (block.stride != 1 && block.count > 1) return "exposes units that are not consecutive";
        if (block.buffer == Buffer::published || block.buffer == Buffer::mapped)
            return "exposes memory of another rank";
        const bool writable = block.buffer == Buffer::output || block.buffer == Buffer::scratch;
        if ((step.flags & kWritten) != 0 && !writable)
            return "exposes a block for writing that is not in the output or a scratch buffer";
        return {};
    }

    /// Returns the sizes of the runs of consecutive units in a list.
    static std::vector<std::uint32_t> runs(std::span<const Block> list) {
        std::vector<std::uint32_t> sizes;
        for (const Block& block : list) {
            const bool one_run = block.stride == 1 || block.count <= 1;
            sizes.insert(sizes.end(), one_run ? 1 : block.count, one_run ? block.count : 1);
        }
        return sizes;
    }

    std::string reduce(const Step& step) const {
        if (step.operands == 0 || step.source.count % step.operands != 0)
            return fmt::format("has {} blocks in {} operands", step.source.count, step.operands);
        const std::uint32_t targets = targets_of(step);
        const std::uint32_t each = step.source.count / step.operands;
        if (each == 1 && step.target.count == targets) {  // common case, checked without runs()
            const auto shape = [](const Block& block) {
                return std::pair(block.count, block.stride == 1 || block.count <= 1);
            };
            const auto first = shape(program_.blocks[step.target.start]);
            const auto differs = [&](const Block& block) { return shape(block) != first; };
            if (std::ranges::any_of(blocks_of(program_, step.target), differs))
                return "has targets of different shapes";
            if (std::ranges::any_of(blocks_of(program_, step.source), differs))
                return "has operands of different shapes";
            return {};
        }
        const std::vector<std::uint32_t> first = runs(blocks_of(program_, target_of(step, 0)));
        for (std::uint32_t i = 1; i < targets; ++i) {
            if (runs(blocks_of(program_, target_of(step, i))) != first)
                return "has targets of different shapes";
        }
        for (std::uint32_t i = 0; i < step.operands; ++i) {
            if (runs(blocks_of(program_, operand_of(step, i))) != first)
                return "has operands of different shapes";
        }
        return {};
    }

    const Program& program_;
};

/// Largest number of units that the cells of Memory can index (32 bits).
constexpr double kUnitsMax = 4e9;

double units_of_buffers(std::span<const Program> programs) {
    double units = 0;
    for (const Program& program : programs)
        units += static_cast<double>(program.units) * (2.0 + program.scratch);
    return units;
}

}  // namespace

std::string_view differing_field(const Program& program, const Program& first) {
    if (program.collective != first.collective) return "collective";
    if (program.algorithm != first.algorithm) return "algorithm";
    if (program.size != first.size) return "ranks";
    if (program.root != first.root) return "root";
    if (program.pairwise != first.pairwise) return "pairwise";
    if (program.units != first.units && !program.pairwise) return "units";
    if (program.segments != first.segments) return "segments";
    if (program.depth != first.depth) return "depth";
    if (program.window() != first.window()) return "window";
    if (program.slots != first.slots) return "slots";
    if (program.slot_units != first.slot_units) return "slot-units";
    if (program.slot_capacity != first.slot_capacity) return "slot-capacity";
    if (program.synchronizing != first.synchronizing) return "synchronizing";
    return {};
}

std::string malformed(const Program& program) {
    return FormCheck(program).check();
}

std::string malformed(std::span<const Program> programs) {
    if (programs.empty()) return "no programs";
    if (const double units = units_of_buffers(programs); units > kUnitsMax)
        return fmt::format("{:.0f} units of buffers in all, at most {:.0f} can be verified", units,
                           kUnitsMax);
    for (std::size_t i = 0; i < programs.size(); ++i) {
        const Program& program = programs[i];
        if (program.rank != static_cast<Rank>(i))
            return fmt::format("program {} is for rank {}, expected rank {}", i, program.rank, i);
        const std::string_view field = differing_field(program, programs[0]);
        if (!field.empty())
            return fmt::format("rank {}: header field '{}' differs from rank 0", i, field);
        if (program.size != static_cast<Rank>(programs.size()))
            return fmt::format("{} programs for {} ranks", programs.size(), program.size);
        std::string defect = malformed(program);
        if (!defect.empty()) return defect;
    }
    return {};
}

}  // namespace weft::plan
