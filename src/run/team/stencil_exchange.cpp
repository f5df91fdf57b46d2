// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/stencil_exchange.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/element_types.hpp"
#include "plan/select/select.hpp"
#include "run/bind/bind.hpp"

namespace weft::run {

using collectives::NeighborData;
using collectives::NeighborWay;

namespace {

base::Result<void> check_type(Type type) {
    if (static_cast<int>(type) < kBuiltinTypes) return base::Done{};
    return base::fail(Status::argument, "type: {} is not an element type, expected 0..{}",
                      static_cast<int>(type), kBuiltinTypes - 1);
}

std::string describe(const Call& call, const collectives::Stencil& stencil,
                     const plan::Program& program) {
    std::string offsets;
    for (const collectives::Coordinates& offset : stencil.offsets())
        offsets += fmt::format("{};", fmt::join(offset, ","));
    return fmt::format(
        "{} of {} {} by {} on a grid of {} (periodic: {}), {} neighbors, digest {:x}",
        program.collective, call.count, base::name_of(call.type), program.algorithm,
        fmt::join(stencil.grid().extents(), "x"), fmt::join(stencil.grid().periodic(), ","),
        stencil.offsets().size(), call_hash(offsets, 0));
}

/// Returns the memory of the blocks, of `bytes` bytes each, whose neighbor exists.
BlockMemory block_memory(const Neighborhood& neighborhood, Rank rank, std::uint64_t bytes) {
    const collectives::Stencil& stencil = *neighborhood.stencil;
    BlockMemory memory;
    for (std::uint32_t i = 0; i < stencil.offsets().size(); ++i) {
        if (stencil.neighbor(rank, i) == plan::kNoRank) continue;
        if (!memory.output.empty() && memory.output.back().end() == i * bytes)
            memory.output.back().bytes += bytes;
        else
            memory.output.push_back({i * bytes, bytes});
    }
    memory.input = memory.output;
    if (neighborhood.data == NeighborData::same && !memory.input.empty())
        memory.input = {{0, bytes}};
    return memory;
}

}  // namespace

base::Result<void> check_extents(Rank ranks, std::span<const Rank> extents) {
    double product = 1;  // the product may exceed 64 bits
    for (const Rank extent : extents) product *= extent;
    if (product == ranks && std::ranges::min(extents) > 0) return base::Done{};
    return base::fail(Status::argument,
                      "extents: their product is {:.0f}, expected positive numbers with the "
                      "product {}, the number of ranks",
                      product, ranks);
}

base::Result<collectives::Stencil> grid_stencil(Rank ranks, std::vector<Rank> extents,
                                                std::vector<bool> periodic, bool star, int reach) {
    constexpr std::size_t kDimensionsMax = 8;
    constexpr int kReachMax = 8;
    if (extents.empty() || extents.size() > kDimensionsMax || periodic.size() != extents.size())
        return base::fail(
            Status::argument,
            "grid: expected 1 to {} extents, and a value of `periodic` for each of them",
            kDimensionsMax);
    if (reach < 1 || reach > kReachMax)
        return base::fail(Status::argument, "reach is {}, expected 1..{}", reach, kReachMax);
    const auto dimensions = static_cast<int>(extents.size());
    constexpr std::int64_t kBlocksMax = 10'000;
    std::int64_t blocks = 1;
    for (int i = 0; i < dimensions && !star && blocks <= kBlocksMax; ++i) blocks *= 2 * reach + 1;
    if (blocks > kBlocksMax)
        return base::fail(Status::argument,
                          "a box of {} dimensions and reach {} has more than {} neighbors",
                          dimensions, reach, kBlocksMax);
    WEFT_TRY(check_extents(ranks, extents));
    auto offsets = star ? collectives::star_offsets(dimensions, reach)
                        : collectives::box_offsets(dimensions, reach);
    return collectives::Stencil::make({std::move(extents), std::move(periodic)},
                                      std::move(offsets));
}

base::Result<std::unique_ptr<Plan>> make_plan(const PlanContext& context, const Call& call,
                                              const Neighborhood& neighborhood) {
    const std::uint64_t bytes = call.count * element_bytes(call);
    const collectives::Stencil& stencil = *neighborhood.stencil;
    BindOptions options{.elements = call.count * stencil.offsets().size(),
                        .element_bytes = element_bytes(call),
                        .shape = context.region,
                        .near = &context.near};
    const bool maps = bytes >= mapped_bytes_min(context.machine);
    const auto make = [&](std::uint32_t segments, bool) -> base::Result<plan::Program> {
        return collectives::generate_neighbors({.stencil = &stencil,
                                                .data = neighborhood.data,
                                                .way = neighborhood.way,
                                                .rank = context.rank,
                                                .segments = segments,
                                                .elements = options.elements,
                                                .mapped = maps ? &context.near : nullptr});
    };
    auto program = WEFT_TRY(program_in_segments(make, options));
    options.description = describe(call, stencil, program);
    options.call_hash = call_hash(options.description, options.element_bytes);
    const std::string name = program.collective;
    auto bound = bind(std::move(program), options);
    if (!bound) return bound.failure().within(name);
    Call without_memory = call;
    without_memory.in = without_memory.out = nullptr;
    return std::unique_ptr<Plan>(new Plan{.call = std::move(without_memory),
                                          .program = *std::move(bound),
                                          .reducer = {.element_bytes = options.element_bytes},
                                          .blocks = std::make_unique<const BlockMemory>(
                                              block_memory(neighborhood, context.rank, bytes)),
                                          .neighborhood = neighborhood});
}

StencilExchange::StencilExchange(Team& team, collectives::Stencil stencil)
    : team_(team), stencil_(std::make_shared<const collectives::Stencil>(std::move(stencil))) {
    const auto blocks = static_cast<std::uint32_t>(stencil_->offsets().size());
    for (std::uint32_t i = 0; i < blocks; ++i)
        neighbors_.push_back(stencil_->neighbor(team.rank(), i));
}

base::Result<void> StencilExchange::run(Data data, const void* in, void* out, std::size_t count,
                                        Type type) {
    WEFT_TRY(check_type(type));
    if (count == 0) return base::Done{};
    const bool has_no_neighbor =
        std::ranges::all_of(neighbors_, [](Rank r) { return r == plan::kNoRank; });
    if ((in == nullptr || out == nullptr) && !has_no_neighbor)
        return base::fail(Status::argument, "{} is null, expected blocks of {} elements",
                          in == nullptr ? "in" : "out", count);
    constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (count > kMost / base::size_of(type) / std::max<std::size_t>(neighbors_.size(), 1))
        return base::fail(Status::argument,
                          "count: {} elements of {} bytes for each of {} blocks exceed the address "
                          "space",
                          count, base::size_of(type), neighbors_.size());
    const auto way = WEFT_TRY(choose(data, count * base::size_of(type)));
    const Call call{
        .collective = Collective::alltoallv, .in = in, .out = out, .count = count, .type = type};
    if (const base::Failure* const why =
            team_.run(call, {.stencil = stencil_, .data = data, .way = way}))
        return *why;
    return base::Done{};
}

base::Result<StencilExchange::Way> StencilExchange::way_of(Data data, std::size_t count,
                                                           Type type) {
    WEFT_TRY(check_type(type));
    return choose(data, count * base::size_of(type));
}

base::Result<StencilExchange::Way> StencilExchange::choose(Data data, std::uint64_t block_bytes) {
    if (forced_) return *forced_;
    const std::pair key(data, std::bit_ceil(std::max<std::uint64_t>(1, block_bytes)));
    if (const auto known = chosen_.find(key); known != chosen_.end()) return known->second;
    const auto way = quicker_way(team_.plans().machine(), *stencil_, data, key.second);
    if (way) chosen_[key] = *way;
    return way;
}

base::Result<NeighborWay> quicker_way(const plan::Machine& machine,
                                      const collectives::Stencil& stencil, NeighborData data,
                                      std::uint64_t block_bytes) {
    const auto ranks = static_cast<Rank>(stencil.grid().ranks());
    const std::uint64_t elements = block_bytes * stencil.offsets().size();
    std::vector<plan::Candidate> candidates;
    for (const NeighborWay way : {NeighborWay::direct, NeighborWay::combined}) {
        plan::Candidate candidate{.algorithm = way == NeighborWay::direct ? "direct" : "combined"};
        candidate.program = [&, way](Rank rank) -> base::Result<plan::Program> {
            return collectives::generate_neighbors({.stencil = &stencil,
                                                    .data = data,
                                                    .way = way,
                                                    .rank = rank,
                                                    .elements = elements});
        };
        candidates.push_back(std::move(candidate));
    }
    const auto choice =
        WEFT_TRY(plan::select(machine, ranks, candidates,
                              {.elements = elements, .element_bytes = 1}, {}, plan::Scope::chosen));
    return choice.algorithm() == "direct" ? NeighborWay::direct : NeighborWay::combined;
}

}  // namespace weft::run
