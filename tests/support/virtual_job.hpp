// SPDX-License-Identifier: BSD-3-Clause
// virtual_job.hpp - N engines on one virtual network, with teams and watched banks.
//
// Idea     A job is what N processes would be: a wire and an engine per rank, teams with regions at
//          the same offset on all members, memory to call from. step() lets one random rank poll
//          once; slow ranks, fast ranks and ranks that stand still for a while follow from the
//          seed.
// Holds    One thread, unless the network has threads; then each rank's engine belongs to its
//          thread and the banks are not watched.
// Next     call.hpp for calls; script.hpp runs whole scripts of them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/execute/engine.hpp"
#include "tests/support/bank_watch.hpp"
#include "tests/support/notify_watch.hpp"
#include "tests/support/virtual_fabric.hpp"
#include "tests/support/virtual_wire.hpp"

namespace weft::run {
extern template class Engine<test::VirtualWire>;  // compiled in virtual_job.cpp
}  // namespace weft::run

namespace weft::test {

using VirtualEngine = run::Engine<VirtualWire>;
using WindowMaker = std::function<std::unique_ptr<run::Window>()>;

struct TeamPlan {
    std::vector<Rank> members = {};  ///< job ranks by team rank; empty: all ranks of the job
    base::RegionShape shape;
    base::Tick first_tick = 1;
    std::string barrier = "dissemination";
    WindowMaker cell_window;  ///< a faulty rule; the true one if not given
    std::array<WindowMaker, base::kBulkClasses> bulk_windows;
};

/// One team as its members see it.
struct VirtualTeam {
    std::uint32_t id = 0;
    std::vector<Rank> members;
    base::RegionShape shape;
    std::deque<run::BoundProgram> barriers;  ///< by team rank
    std::vector<run::TeamState*> states;     ///< by team rank

    [[nodiscard]] Rank size() const { return static_cast<Rank>(members.size()); }
    /// This job rank's place in the team, or -1.
    [[nodiscard]] Rank rank_of(Rank job_rank) const;
};

class VirtualJob {
  public:
    /// turn: of each engine; progress threads may help those that share it.
    explicit VirtualJob(VirtualOptions options, run::WatchdogOptions watchdog = {},
                        run::Turn::Kind turn = run::Turn::Kind::own);
    /// The real wire on a fabric.
    VirtualJob(VirtualOptions options, const FabricSetting& setting,
               run::WatchdogOptions watchdog = {});

    [[nodiscard]] Rank size() const { return network_.size(); }
    [[nodiscard]] VirtualNetwork& network() { return network_; }
    [[nodiscard]] VirtualEngine& engine(Rank rank) { return engines_[rank]; }
    [[nodiscard]] VirtualWire& wire(Rank rank) { return wires_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] BankWatch& watch() { return watch_; }
    /// Watches flags over a fabric; nullptr without one.
    [[nodiscard]] const NotifyWatch* notify_watch() const {
        return notify_watch_ ? &*notify_watch_ : nullptr;
    }
    /// What is under way between ranks.
    [[nodiscard]] std::size_t in_flight() const;

    /// Places the team's region after those made so far.
    const VirtualTeam& add_team(TeamPlan plan);
    [[nodiscard]] const VirtualTeam& team(std::size_t number) const { return teams_[number]; }
    /// Whether two members of the team map each other.
    [[nodiscard]] std::function<bool(Rank)> near(const VirtualTeam& team, Rank team_rank);

    /// Zeroed memory in the rank's segment, aligned to a cache line.
    std::byte* allocate(Rank rank, std::size_t bytes);

    /// A random rank's turn: `turn` may issue calls; then its engine polls. True if anything moved.
    bool step(const std::function<bool(Rank)>& turn);
    /// Whether anything moved between ranks since the last call.
    [[nodiscard]] bool take_moved();
    /// What all ranks wait for, one line each.
    [[nodiscard]] std::string describe();

  private:
    void draw_speeds();
    void add_engines(run::WatchdogOptions watchdog, run::Turn::Kind turn);

    VirtualNetwork network_;
    BankWatch watch_;
    std::unique_ptr<VirtualFabric> fabric_;
    std::optional<NotifyWatch> notify_watch_;
    std::deque<VirtualWire> wires_;
    std::deque<VirtualEngine> engines_;
    std::deque<VirtualTeam> teams_;
    std::vector<std::uint64_t> heap_used_;  ///< by rank
    base::Random random_;
    std::vector<std::uint32_t> speeds_;  ///< by rank: how often it has its turn
    std::uint64_t steps_ = 0;
};

}  // namespace weft::test
