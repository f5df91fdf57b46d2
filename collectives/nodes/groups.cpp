// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/nodes/groups.hpp"

#include <algorithm>

#include "collectives/registry.hpp"
#include "collectives/transfer.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

/// Returns the first algorithm without required parameters. A group of one rank cannot use the
/// caller's spec, whose schedule may not be valid for one rank.
AlgorithmSpec spec_for_one_rank(std::string_view collective) {
    const auto usable = [](const Algorithm& algorithm) {
        return std::ranges::none_of(algorithm.parameters, &std::string_view::empty,
                                    &Parameter::fallback);
    };
    return {.name = std::string(std::ranges::find_if(algorithms_of(collective), usable)->name)};
}

/// Sets segments=1 unless the spec has `segments`: the caller's request determines the pieces of
/// all parts, so algorithms must not use their default number.
void set_segments(AlgorithmSpec& spec, const Algorithm& algorithm) {
    if (spec.is_schedule() || algorithm.parameter("segments") == nullptr ||
        spec.find("segments") != nullptr)
        return;
    spec.parameters.push_back({.key = "segments", .value = "1"});
}

}  // namespace

base::Result<Named> named_by(const AlgorithmSpec& spec, std::string_view key,
                             std::string_view fallback,
                             std::span<const std::string_view> collectives) {
    const SpecParameter* given = spec.find(key);
    AlgorithmSpec inner;
    if (given != nullptr && !given->nested.empty()) {
        inner = given->nested.front();
    } else {
        auto parsed = parse_spec(given == nullptr ? fallback : std::string_view(given->value));
        if (!parsed) return parsed.failure().within(key);
        inner = *std::move(parsed);
        if (given != nullptr) inner.position = given->position;
    }
    base::Failure why;
    for (const std::string_view collective : collectives) {
        const auto found = find_algorithm(collective, inner);
        if (found) return Named{collective, std::move(inner), *found};
        if (why.text.empty()) why = found.failure();
    }
    return why;
}

base::Result<plan::Program> generate_part(std::string_view collective, AlgorithmSpec spec,
                                          GenerateRequest request) {
    if (request.size == 1) spec = spec_for_one_rank(collective);
    const auto algorithm = WEFT_TRY(find_algorithm(collective, spec));
    request.layout = {};
    request.known_shapes = nullptr;
    request.counts = {};  // set for the whole program, after the parts are spliced
    request.one_at_a_time = true;
    request.is_part = true;
    set_segments(spec, *algorithm);
    // Without a layout, the generator must not access local peers' memory in place.
    spec = with_local_puts(collective, std::move(spec));
    return generate(collective, spec, request);
}

Groups::Groups(const GenerateRequest& request, Leader leader)
    : request_(request),
      leader_(leader),
      layout_(layout_of(request)),
      node_(layout_.node_of(request.rank)),
      local_(layout_.local_of(request.rank)) {
    if (request.root == plan::kNoRank) return;
    root_node_ = layout_.node_of(request.root);
    root_local_ = layout_.local_of(request.root);
}

base::Result<plan::Program> Groups::generate_in(const GroupCall& call, Group group,
                                                Rank rank) const {
    GenerateRequest request = request_;
    request.rank = rank;
    request.size = group.size;
    request.root = is_rooted(call.collective) ? group.root : plan::kNoRank;
    const bool by_blocks = call.data == Data::blocks || call.data == Data::by_local_rank;
    if (by_blocks)  // one block of the team's size for each rank of the group
        request.elements = std::max<std::uint64_t>(
            1, request.elements / static_cast<std::uint64_t>(request_.size) *
                   static_cast<std::uint64_t>(group.size));
    if (call.data == Data::none) {
        request.segments = 1;  // splice() drops the data; a call of 0 elements has no steps
        request.elements = find_collective(call.collective)->has_data() ? 1 : 0;
    }
    return generate_part(call.collective, call.spec, request);
}

base::Result<std::shared_ptr<const plan::Program>> Groups::shape_of(const GroupCall& call,
                                                                    Group group, Rank rank) const {
    const KnownShapes::ShapeKey key{group.size, group.root,      rank,
                                    call.data,  call.collective, call.spec};
    KnownShapes none;
    auto& shapes = (request_.known_shapes != nullptr ? request_.known_shapes : &none)->shapes;
    const auto known = std::ranges::find(shapes, key, &KnownShapes::GroupShape::key);
    if (known != shapes.end()) return known->program;
    auto shape = WEFT_TRY(generate_in(call, group, rank));
    shapes.push_back({key, std::make_shared<const plan::Program>(std::move(shape))});
    return shapes.back().program;
}

