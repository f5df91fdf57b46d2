// SPDX-License-Identifier: BSD-3-Clause
// neighbors.cpp - exchanges short and long blocks with the neighbors of random graphs and of grids,
// in blocking and started calls, and by each method of stencils.
#include "weft/neighbors.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "weft/stencil.hpp"

namespace weft::test {
namespace {

/// A random directed graph, equal on all ranks; each edge exists with probability 1/2.
struct Graph {
    std::vector<std::vector<Rank>> to, from;  ///< destinations and sources, by rank

    Graph(Rank members, std::mt19937& random) : to(at(members)), from(at(members)) {
        for (Rank a = 0; a < members; ++a)
            for (Rank b = 0; b < members; ++b)
                if ((random() & 1U) == 0) to[at(a)].push_back(b);
        for (auto& list : to) std::shuffle(list.begin(), list.end(), random);
        for (Rank a = 0; a < members; ++a)
            for (const Rank b : to[at(a)]) from[at(b)].push_back(a);
        for (auto& list : from) std::shuffle(list.begin(), list.end(), random);
    }
    static std::size_t at(Rank rank) { return static_cast<std::size_t>(rank); }
};

/// Returns element i of the block from `source` to `target` in call number `call`.
std::int64_t element(Rank source, Rank target, std::size_t i, int call) {
    return ((call * 1000 + source) * 1000 + target) * 1'000'000LL + static_cast<std::int64_t>(i);
}

constexpr Rank kAllNeighbors = 999;  // `target` of element() in an allgather

/// Data of one rank in call number `call`.
struct Exchange {
    Neighbors& neighbors;
    Rank rank = 0;
    int call = 0;

