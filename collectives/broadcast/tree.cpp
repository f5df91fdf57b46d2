// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/broadcast/tree.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kData = 0;
constexpr std::uint32_t kFirstCredit = 1;
constexpr std::uint16_t kDepth = 2;

}  // namespace

void write_tree(plan::Builder& builder, const TreePlace& place, TreeCourse course, bool pipelined) {
    const std::uint32_t advance = pipelined ? 1 : 0;
    const std::uint32_t data = course.first_number + kData;
    const std::uint32_t credits = course.first_number + kFirstCredit;
    const plan::Block output = plan::per_segment(plan::output(course.first_unit), advance);
    if (pipelined) builder.begin_loop();
    if (place.parent == plan::kNoRank) {
        builder.copy(output, plan::per_segment(plan::input(course.first_unit), advance));
    } else {
        builder.wait(place.parent, data, plan::kShared);
        builder.copy(output, plan::per_segment(plan::slot(data, course.first_unit), advance));
        if (pipelined) builder.signal(place.parent, credits + place.child_index, 0, kDepth);
    }
    // All credits before the first put: near children read one published copy, not one each.
    if (pipelined) {
        std::uint32_t credit = credits;
        for (const Rank child : place.children) builder.wait(child, credit++, 0, kDepth);
    }
    for (const Rank child : place.children) builder.put(child, data, output, plan::kShared);
    if (pipelined) builder.end_loop();
}

base::Result<plan::Program> broadcast_along(const TreePlace& place, const AlgorithmSpec& spec,
                                            const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("broadcast", spec, request);
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    const bool pipelined = *segments > 1;
    header.units = *segments;
    header.segments = *segments;
    header.depth = pipelined ? kDepth : 1;
    plan::Builder builder(std::move(header));
    write_tree(builder, place, {}, pipelined);
    if (request.size > 1) {
        builder.reserve_slots(pipelined ? kFirstCredit + place.children_max : kFirstCredit);
        builder.reserve_slot_units(1);
        if (pipelined) builder.reserve_capacity(kData, 1);  // credits need none
    }
    return std::move(builder).finish();
}

base::Result<plan::Program> broadcast_along(const patterns::RangeTree& tree,
                                            const AlgorithmSpec& spec,
                                            const GenerateRequest& request) {
    return broadcast_along(patterns::place_in(tree, {request.rank, request.size, request.root}),
                           spec, request);
}

}  // namespace weft::collectives
