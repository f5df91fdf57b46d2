// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/team.hpp"

#include <algorithm>
#include <bit>

#include "base/element_types.hpp"
#include "run/runtime/runtime.hpp"

namespace weft::run {

/// What each member tells the others when a team is split.
struct Team::Entry {
    std::uint64_t color = 0;  ///< + 1; 0: no team
    std::uint64_t key = 0;    ///< with its sign bit flipped, so that unsigned order is key order
    std::uint64_t free_regions = 0;
    std::uint64_t tick = 0;
};

Team::Team(Runtime& runtime, std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick,
           PlanContext context)
    : runtime_(runtime),
      engine_(runtime.engine()),
      plans_(context, runtime.kernels(), runtime.settings().algorithms),
      nodes_(context.nodes) {
    const auto barrier = plans_.inserted_barrier();
    WEFT_CHECK(barrier.ok(), barrier.failure().text);
    state_ = &engine_.add_team({.id = id,
                                .rank = context.rank,
                                .job_ranks = std::move(job_ranks),
                                .region = runtime.layout().region(id),
                                .shape = context.region,
                                .first_tick = first_tick,
                                .barrier = &(*barrier)->program});
}

base::Result<Operation*> Team::start(const CallShape& shape, Buffers buffers) {
    const auto plan = plans_.find(shape);
    if (!plan) return plan.failure();
    if (auto checked = check_buffers(shape, buffers); !checked) return checked.failure();
    Operation& op = engine_.issue(*state_, (*plan)->program, registers(buffers), (*plan)->reducer);
    runtime_.wake_helper();
    return &op;
}

base::Result<void> Team::check_separate_buffers(const CallShape& shape, Buffers buffers) {
    if (shape.kind == Kind::barrier) return {};
    const char* const missing = buffers.input == nullptr    ? "input"
                                : buffers.output == nullptr ? "output"
                                                            : nullptr;
    if (missing != nullptr)
        return base::fail(Status::argument, "{}: {} is null, expected {} elements",
                          name_of(shape.kind), missing, shape.elements);
    const std::uint64_t element =
        shape.user != nullptr ? shape.user->element_bytes : base::size_of(shape.type);
    const auto* input = static_cast<const std::byte*>(buffers.input);
    const auto* output = static_cast<const std::byte*>(buffers.output);
    const std::uint64_t bytes = shape.elements * element;
    if (input < output + bytes && output < input + bytes)
        return base::fail(Status::argument,
                          "{}: input and output overlap by a part, expected the same or separate "
                          "memory",
                          name_of(shape.kind));
    return {};
}

base::Result<Team*> Team::split(int color, int key) {
    const auto members = static_cast<std::size_t>(size());
    std::vector<Entry> entries(members);
    entries[static_cast<std::size_t>(rank())] = {
        .color = color < 0 ? 0 : static_cast<std::uint64_t>(color) + 1,
        .key = static_cast<std::uint32_t>(key) ^ 0x8000'0000U,
        .free_regions = runtime_.free_regions(),
        .tick = runtime_.tick_bound()};
    // Everyone's entry to everyone: each fills in its own, the others are zero.
    const CallShape exchange{.kind = Kind::allreduce,
                             .type = Type::uint64,
                             .op = Op::bor,
                             .elements = members * sizeof(Entry) / sizeof(std::uint64_t)};
    if (auto done = call(exchange, {entries.data(), entries.data()}); !done)
        return done.failure().within("split");
    if (color < 0) return nullptr;

    std::vector<Rank> ranks;
    std::uint64_t free_everywhere = ~std::uint64_t{0};
    base::Tick first_tick = 1;
    for (std::size_t r = 0; r < members; ++r) {
        if (entries[r].color != static_cast<std::uint64_t>(color) + 1) continue;
        ranks.push_back(static_cast<Rank>(r));
        free_everywhere &= entries[r].free_regions;
        if (base::tick_distance(entries[r].tick, first_tick) > 0) first_tick = entries[r].tick;
    }
    if (free_everywhere == 0)
        return base::fail(
            Status::memory,
            "split: no region is free on all {} members; each rank can be in {} teams "
            "at a time",
            ranks.size(), SegmentLayout::kTeams);
    std::ranges::stable_sort(ranks, {},
                             [&](Rank r) { return entries[static_cast<std::size_t>(r)].key; });
    for (Rank& r : ranks) r = state_->setup.job_ranks[static_cast<std::size_t>(r)];
    const auto id = static_cast<std::uint32_t>(std::countr_zero(free_everywhere));
    return &runtime_.add_team(id, std::move(ranks), first_tick);
}

base::Result<void> Team::release() {
    if (!engine_.idle(*state_))
        return base::fail(Status::argument, "team {}: released while calls are in flight", id());
    // In this barrier every member waits in its own region, which stays its own until it is through.
    if (auto done = call({.kind = Kind::barrier, .apart = true}, {}); !done) return done;
    runtime_.remove_team(*this);  // *this is gone
    return {};
}

}  // namespace weft::run