    [[nodiscard]] std::vector<std::int64_t> sent(std::size_t count) const {
        std::vector<std::int64_t> in;
        for (const Rank target : neighbors.destinations())
            for (std::size_t i = 0; i < count; ++i) in.push_back(element(rank, target, i, call));
        return in;
    }
    /// Checks that `out` has the elements that the sources made for `target`.
    void check_received(const std::vector<std::int64_t>& out, std::size_t count, Rank target,
                        std::string_view what) const {
        for (std::size_t n = 0; n < neighbors.sources().size(); ++n)
            for (std::size_t i = 0; i < count; ++i)
                if (out[n * count + i] != element(neighbors.sources()[n], target, i, call))
                    return check(false, fmt::format("{}, block {} of {} elements", what, n, count));
    }
};

/// Makes a blocking and a started alltoall and an allgather.
void exchange(Team team, Neighbors& neighbors, std::size_t count, int call) {
    const Exchange data{neighbors, team.rank(), call};
    const std::size_t blocks = neighbors.sources().size();
    const auto in = data.sent(count);
    std::vector<std::int64_t> out(blocks * count);
    team.run(neighbors.alltoall(in.data(), out.data(), count, Type::int64));
    data.check_received(out, count, team.rank(), "alltoall");

    std::ranges::fill(out, 0);
    auto started = team.start(neighbors.alltoall(in.data(), out.data(), count, Type::int64));
    started.wait();
    data.check_received(out, count, team.rank(), "a started alltoall");

    std::vector<std::int64_t> own(count);
    for (std::size_t i = 0; i < count; ++i) own[i] = element(team.rank(), kAllNeighbors, i, call);
    std::ranges::fill(out, 0);
    team.run(neighbors.allgather(own.data(), out.data(), count, Type::int64));
    data.check_received(out, count, kAllNeighbors, "allgather");
}

/// Makes an alltoallv. The block from a to b has a + 2 b elements, and the receiver leaves a gap of
/// one element after each block.
void exchange_with_counts(Team team, Neighbors& neighbors, int call) {
    const Rank own = team.rank();
    const auto count_of = [](Rank a, Rank b) { return static_cast<std::size_t>(a + 2 * b); };
    std::vector<std::size_t> in_counts, out_counts, displacements;
    std::vector<std::int64_t> in;
    for (const Rank target : neighbors.destinations()) {
        in_counts.push_back(count_of(own, target));
        for (std::size_t i = 0; i < in_counts.back(); ++i)
            in.push_back(element(own, target, i, call));
    }
    std::size_t end = 0;
    for (const Rank source : neighbors.sources()) {
        out_counts.push_back(count_of(source, own));
        displacements.push_back(end);
        end += out_counts.back() + 1;
    }
    std::vector<std::int64_t> out(end, -1);
    team.run(neighbors.alltoallv(in.data(), {in_counts, {}}, out.data(),
                                 {out_counts, displacements}, Type::int64));
    for (std::size_t n = 0; n < displacements.size(); ++n) {
        for (std::size_t i = 0; i < out_counts[n]; ++i)
            check(out[displacements[n] + i] == element(neighbors.sources()[n], own, i, call),
                  "alltoallv: an element");
        check(out[displacements[n] + out_counts[n]] == -1,
              "alltoallv: the gap after a block is unchanged");
    }
}

/// Returns element i of the block that rank `from` sends to its neighbor `block`. In an allgather
/// all neighbors receive block 0.
std::int64_t stencil_element(Rank from, std::size_t block, std::size_t i, int call) {
    return (call * 1000LL + from) * 1'000'000'000LL +
           static_cast<std::int64_t>(block * 100'000 + i);
}

/// Makes an alltoall and an allgather by the method `way`. Neighbors n and `blocks - 1 - n` are
/// opposite, so neighbor n sends its block `blocks - 1 - n` to this rank. A neighbor that does not
/// exist (-1) leaves -1 in the output.
void exchange_by(Team team, Stencil& stencil, Stencil::Way way, std::size_t count, int call) {
    stencil.set_way(way);
    const Rank own = team.rank();
    const std::size_t blocks = stencil.neighbors().size();
    const auto compare = [&](const std::vector<std::int64_t>& out, bool is_allgather,
                             const char* what) {
        for (std::size_t n = 0; n < blocks; ++n) {
            const Rank from = stencil.neighbors()[n];
            const std::size_t sent = is_allgather ? 0 : blocks - 1 - n;
            for (std::size_t i = 0; i < count; ++i) {
                const std::int64_t expected = from < 0 ? -1 : stencil_element(from, sent, i, call);
                if (out[n * count + i] != expected)
                    return check(false,
                                 fmt::format("{} of a stencil, method {}, block {} of {} elements",
                                             what, static_cast<int>(way), n, count));
            }
        }
    };
    std::vector<std::int64_t> in;
    for (std::size_t n = 0; n < blocks; ++n)
        for (std::size_t i = 0; i < count; ++i) in.push_back(stencil_element(own, n, i, call));
    std::vector<std::int64_t> out(blocks * count, -1);
    stencil.alltoall(in.data(), out.data(), count, Type::int64);
    compare(out, false, "alltoall");
    std::ranges::fill(out, -1);
    stencil.allgather(in.data(), out.data(), count, Type::int64);
    compare(out, true, "allgather");
}

/// Returns the grid of one dimension and all grids of three dimensions with this number of ranks;
/// an extent may be 1.
std::vector<std::vector<Rank>> grids_of(Rank ranks) {
    std::vector<std::vector<Rank>> grids;
    for (Rank a = 1; a <= ranks; ++a)
        for (Rank b = 1; ranks % a == 0 && a * b <= ranks; ++b)
            if (ranks % (a * b) == 0) grids.push_back({a, b, ranks / (a * b)});
    grids.push_back({ranks});
    return grids;
}

/// Exchanges on all grids of the team; `call` is the number of the next call.
void stencils(Team team, int& call) {
    for (const std::vector<Rank>& extents : grids_of(team.size())) {
        for (const bool all_periodic : {false, true}) {
            std::vector<bool> periodic(extents.size(), all_periodic);
            periodic.front() = true;
            Stencil box(team, extents, periodic);
            for (const std::size_t count : {std::size_t{1}, std::size_t{300}})
                for (const auto way :
                     {Stencil::Way::predicted, Stencil::Way::direct, Stencil::Way::combined})
                    exchange_by(team, box, way, count, call++);
        }
    }
    // Long blocks on a line that is not periodic.
    const std::vector<Rank> line{team.size()};
    Stencil star(team, line, {false}, Stencil::Shape::star, 1);
    check(star.neighbors().size() == 2, "a line has two neighbors");
    exchange_by(team, star, Stencil::Way::combined, 9000, call++);
    refused("a grid of another size", Status::argument,
            fmt::format("their product is {}, expected positive numbers with the product {}, the "
                        "number of ranks",
                        team.size() + 1, team.size()),
            [&] { const Stencil none(team, std::vector<Rank>{team.size() + 1}, {false}); });
    refused("a reach of 0", Status::argument, "reach is 0",
            [&] { const Stencil none(team, line, {false}, Stencil::Shape::box, 0); });
}

void refusals(Team team) {
    const auto make = [&](std::vector<Rank> sources) {
        return [&, sources] { const Neighbors neighbors(team.size(), sources, {}); };
    };
    refused("a rank above the last", Status::argument, "not a member", make({team.size()}));
    refused("a rank below 0", Status::argument, "not a member", make({-1}));
    refused("a source named twice", Status::argument, "named twice", make({0, 0}));
    Neighbors no_neighbors(team.size(), {}, {});
    const std::size_t one = 1;
    refused("one block too many", Status::argument, "0 neighbors", [&] {
        static_cast<void>(
            no_neighbors.alltoallv(nullptr, {{&one, 1}, {}}, nullptr, {}, Type::int64));
    });
}

void run() {
    Runtime runtime;
    Team world = runtime.world();
    std::mt19937 random(5);
    int call = 0;
    for (int trial = 0; trial < 12; ++trial) {
        const Graph graph(world.size(), random);
        const auto own = Graph::at(world.rank());
        Neighbors neighbors(world.size(), graph.from[own], graph.to[own]);
        for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{20'000}})
            exchange(world, neighbors, count, call++);
        exchange_with_counts(world, neighbors, call++);
    }
    for (const bool periodic : {false, true}) {
        const std::vector<Rank> extents{world.size(), 1};
        Neighbors neighbors = Neighbors::on_grid(extents, {periodic, false}, world.rank());
        exchange(world, neighbors, 7, call++);
    }
    stencils(world, call);
    refusals(world);
    const int wrong_anywhere = world.allreduce(wrong, Op::sum);
    if (world.rank() == 0 && wrong_anywhere == 0)
        fmt::print("{} ranks: all neighbors are right\n", world.size());
    runtime.finalize();
}

}  // namespace
}  // namespace weft::test

int main() {
    weft::test::run();
    return weft::test::wrong == 0 ? 0 : 1;
}
