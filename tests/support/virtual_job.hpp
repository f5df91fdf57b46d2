// SPDX-License-Identifier: BSD-3-Clause
// virtual_job.hpp - N engines on one virtual network, with teams; a BankWatch checks their writes.
//
// Idea     A job models N processes: a wire and an engine for each rank, teams with regions at
//          the same offset on all members, and memory for buffers. In each step(), one random rank
//          issues calls and usually polls. The seed makes some ranks slow, fast or idle, and
//          changes this after some hundred steps.
// Holds    One thread, unless the network has threads. Then each rank's thread owns its engine, and
//          writes are not checked.
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
    WindowMaker cell_window;  ///< makes the rule for the reuse of cells; unset: the library's rule
    std::array<WindowMaker, base::kBulkClasses> bulk_windows;  ///< rules for bulk banks, by class
};

/// A team with the states of all members.
struct VirtualTeam {
    std::uint32_t id = 0;
    std::vector<Rank> members;
    base::RegionShape shape;
    std::deque<run::BoundProgram> barriers;  ///< by team rank
    std::vector<run::TeamState*> states;     ///< by team rank

    [[nodiscard]] Rank size() const { return static_cast<Rank>(members.size()); }
    /// Returns this job rank's rank in the team, or -1.
    [[nodiscard]] Rank rank_of(Rank job_rank) const;
};

class VirtualJob {
  public:
    /// Makes a job. turn: which threads may use an engine.
    explicit VirtualJob(VirtualOptions options, run::WatchdogOptions watchdog = {},
                        run::TurnKind turn = run::TurnKind::own);
    /// Makes a job whose puts go through the real wire and a virtual fabric.
    VirtualJob(VirtualOptions options, const FabricSetting& setting,
               run::WatchdogOptions watchdog = {});

    [[nodiscard]] Rank size() const { return network_.size(); }
    [[nodiscard]] VirtualNetwork& network() { return network_; }
    [[nodiscard]] VirtualEngine& engine(Rank rank) { return engines_[rank]; }
    [[nodiscard]] VirtualWire& wire(Rank rank) { return wires_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] BankWatch& watch() { return watch_; }
    /// Returns the check of the fabric's flags, or nullptr without a fabric.
    [[nodiscard]] const NotifyWatch* notify_watch() const {
        return notify_watch_ ? &*notify_watch_ : nullptr;
    }
    /// Returns the number of operations in flight between ranks.
    [[nodiscard]] std::size_t in_flight() const;

    /// Adds a team. Its region follows the earlier teams' regions.
    const VirtualTeam& add_team(TeamPlan plan);
    [[nodiscard]] const VirtualTeam& team(std::size_t number) const { return teams_[number]; }
    /// Returns a function that returns true for members on the node of `team_rank`.
    [[nodiscard]] std::function<bool(Rank)> near(const VirtualTeam& team, Rank team_rank);

    /// Returns zeroed memory in the rank's segment, aligned to a cache line.
    std::byte* allocate(Rank rank, std::size_t bytes);

    /// Ends a rank, whose engine must not be used any more. Some of its messages are lost.
    void kill(Rank rank) {
        network_.kill(rank);
        if (fabric_) fabric_->kill(rank);
    }

    /// Selects a random rank. Calls `act`, which may issue calls of the rank and returns true on
    /// progress; then the rank's engine polls, in 7 of 8 steps. Returns true on any progress.
    bool step(const std::function<bool(Rank)>& act);
    /// Returns true if any operation between ranks has progressed since the last call.
    [[nodiscard]] bool take_moved();
    /// Returns one line for each lane that waits, on all ranks.
    [[nodiscard]] std::string describe();

  private:
    void draw_speeds();
    void add_engines(run::WatchdogOptions watchdog, run::TurnKind turn);

    VirtualNetwork network_;
    BankWatch watch_;
    std::unique_ptr<VirtualFabric> fabric_;
    std::optional<NotifyWatch> notify_watch_;
    std::deque<VirtualWire> wires_;
    std::deque<VirtualEngine> engines_;
    std::deque<VirtualTeam> teams_;
    std::vector<std::uint64_t> heap_used_;  ///< by rank: first free offset in its segment
    base::Random random_ = base::Random(network_.seed()).stream(1);
    std::vector<std::uint32_t> speeds_;  ///< by rank: weight in the choice of the next rank
    std::uint64_t steps_ = 0;
};

}  // namespace weft::test
