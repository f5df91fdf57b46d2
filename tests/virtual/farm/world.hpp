// SPDX-License-Identifier: BSD-3-Clause
// world.hpp - the job of one run: network, engines, teams, and the scheduling of ranks.
//
// Idea     Ranks are fibers over one virtual network. Each call of a wire may switch to another
//          rank, so ranks interleave inside polls too. Speeds change from time to time, and a rank
//          may be idle for long. A dead rank is never picked again, and the others' wires report
//          its death some time later.
// Holds    The first error is kept. Memory of calls lives until the end of the run: after a failure
//          the network may still read it.
// Next     rank.hpp for a rank's acts; remote.hpp for one-sided calls.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tests/virtual/farm/fibers.hpp"
#include "tests/virtual/farm/scenario.hpp"
#include "tests/support/exchange.hpp"
#include "tests/support/virtual_job.hpp"

namespace weft::farm {

/// A team of the scenario and its calls, bound for all members.
struct LiveTeam {
    const TeamSketch* sketch = nullptr;
    test::VirtualTeam own;  ///< of a team that is made later
    const test::VirtualTeam* team = nullptr;
    std::deque<test::TeamCall> calls;
    std::vector<run::TeamState*> states;  ///< by team rank; nullptr: does not exist there

    [[nodiscard]] run::TeamState* state_of(Rank job_rank) const {
        const Rank member = team->rank_of(job_rank);
        return member < 0 ? nullptr : states[static_cast<std::size_t>(member)];
    }
};

class World {
  public:
    World(const Scenario& scenario, std::uint64_t schedule);

    /// Runs all bodies to their ends.
    void run();
    /// Pauses the running rank, so that others may run.
    void pause(Rank rank);
    /// Makes the rank die at one of its later pauses.
    void doom(Rank rank);
    void fail(std::string text) {
        if (wrong.empty()) wrong = std::move(text);
    }
    /// Counts progress of the scenario, to detect hangs.
    void note_deed() { ++deeds_; }
    /// Marks the rank as done. all_done() returns true after all living ranks are done and no
    /// operation is in flight.
    void note_done(Rank rank) { done_[static_cast<std::size_t>(rank)] = true; }
    [[nodiscard]] bool all_done() const;
    /// Returns true if a rank has died or will die, so that calls may fail.
    [[nodiscard]] bool mourning() const { return mourning_; }
    [[nodiscard]] test::VirtualJob& job() { return *job_; }

    /// Makes a member join a team that is made later.
    void join(LiveTeam& team, Rank rank);
    void leave(LiveTeam& team, Rank rank);

    const Scenario& scenario;
    base::Random random;
    std::deque<LiveTeam> teams;
    Fibers fibers;
    std::function<void(Rank)> on_pause;  ///< checks the data that has become visible
    std::string wrong;
    std::uint64_t switches = 0;
    std::uint64_t trace = 0;

  private:
    void make_job(std::uint64_t seed);
    void make_team(const TeamSketch& sketch);
    void plant(LiveTeam& team);
    [[nodiscard]] test::TeamPlan plan_of(const TeamSketch& sketch) const;
    [[nodiscard]] Rank pick();
    void bury();

    std::optional<test::VirtualJob> job_;
    std::uint64_t later_region_ = 0;  ///< of all teams that are made later
    base::Tick later_tick_ = 1;
    std::vector<std::uint32_t> speeds_;
    std::vector<bool> done_;
    std::vector<bool> dead_;
    std::vector<int> doomed_;              ///< by rank: pauses until its death; < 0: never
    std::optional<std::uint64_t> burial_;  ///< switch at which the others learn of it
    Rank corpse_ = -1;
    bool mourning_ = false;
    std::uint64_t deeds_ = 0;
};

}  // namespace weft::farm