base::Result<void> Groups::add_shapes(const GroupCall& call, Group group,
                                      plan::SplicePart& part) const {
    // The first or the last rank has the most lanes, which splice() must know.
    for (const Rank rank : {Rank{0}, group.size - 1}) {
        auto shape = WEFT_TRY(shape_of(call, group, rank));
        part.shapes.push_back(std::move(shape));
        if (group.size == 1) break;
    }
    return base::Done{};
}

base::Result<plan::SplicePart> Groups::on_nodes(const GroupCall& call) const {
    plan::SplicePart part{
        .input = call.input, .output = call.output, .bare = call.data == Data::none};
    std::vector<Group> groups;
    for (const Rank size : layout_.sizes())
        groups.push_back({.size = size, .root = leader_ == Leader::first ? 0 : size - 1});
    if (root_local_ != 0)
        groups.push_back({.size = layout_.ranks_on(root_node_), .root = root_local_});
    for (const Group group : groups) WEFT_TRY(add_shapes(call, group, part));
    part.own = WEFT_TRY(
        generate_in(call, {.size = layout_.ranks_on(node_), .root = leader_of(node_)}, local_));
    part.rank_of = [layout = layout_, node = node_](Rank local) {
        return layout.rank_at(node, local);
    };
    if (call.data == Data::blocks)
        part.blocks_of = [rank_of = part.rank_of](Rank local) {
            return std::vector<Rank>{rank_of(local)};
        };
    if (call.data == Data::by_local_rank) {
        part.blocks_max = layout_.nodes();
        part.blocks_of = [layout = layout_](Rank local) {
            std::vector<Rank> ranks;
            for (Rank node = 0; node < layout.nodes(); ++node)
                ranks.push_back(layout.rank_at(node, local));
            return ranks;
        };
    }
    return part;
}

base::Result<plan::SplicePart> Groups::among_nodes(const GroupCall& call, bool mine,
                                                   std::function<Rank(Rank)> rank_of) const {
    plan::SplicePart part{
        .input = call.input, .output = call.output, .bare = call.data == Data::none};
    const Group group{.size = layout_.nodes(), .root = root_node_};
    WEFT_TRY(add_shapes(call, group, part));
    if (call.data == Data::blocks) {
        part.blocks_max = layout_.most();
        part.blocks_of = [layout = layout_](Rank node) {
            std::vector<Rank> ranks;
            for (Rank local = 0; local < layout.ranks_on(node); ++local)
                ranks.push_back(layout.rank_at(node, local));
            return ranks;
        };
    }
    if (!mine) return part;
    part.own = WEFT_TRY(generate_in(call, group, node_));
    part.rank_of = std::move(rank_of);
    return part;
}

base::Result<plan::SplicePart> Groups::of_leaders(const GroupCall& call) const {
    return among_nodes(call, leads(), [self = *this](Rank node) {
        return self.layout_.rank_at(node, self.leader_of(node));
    });
}

base::Result<plan::SplicePart> Groups::of_equal_local_ranks(const GroupCall& call) const {
    return among_nodes(call, /*mine=*/true, [layout = layout_, local = local_](Rank node) {
        return layout.rank_at(node, local);
    });
}

plan::SplicePart Groups::local_step(plan::VectorName input, plan::VectorName output,
                                    bool combines) const {
    const std::uint32_t segments = request_.segments;
    plan::Program header;
    header.units = header.segments = segments;
    plan::Builder builder(std::move(header));
    const std::uint32_t advance = segments > 1 ? 1 : 0;
    const plan::Block from = plan::per_segment(plan::input(), advance);
    const plan::Block to = plan::per_segment(plan::output(), advance);
    if (segments > 1) builder.begin_loop();
    if (combines)
        builder.reduce(to, {from, to});
    else
        builder.copy(to, from);
    if (segments > 1) builder.end_loop();
    plan::SplicePart part{.own = std::move(builder).finish(), .input = input, .output = output};
    part.shapes.push_back(std::make_shared<const plan::Program>(*part.own));
    part.rank_of = [rank = request_.rank](Rank) { return rank; };
    return part;
}

}  // namespace weft::collectives
