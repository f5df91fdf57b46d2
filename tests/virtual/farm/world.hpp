// SPDX-License-Identifier: BSD-3-Clause
// world.hpp - the job of one run: network, engines, teams, and the scheduling of ranks.
//
// Idea     Ranks are fibers over one virtual network. Each call of a wire may switch to another
//          rank, so ranks interleave inside polls too. The speeds of ranks change from time to
//          time, and a rank may be idle for long. A dead rank never runs again; the wires of the
//          other ranks report its death some time later.
// Holds    Only the first error is kept. Memory of calls is kept until the end of the run, because
//          after a failure the network may still read it.
// Next     rank.hpp for a rank's acts; remote.hpp for one-sided calls.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/exchange.hpp"
#include "tests/support/virtual_job.hpp"
#include "tests/virtual/farm/fibers.hpp"
#include "tests/virtual/farm/scenario.hpp"

namespace weft::farm {

/// A team of the scenario and its calls, bound for all members.
struct LiveTeam {
    const TeamSketch* sketch = nullptr;
    test::VirtualTeam own;  ///< the team if it is a later team (TeamSketch); else empty
    const test::VirtualTeam* team = nullptr;  ///< `own` or a team of the job
    std::deque<test::TeamCall> calls;
    std::vector<run::TeamState*> states;  ///< state at each team rank; nullptr: not made

    [[nodiscard]] run::TeamState* state_of(Rank job_rank) const {
        const Rank member = team->rank_of(job_rank);
        return member < 0 ? nullptr : states[static_cast<std::size_t>(member)];
    }
};

/// The job of a run.
class World {
  public:
    World(const Scenario& scenario, std::uint64_t schedule);

    /// Runs all fibers until they have ended or the first error.
    void run();
    /// Pauses the running rank, so that other ranks may run.
    void pause(Rank rank);
    /// Makes the rank die at one of its later pauses.
    void schedule_death(Rank rank);
    /// Reports an error, which ends the run.
    void fail(std::string text) {
        if (wrong.empty()) wrong = std::move(text);
    }
    /// Counts progress of ranks, to detect hangs.
    void note_progress() { ++progress_count_; }
    /// Marks the rank as done. all_done() returns true after all ranks are done or dead and no
    /// operation is in flight. With deaths or inquiries, operations may remain in flight.
    void note_done(Rank rank) { done_[static_cast<std::size_t>(rank)] = true; }
    [[nodiscard]] bool all_done() const;
    /// Returns true if a rank has died or will die, so that calls may fail.
    [[nodiscard]] bool expects_death() const { return expects_death_; }
    [[nodiscard]] test::VirtualJob& job() { return *job_; }

    /// Makes the rank join a later team, or leave it; no effect if it is not a member.
    void join(LiveTeam& team, Rank rank);
    void leave(LiveTeam& team, Rank rank);

    const Scenario& scenario;
    base::Random random;
    std::deque<LiveTeam> teams;
    Fibers fibers;
    std::function<void(Rank)> on_pause;  ///< called before each pause of a rank
    std::string wrong;                   ///< first error; empty: none
    std::uint64_t switches = 0;          ///< number of switches between ranks
    std::uint64_t trace = 0;             ///< hash of the order in which ranks ran

  private:
    void make_job(std::uint64_t seed);
    void make_team(const TeamSketch& sketch);
    void plant_fault(LiveTeam& team);
    [[nodiscard]] test::TeamPlan plan_of(const TeamSketch& sketch) const;
    /// Returns the rank to run next, at random by speeds_; -1 if no rank can run.
    [[nodiscard]] Rank pick();
    void report_death();

    std::optional<test::VirtualJob> job_;
    std::uint64_t later_region_ = 0;     ///< offset of the region that all later teams use
    base::Tick later_tick_ = 1;          ///< first tick of the next team in this region
    std::vector<std::uint32_t> speeds_;  ///< weight of each rank in the choice of the next
    std::vector<bool> done_;
    std::vector<bool> dead_;
    std::vector<int> pauses_left_;                  ///< pauses until each death; < 0: never
    std::optional<std::uint64_t> report_death_at_;  ///< switch at which wires report the death
    Rank dead_rank_ = -1;
    bool expects_death_ = false;
    std::uint64_t progress_count_ = 0;
};

}  // namespace weft::farm
