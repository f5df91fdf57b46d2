// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/broadcast/tree.hpp"

#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kData = 0;
constexpr std::uint32_t kFirstCredit = 1;
constexpr std::uint16_t kDepth = 2;

void write_segment(plan::Builder& builder, const TreePlace& place, bool pipelined) {
    const std::uint32_t advance = pipelined ? 1 : 0;
    const plan::Block output = plan::per_segment(plan::output(), advance);
    if (place.parent == plan::kNoRank) {
        builder.copy(output, plan::per_segment(plan::input(), advance));
    } else {
        builder.wait(place.parent, kData, plan::kShared);
        builder.copy(output, plan::per_segment(plan::slot(kData), advance));
        if (pipelined) builder.signal(place.parent, kFirstCredit + place.child_index, 0, kDepth);
    }
    // All credits before the first put: near children read one published copy, not one each.
    if (pipelined) {
        std::uint32_t credit = kFirstCredit;
        for (const Rank child : place.children) builder.wait(child, credit++, 0, kDepth);
    }
    for (const Rank child : place.children) builder.put(child, kData, output, plan::kShared);
}

}  // namespace

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
    if (pipelined) builder.begin_loop();
    write_segment(builder, place, pipelined);
    if (pipelined) builder.end_loop();
    if (request.size > 1) {
        builder.reserve_slots(pipelined ? kFirstCredit + place.children_max : kFirstCredit);
        builder.reserve_slot_units(1);
    }
    return std::move(builder).finish();
}

}  // namespace weft::collectives
