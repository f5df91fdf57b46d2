// SPDX-License-Identifier: BSD-3-Clause
// stencil.cpp - weft::Stencil, by run::StencilExchange.
#include "weft/stencil.hpp"

#include "api/cpp/links.hpp"
#include "run/team/stencil_exchange.hpp"

namespace weft {

namespace {

using Data = run::StencilExchange::Data;
using collectives::NeighborWay;

/// A handle whose link is accessible.
class OpenTeam : public Team {
  public:
    explicit OpenTeam(Team team) : Team(std::move(team)) {}
    /// Returns the team of the handle. Throws an Error if it has ended.
    [[nodiscard]] run::Team& get() const { return detail::team_for_call(link_); }
};

}  // namespace

struct Stencil::State {
    OpenTeam team;
    run::StencilExchange exchange;

    void run(Data data, const void* in, void* out, std::size_t count, Type type) {
        static_cast<void>(team.get());  // refuses a team that has ended
        detail::succeed(exchange.run(data, in, out, count, type));
    }
    [[nodiscard]] Way way_of(Data data, std::size_t count, Type type) {
        static_cast<void>(team.get());
        const auto way = detail::succeed(exchange.way_of(data, count, type));
        return way == NeighborWay::direct ? Way::direct : Way::combined;
    }
};

Stencil::Stencil(Team team, std::span<const Rank> extents, const std::vector<bool>& periodic,
                 Shape shape, int reach) {
    const OpenTeam open(std::move(team));
    run::Team& members = open.get();
    auto stencil = detail::succeed(
        run::grid_stencil(members.size(), std::vector<Rank>(extents.begin(), extents.end()),
                          periodic, shape == Shape::star, reach));
    state_.reset(new State{open, {members, std::move(stencil)}});
}
Stencil::Stencil(Stencil&& other) noexcept = default;
Stencil& Stencil::operator=(Stencil&& other) noexcept = default;
Stencil::~Stencil() = default;

const std::vector<Rank>& Stencil::neighbors() const {
    return state_->exchange.neighbors();
}

void Stencil::alltoall(const void* in, void* out, std::size_t count, Type type) {
    state_->run(Data::own, in, out, count, type);
}
void Stencil::allgather(const void* in, void* out, std::size_t count, Type type) {
    state_->run(Data::same, in, out, count, type);
}

void Stencil::set_way(Way way) {
    if (way == Way::predicted)
        state_->exchange.force({});
    else
        state_->exchange.force(way == Way::direct ? NeighborWay::direct : NeighborWay::combined);
}
Stencil::Way Stencil::alltoall_way(std::size_t count, Type type) {
    return state_->way_of(Data::own, count, type);
}
Stencil::Way Stencil::allgather_way(std::size_t count, Type type) {
    return state_->way_of(Data::same, count, type);
}

}  // namespace weft
