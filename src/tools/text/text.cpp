// SPDX-License-Identifier: BSD-3-Clause
// text.cpp - prints programs; text_parse.cpp reads them.
#include "tools/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "plan/schedule/canonical.hpp"

namespace weft::plan {

namespace {

using Out = std::back_insert_iterator<std::string>;

void print_block(Out out, const Block& block) {
    fmt::format_to(out, "{}", kBufferNames[static_cast<std::size_t>(block.buffer)]);
    if (block.buffer >= Buffer::scratch) fmt::format_to(out, " {}", block.index);
    if (block.buffer >= Buffer::published) fmt::format_to(out, " of {}", block.peer);
    fmt::format_to(out, "[{}+{}", block.first, block.count);
    if (block.stride != 1) fmt::format_to(out, " stride {}", block.stride);
    if (is_payload(block.buffer) && block.origin != block.first)
        fmt::format_to(out, " origin {}", block.origin);
    if (block.advance != 0) fmt::format_to(out, " advance {}", block.advance);
    fmt::format_to(out, "]");
}

void print_blocks(Out out, std::span<const Block> list) {
    if (list.size() == 1) return print_block(out, list[0]);
    fmt::format_to(out, "{{");
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (i > 0) fmt::format_to(out, ", ");
        print_block(out, list[i]);
    }
    fmt::format_to(out, "}}");
}

/// Prints lists, separated by commas. `list_at(i)` returns list number i.
template <class ListAt>
void print_lists(Out out, const Program& program, std::uint32_t count, const ListAt& list_at) {
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i > 0) fmt::format_to(out, ", ");
        print_blocks(out, blocks_of(program, list_at(i)));
    }
}

void print_reduction(Out out, const Program& program, const Step& step) {
    fmt::format_to(out, "reduce ");
    print_lists(out, program, targets_of(step),
                [&](std::uint32_t i) { return target_of(step, i); });
    fmt::format_to(out, " = ");
    print_lists(out, program, step.operands, [&](std::uint32_t i) { return operand_of(step, i); });
}

void print_step(Out out, const Program& program, const Step& step) {
    const auto source = [&] { print_blocks(out, blocks_of(program, step.source)); };
    const auto target = [&] { print_blocks(out, blocks_of(program, step.target)); };
    switch (step.kind) {
        case StepKind::put:
            fmt::format_to(out, "put to {} slot {} from ", step.peer, step.signal);
            source();
            if (step.target.count > 0) {
                fmt::format_to(out, " into ");
                target();
            }
            break;
        case StepKind::signal:
            fmt::format_to(out, "signal to {} slot {}", step.peer, step.signal);
            break;
        case StepKind::expose:
            fmt::format_to(out, "expose to {} slot {} from ", step.peer, step.signal);
            source();
            break;
        case StepKind::publish:
            fmt::format_to(out, "publish slot {}", step.signal);
            if (step.source.count > 0) {
                fmt::format_to(out, " from ");
                source();
            }
            break;
        case StepKind::wait:
            fmt::format_to(out, "wait from {} slot {}", step.peer, step.signal);
            break;
        case StepKind::flush:
            fmt::format_to(out, "flush");
            break;
        case StepKind::reduce:
            print_reduction(out, program, step);
            break;
        case StepKind::copy:
            fmt::format_to(out, "copy ");
            target();
            fmt::format_to(out, " = ");
            source();
            break;
        case StepKind::loop:
            fmt::format_to(out, "loop");
            if (step.operands != 0) fmt::format_to(out, " {}", step.operands);
            break;
        case StepKind::sleep:
        case StepKind::compute:
            fmt::format_to(out, "{} {} ns", step.kind == StepKind::sleep ? "sleep" : "compute",
                           step.signal);
            break;
    }
    if ((step.flags & kWritten) != 0) fmt::format_to(out, " for writing");
    if ((step.flags & kShared) != 0) fmt::format_to(out, " shared");
    if ((step.flags & kFromPublished) != 0) fmt::format_to(out, " published");
    if (step.lag != 0) fmt::format_to(out, " lag {}", step.lag);
}

void print_lane(Out out, const Program& program, const Lane& lane) {
    std::uint32_t body_end = 0;
    for (std::uint32_t i = lane.first; i < lane.first + lane.count; ++i) {
        const Step& step = program.steps[i];
        fmt::format_to(out, "  {:{}}", "", body_end > i ? 2 : 0);
        print_step(out, program, step);
        fmt::format_to(out, "\n");
        if (step.kind == StepKind::loop) body_end = i + 1 + step.signal;
        if (body_end == i + 1) fmt::format_to(out, "  end\n");
    }
}

void print_steps(Out out, const Program& program) {
    const std::span<const Lane> lanes = program.distinct_lanes();
    const bool has_lane_lines = lanes.size() != 1 || lanes[0].count == 0;
    for (const Lane& lane : lanes) {
        if (has_lane_lines) fmt::format_to(out, "  lane\n");
        print_lane(out, program, lane);
    }
}

/// Prints header lines of `program` that differ from `common`, each after `margin`.
void print_header(Out out, const Program& program, const Program& common, std::string_view margin) {
    const auto field = [&](std::string_view word, const auto& value, const auto& common_value) {
        if (value != common_value) fmt::format_to(out, "{}{} {}\n", margin, word, value);
    };
    field("collective", program.collective, common.collective);
    field("algorithm", program.algorithm, common.algorithm);
    field("ranks", program.size, common.size);
    if (program.root != common.root) {
        fmt::format_to(out, "{}root {}\n", margin,
                       program.root == kNoRank ? "none" : fmt::format("{}", program.root));
    }
    field("units", program.units, common.units);
    field("segments", program.segments, common.segments);
    field("depth", program.depth, common.depth);
    field("window", program.window(), common.window());
    field("slots", program.slots, common.slots);
    field("slot-units", program.slot_units, common.slot_units);
    field("scratch", program.scratch, common.scratch);
    if (program.synchronizing != common.synchronizing)
        fmt::format_to(out, "{}synchronizing {}\n", margin, program.synchronizing ? "yes" : "no");
    if (program.pairwise != common.pairwise)
        fmt::format_to(out, "{}pairwise {}\n", margin, program.pairwise ? "yes" : "no");
    if (program.slot_capacity != common.slot_capacity)
        fmt::format_to(out, "{}slot-capacity {}\n", margin, fmt::join(program.slot_capacity, " "));
    if (program.unit_counts != common.unit_counts)
        fmt::format_to(out, "{}counts {}\n", margin, fmt::join(program.unit_counts, " "));
    field("unit-elements", program.unit_elements, common.unit_elements);
}

/// Returns the parser's defaults, for comparison. Fields that the parser would derive have
/// impossible values, so they are always printed.
Program default_header() {
    Program program;
    program.size = -1;
    program.slots = program.slot_units = program.scratch = ~std::uint32_t{0};
    return program;
}

}  // namespace

std::string to_text(const Program& program) {
    return to_text(std::span(&program, 1));
}

std::string to_text(std::span<const Program> programs) {
    std::string text;
    if (programs.empty()) return text;
    const Out out = std::back_inserter(text);
    const Program& common = programs.front();
    print_header(out, common, default_header(), "");
    for (const Program& program : programs) {
        fmt::format_to(out, "\nrank {}\n", program.rank);
        print_header(out, program, common, "  ");
        print_steps(out, program);
    }
    return text;
}

std::string to_text(const Program& program, const Step& step) {
    std::string text;
    print_step(std::back_inserter(text), program, step);
    return text;
}

}  // namespace weft::plan
