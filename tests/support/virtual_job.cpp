// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/virtual_job.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/registry.hpp"
#include "plan/schedule/localize.hpp"
#include "run/bind/bind.hpp"
#include "tests/support/fabric_over.hpp"

namespace weft::run {
template class Engine<test::VirtualWire>;
}  // namespace weft::run

namespace weft::test {

namespace {

constexpr std::uint64_t kLine = 64;            ///< bytes of a cache line
constexpr std::uint64_t kStepsPerSpeed = 700;  ///< steps between random changes of all speeds

}  // namespace

Rank VirtualTeam::rank_of(Rank job_rank) const {
    const auto found = std::ranges::find(members, job_rank);
    return found == members.end() ? -1 : static_cast<Rank>(found - members.begin());
}

VirtualJob::VirtualJob(VirtualOptions options, run::WatchdogOptions watchdog, run::TurnKind turn)
    : network_(std::move(options)) {
    for (Rank rank = 0; rank < network_.size(); ++rank) wires_.emplace_back(network_, rank);
    if (!network_.has_threads())
        network_.observe([this](const DeliveredWrite& write) { watch_.check_write(write); });
    add_engines(std::move(watchdog), turn);
}

VirtualJob::VirtualJob(VirtualOptions options, const FabricSetting& setting,
                       run::WatchdogOptions watchdog)
    : network_(std::move(options)) {
    const std::vector<std::byte*> segments = segments_of(network_);
    fabric_ = std::make_unique<VirtualFabric>(
        VirtualFabricOptions{.segments = segments,
                             .segment_bytes = network_.segment_bytes(),
                             .seed = network_.seed(),
                             .setting = setting});
    notify_watch_.emplace(segments, watch_);
    for (Rank rank = 0; rank < size(); ++rank) {
        auto wire = make_wire(network_, *fabric_, rank, [](auto&&... arguments) {
            return std::make_unique<link::Wire>(std::move(arguments)...);
        });
        wires_.emplace_back(network_, rank, std::move(wire), *notify_watch_);
    }
    add_engines(std::move(watchdog), run::TurnKind::own);
}

void VirtualJob::add_engines(run::WatchdogOptions watchdog, run::TurnKind turn) {
    heap_used_.resize(static_cast<std::size_t>(size()), run::Mailboxes::kEnd);
    if (!watchdog.report) watchdog.report = [](const std::string&) {};
    for (Rank rank = 0; rank < network_.size(); ++rank)
        engines_.emplace_back(wires_[static_cast<std::size_t>(rank)], rank,
                              run::EngineOptions{.watchdog = watchdog, .turn = turn});
    draw_speeds();
}

std::size_t VirtualJob::in_flight() const {
    std::size_t count = network_.in_flight() + (fabric_ ? fabric_->in_flight() : 0);
    for (const VirtualWire& wire : wires_) count += wire.in_flight();
    return count;
}

std::function<bool(Rank)> VirtualJob::near(const VirtualTeam& team, Rank team_rank) {
    return [this, members = team.members, team_rank](Rank peer) {
        return network_.is_near(members[team_rank], members[peer]);
    };
}

const VirtualTeam& VirtualJob::add_team(TeamPlan plan) {
    VirtualTeam& team = teams_.emplace_back();
    team.id = static_cast<std::uint32_t>(teams_.size() - 1);
    team.members = plan.members.empty() ? network_.ranks() : std::move(plan.members);
    team.shape = plan.shape;
    const std::uint64_t region = *std::ranges::max_element(heap_used_);
    const std::uint64_t end = region + (plan.shape.bytes() + kLine - 1) / kLine * kLine;
    WEFT_CHECK(end <= network_.segment_bytes(), end, network_.segment_bytes());
    std::ranges::fill(heap_used_, end);
    const auto spec = collectives::parse_spec(plan.barrier);
    for (Rank rank = 0; rank < team.size(); ++rank) {
        const plan::Program program = plan::localize(
            *collectives::generate("barrier", *spec, {.rank = rank, .size = team.size()}),
            near(team, rank));
        team.barriers.push_back(
            *run::bind(program, {.description = "barrier", .shape = plan.shape}));
        run::TeamSetup setup{.id = team.id,
                             .rank = rank,
                             .job_ranks = team.members,
                             .region = region,
                             .shape = plan.shape,
                             .first_tick = plan.first_tick & base::kTickMask,
                             .barrier = &team.barriers.back()};
        if (plan.cell_window) setup.cell_window = plan.cell_window();
        for (std::size_t number = 0; number < base::kBulkClasses; ++number)
            if (plan.bulk_windows[number]) setup.bulk_windows[number] = plan.bulk_windows[number]();
        team.states.push_back(&engine(team.members[rank]).add_team(std::move(setup)));
    }
    watch_.add_team({team.states.begin(), team.states.end()});
    return team;
}

std::byte* VirtualJob::allocate(Rank rank, std::size_t bytes) {
    const std::uint64_t offset = heap_used_[rank];
    heap_used_[rank] += (bytes + kLine - 1) / kLine * kLine;
    WEFT_CHECK(heap_used_[rank] <= network_.segment_bytes(), heap_used_[rank]);
    return network_.segment(rank) + offset;
}

void VirtualJob::draw_speeds() {
    speeds_.resize(static_cast<std::size_t>(size()));
    for (std::uint32_t& speed : speeds_) {
        const double unit = random_.unit();
        speed =
            random_.chance(1, 10) ? 0 : 1 + static_cast<std::uint32_t>(unit * unit * unit * 500);
    }
    if (std::ranges::count(speeds_, 0U) == size()) speeds_.front() = 1;
}

bool VirtualJob::step(const std::function<bool(Rank)>& act) {
    if (++steps_ % kStepsPerSpeed == 0) draw_speeds();
    std::uint64_t at = random_.below(std::accumulate(speeds_.begin(), speeds_.end(), 0U));
    Rank rank = 0;
    while (at >= speeds_[rank]) at -= speeds_[rank++];
    bool moved = act(rank);
    if (random_.chance(1, 8)) return moved;  // the rank computes, without a progress call
    moved = engine(rank).poll() || moved;
    watch_.check_publications(rank);
    return take_moved() || moved;
}

bool VirtualJob::take_moved() {
    const bool in_fabric = fabric_ && fabric_->take_moved();
    return network_.take_moved() || in_fabric;
}

std::string VirtualJob::describe() {
    std::string text;
    for (Rank rank = 0; rank < size(); ++rank) {
        for (const run::WaitingLane& stuck : engine(rank).describe_running())
            text += run::to_text(stuck, rank) + "\n";
    }
    return text;
}

}  // namespace weft::test
