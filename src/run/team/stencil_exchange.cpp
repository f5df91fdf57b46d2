// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/stencil_exchange.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>

#include "base/copy.hpp"
#include "base/element_types.hpp"
#include "plan/select/select.hpp"

namespace weft::run {

using collectives::Coordinates;
using collectives::NeighborData;
using collectives::NeighborWay;

namespace {

template <class Enum>
std::size_t index_of(Enum value) {
    return static_cast<std::size_t>(value);
}

base::Result<void> check_type(Type type) {
    if (static_cast<int>(type) < kBuiltinTypes) return base::Done{};
    return base::fail(Status::argument, "type: {} is not an element type", static_cast<int>(type));
}

bool stays(const Coordinates& offset) {
    return std::ranges::all_of(offset, [](std::int64_t part) { return part == 0; });
}

}  // namespace

base::Result<collectives::Stencil> grid_stencil(Rank ranks, std::vector<Rank> extents,
                                                std::vector<bool> periodic, bool star, int reach) {
    constexpr std::size_t kDimensionsMax = 8;
    constexpr int kReachMax = 8;
    if (extents.empty() || extents.size() > kDimensionsMax || periodic.size() != extents.size())
        return base::fail(Status::argument,
                          "grid: expected 1 to {} extents, and `periodic` for each of them",
                          kDimensionsMax);
    if (reach < 1 || reach > kReachMax)
        return base::fail(Status::argument, "reach is {}, expected 1..{}", reach, kReachMax);
    const auto dimensions = static_cast<int>(extents.size());
    constexpr std::int64_t kBlocksMax = 10'000;
    std::int64_t blocks = 1;
    for (int i = 0; i < dimensions && !star && blocks <= kBlocksMax; ++i) blocks *= 2 * reach + 1;
    if (blocks > kBlocksMax)
        return base::fail(Status::argument,
                          "a box of {} dimensions and reach {} has more than {} "
                          "neighbors",
                          dimensions, reach, kBlocksMax);
    collectives::Grid grid(std::move(extents), std::move(periodic));
    if (!grid.is_valid() || grid.ranks() != ranks)
        return base::fail(Status::argument, "extents: they are not those of {} ranks", ranks);
    auto offsets = star ? collectives::star_offsets(dimensions, reach)
                        : collectives::box_offsets(dimensions, reach);
    return collectives::Stencil::make(std::move(grid), std::move(offsets));
}

/// Places of the blocks during a call, by number.
struct StencilExchange::Blocks {
    Type type = Type::uint8;
    std::size_t count = 0;
    std::size_t bytes = 0;  ///< of a block
    std::vector<const std::byte*> at;
    std::vector<std::vector<std::byte>> received;  ///< of each phase
};

StencilExchange::StencilExchange(Team& team, collectives::Stencil stencil)
    : team_(team),
      stencil_(std::move(stencil)),
      here_(stencil_.grid().coordinates_of(team.rank())) {
    const auto blocks = static_cast<std::uint32_t>(stencil_.offsets().size());
    for (std::uint32_t i = 0; i < blocks; ++i)
        neighbors_.push_back(stencil_.neighbor(team.rank(), i));
    for (const Data data : {Data::same, Data::own})
        for (const Way way : {Way::direct, Way::combined})
            routes_[index_of(data)][index_of(way)] = route_of(data, way);
}

/// Returns for each offset the number of its block before a dimension's round. In a gather, blocks
/// that have taken the same path are one block, with the number of the first.
std::vector<std::uint32_t> StencilExchange::numbers(Data data, std::size_t dimension) const {
    std::vector<std::uint32_t> numbers;
    std::map<Coordinates, std::uint32_t> first;
    const auto come = static_cast<std::ptrdiff_t>(dimension);
    for (const Coordinates& offset : stencil_.offsets()) {
        const auto number = static_cast<std::uint32_t>(numbers.size());
        const Coordinates begin(offset.begin(), offset.begin() + come);
        numbers.push_back(data == Data::own ? number : first.emplace(begin, number).first->second);
    }
    return numbers;
}

/// Returns the rank ahead (1) or behind (-1) by the parts first .. end-1 of an offset.
Rank StencilExchange::ahead(const Coordinates& offset, std::size_t first, std::size_t end,
                            int direction) const {
    Coordinates at = here_;
    for (std::size_t i = first; i < end; ++i) at[i] += direction * offset[i];
    return stencil_.grid().rank_at(at);
}

/// Returns true if the block that arrives here after `come` parts of its offset exists and some
/// rank needs it.
bool StencilExchange::is_needed(std::uint32_t index, std::size_t come) const {
    const Coordinates& offset = stencil_.offsets()[index];
    return ahead(offset, 0, come, -1) != plan::kNoRank &&
           ahead(offset, come, offset.size(), 1) != plan::kNoRank;
}

/// Returns the phase in which blocks move along the dimensions first .. end-1 at once.
StencilExchange::Phase StencilExchange::phase_of(Data data, std::size_t first,
                                                 std::size_t end) const {
    const std::vector<std::uint32_t> before = numbers(data, first);
    const std::vector<std::uint32_t> after = numbers(data, end);
    const std::vector<Coordinates>& offsets = stencil_.offsets();
    Phase phase;
    std::vector<bool> sent(offsets.size());
    std::vector<bool> received(offsets.size());
    for (std::uint32_t i = 0; i < offsets.size(); ++i) {
        const Coordinates parts(offsets[i].begin() + static_cast<std::ptrdiff_t>(first),
                                offsets[i].begin() + static_cast<std::ptrdiff_t>(end));
        if (stays(parts)) {
            phase.kept.emplace_back(before[i], after[i]);
            continue;
        }
        const Hop hop{.part = parts.front(), .before = before[i], .after = after[i]};
        if (!sent[after[i]] && is_needed(i, first)) {
            phase.sent.push_back(hop);
            phase.sent.back().peer = ahead(offsets[i], first, end, 1);
            sent[after[i]] = true;
        }
        if (!received[after[i]] && is_needed(i, end)) {
            phase.received.push_back(hop);
            phase.received.back().peer = ahead(offsets[i], first, end, -1);
            received[after[i]] = true;
        }
    }
    for (auto* const hops : {&phase.sent, &phase.received})
        std::ranges::sort(*hops, {},
                          [](const Hop& hop) { return std::tuple(hop.peer, hop.part, hop.after); });
    return phase;
}

StencilExchange::Route StencilExchange::route_of(Data data, Way way) const {
    const std::size_t dimensions = stencil_.grid().dimensions();
    Route route;
    if (way == Way::direct) {
        route.phases.push_back(phase_of(data, 0, dimensions));
    } else {
        for (std::size_t i = 0; i < dimensions; ++i)
            route.phases.push_back(phase_of(data, i, i + 1));
    }
    route.last = numbers(data, dimensions);
    for (const auto* const hops : {&route.phases.front().sent, &route.phases.front().received})
        route.apart =
            route.apart && std::ranges::adjacent_find(*hops, {}, &Hop::peer) == hops->end();
    return route;
}

base::Result<void> StencilExchange::run(Data data, const void* in, void* out, std::size_t count,
                                        Type type) {
    if (auto checked = check_type(type); !checked) return checked;
    if (count == 0) return base::Done{};
    const bool alone = std::ranges::all_of(neighbors_, [](Rank r) { return r == plan::kNoRank; });
    if ((in == nullptr || out == nullptr) && !alone)
        return base::fail(Status::argument, "{} is null, expected blocks of {} elements",
                          in == nullptr ? "in" : "out", count);
    constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (count > kMost / base::size_of(type) / std::max<std::size_t>(neighbors_.size(), 1))
        return base::fail(Status::argument,
                          "count: {} elements of {} bytes for each of {} blocks exceed the address "
                          "space",
                          count, base::size_of(type), neighbors_.size());
    const std::size_t bytes = count * base::size_of(type);
    const auto way = choose(data, bytes);
    if (!way) return way.failure();
    const Route& route = routes_[index_of(data)][index_of(*way)];
    Blocks blocks{.type = type, .count = count, .bytes = bytes};
    if (*way == Way::direct && route.apart) return run_apart(data, route, in, out, blocks);
    for (std::size_t i = 0; i < neighbors_.size(); ++i)
        blocks.at.push_back(static_cast<const std::byte*>(in) +
                            (data == Data::own ? i * bytes : 0));
    for (const Phase& phase : route.phases)
        if (auto passed = pass(phase, blocks); !passed) return passed;
    for (std::uint32_t i = 0; i < neighbors_.size(); ++i) {
        if (neighbors_[i] == plan::kNoRank) continue;
        const std::byte* const from = blocks.at[route.last[stencil_.opposite(i)]];
        base::copy_bytes(static_cast<std::byte*>(out) + i * bytes, from, bytes);
    }
    return base::Done{};
}

/// Sends each block directly from its place to its destination.
base::Result<void> StencilExchange::run_apart(Data data, const Route& route, const void* in,
                                              void* out, const Blocks& blocks) {
    const auto members = static_cast<std::size_t>(team_.size());
    std::vector<std::size_t> in_counts(members);
    std::vector<std::size_t> in_starts(members);
    std::vector<std::size_t> out_counts(members);
    std::vector<std::size_t> out_starts(members);
    const Phase& phase = route.phases.front();
    for (const Hop& hop : phase.sent) {
        const auto peer = static_cast<std::size_t>(hop.peer);
        in_counts[peer] = blocks.count;
        in_starts[peer] = data == Data::own ? hop.before * blocks.count : 0;
    }
    for (const Hop& hop : phase.received) {
        const auto peer = static_cast<std::size_t>(hop.peer);
        out_counts[peer] = blocks.count;
        out_starts[peer] = stencil_.opposite(hop.after) * blocks.count;
    }
    if (const base::Failure* const why = team_.run(Call::alltoallv(
            in, {in_counts, in_starts}, out, {out_counts, out_starts}, blocks.type)))
        return *why;
    for (std::uint32_t i = 0; i < neighbors_.size(); ++i) {
        if (!stays(stencil_.offsets()[i])) continue;
        const std::size_t from = data == Data::own ? i * blocks.bytes : 0;
        base::copy_bytes(static_cast<std::byte*>(out) + i * blocks.bytes,
                         static_cast<const std::byte*>(in) + from, blocks.bytes);
    }
    return base::Done{};
}

/// Sends the blocks of a phase. Blocks for one rank are consecutive, in an order that
/// both ranks know.
base::Result<void> StencilExchange::pass(const Phase& phase, Blocks& blocks) {
    const auto members = static_cast<std::size_t>(team_.size());
    std::vector<std::size_t> in_counts(members);
    std::vector<std::size_t> out_counts(members);
    std::vector<std::byte> sent;
    sent.reserve(phase.sent.size() * blocks.bytes);
    for (const Hop& hop : phase.sent) {
        in_counts[static_cast<std::size_t>(hop.peer)] += blocks.count;
        const std::byte* const from = blocks.at[hop.before];
        sent.insert(sent.end(), from, from + blocks.bytes);
    }
    for (const Hop& hop : phase.received)
        out_counts[static_cast<std::size_t>(hop.peer)] += blocks.count;
    std::vector<std::byte>& received =
        blocks.received.emplace_back(phase.received.size() * blocks.bytes);
    if (const base::Failure* const why = team_.run(Call::alltoallv(
            sent.data(), {in_counts, {}}, received.data(), {out_counts, {}}, blocks.type)))
        return *why;
    std::vector<const std::byte*> after(blocks.at.size());
    for (const auto& [from, to] : phase.kept) after[to] = blocks.at[from];
    for (std::size_t i = 0; i < phase.received.size(); ++i)
        after[phase.received[i].after] = received.data() + i * blocks.bytes;
    blocks.at = std::move(after);
    return base::Done{};
}

base::Result<StencilExchange::Way> StencilExchange::way_of(Data data, std::size_t count,
                                                           Type type) {
    if (auto checked = check_type(type); !checked) return checked.failure();
    return choose(data, count * base::size_of(type));
}

base::Result<StencilExchange::Way> StencilExchange::choose(Data data, std::uint64_t block_bytes) {
    if (forced_) return *forced_;
    const std::pair asked(data, std::bit_ceil(std::max<std::uint64_t>(1, block_bytes)));
    if (const auto known = chosen_.find(asked); known != chosen_.end()) return known->second;
    const auto way = quicker_way(team_.plans().machine(), stencil_, data, asked.second);
    if (way) chosen_[asked] = *way;
    return way;
}

base::Result<NeighborWay> quicker_way(const plan::Machine& machine,
                                      const collectives::Stencil& stencil, NeighborData data,
                                      std::uint64_t block_bytes) {
    const auto ranks = static_cast<Rank>(stencil.grid().ranks());
    if (ranks > plan::kPredictedRanks) return NeighborWay::direct;
    const std::uint64_t elements = block_bytes * stencil.offsets().size();
    std::vector<plan::Candidate> candidates;
    for (const NeighborWay way : {NeighborWay::direct, NeighborWay::combined}) {
        plan::Candidate candidate{.algorithm = way == NeighborWay::direct ? "direct" : "combined"};
        candidate.stages = [](Rank) -> base::Result<plan::Stages> {
            return base::fail(Status::unsupported, "neighbors do not go stage by stage");
        };
        candidate.program = [&, way](Rank, Rank rank) -> base::Result<plan::Program> {
            return collectives::generate_neighbors({.stencil = &stencil,
                                                    .data = data,
                                                    .way = way,
                                                    .rank = rank,
                                                    .elements = elements});
        };
        candidates.push_back(std::move(candidate));
    }
    const auto choice =
        plan::select(machine, ranks, candidates, {.elements = elements, .element_bytes = 1}, {},
                     plan::Scope::chosen);
    if (!choice) return choice.failure();
    return choice->algorithm() == "direct" ? NeighborWay::direct : NeighborWay::combined;
}

}  // namespace weft::run
