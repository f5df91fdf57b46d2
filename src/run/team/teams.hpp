// SPDX-License-Identifier: BSD-3-Clause
// teams.hpp - makes, ends and revokes the teams of this rank; agreements of survivors.
//
// Idea     A team uses the region with the same number on all members. When the members make the
//          team, they agree on a region that is free on all of them. Its number is the team's id.
// Holds    A region is free on a rank when all members have left its team. The world never ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/region.hpp"
#include "base/result.hpp"
#include "run/agree/agreement.hpp"
#include "run/job/layout.hpp"
#include "run/team/team.hpp"

namespace weft::run {

/// Allgather of bytes among the members of a future team, in team order. Returns false on failure.
using Exchange = std::function<bool(const void* mine, void* all, std::size_t bytes)>;

/// Lock for functions that make or end teams and symmetric memory: exchanges by which ranks agree
/// on free memory must not mix with exchanges of another thread.
class SetupLock {
  public:
    using Hold = std::unique_lock<std::recursive_mutex>;
    explicit SetupLock(bool threads) : threads_(threads) {}
    [[nodiscard]] Hold take() { return threads_ ? Hold(mutex_) : Hold(); }

  private:
    const bool threads_;  ///< several threads call the library; if false, take() does not lock
    std::recursive_mutex mutex_;
};

class Teams {
  public:
    /// `at_end` is called when a team ends on this rank. The caller must call add_world() next.
    Teams(const TeamServices& services, SetupLock& setup,
          std::function<void(const Team& team)> at_end);

    void add_world();
    [[nodiscard]] Team& world() { return *teams_.front(); }

    /// Makes a team of the members with equal color, ordered by key, then by rank. Returns nullptr
    /// if color < 0. Fails on all members of the parent if one of the new teams has no region that
    /// is free on all its members. Collective over the parent.
    [[nodiscard]] base::Result<Team*> split(Team& parent, int color, int key);
    /// Makes a team of the members start, start + stride, ..., in this order. Returns nullptr on
    /// other members. Collective over the parent, with equal arguments.
    [[nodiscard]] base::Result<Team*> split_strided(Team& parent, Rank start, Rank stride,
                                                    Rank size);
    /// Makes a team of the members that share memory with this rank, in the same order. Collective.
    [[nodiscard]] base::Result<Team*> split_node(Team& parent);
    /// Makes a team. Collective over its members only. All pass the same `job_ranks`: the members
    /// in team order. Fails on all members if no region is free on all of them.
    [[nodiscard]] base::Result<Team*> create(std::vector<Rank> job_ranks, const Exchange& exchange);

    /// Makes a team of the survivors, in the same order. Collective over the survivors.
    [[nodiscard]] base::Result<Team*> shrink(Team& parent);

    /// Ends the team and frees its memory. Collective. If a call is in flight, fails and changes
    /// nothing. If the team has failed or its last barrier fails, this rank leaves it by leave();
    /// returns the failure of the barrier. The team must not be used afterwards.
    [[nodiscard]] base::Result<void> release(Team& team);
    /// Notifies the members that this rank leaves the team, without waiting. This rank must make no
    /// more calls on it; calls in flight continue. The region is free when all members have left.
    void leave(Team& team);

    /// Ends teams that all members have left. Returns a bit mask of the regions that are then free.
    [[nodiscard]] std::uint64_t free_regions() {
        end_left_teams();
        return ~used_regions_ & kRegionMask;
    }

  private:
    struct SplitEntry;
    static constexpr std::uint64_t kRegionMask = (std::uint64_t{1} << SegmentLayout::kTeams) - 1;
    Team& add(std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick);
    void remove(Team& team);
    void end_left_teams();
    [[nodiscard]] bool all_have_left(Team& team);
    [[nodiscard]] std::vector<Team*> abandoned_within(const Team& team) const;
    [[nodiscard]] SplitEntry own_entry(int color, int key);
    [[nodiscard]] static base::Result<std::vector<SplitEntry>> exchange(Team& parent,
                                                                        const SplitEntry& mine);
    [[nodiscard]] base::Result<std::vector<SplitEntry>> gather_entries(Team& parent, int color,
                                                                       int key);
    [[nodiscard]] base::Tick tick_bound() const;

    const TeamServices& services_;
    SetupLock& setup_;
    std::function<void(const Team& team)> at_end_;
    std::vector<std::unique_ptr<Team>> teams_;
    std::uint64_t used_regions_ = 0;  ///< bit mask of the ids of teams_
    std::uint64_t serials_ = 0;       ///< last Team::serial()
    base::Tick retired_tick_ = 1;     ///< above all ticks of removed teams
};

// --- teams of survivors of deaths ---

/// Fails the team on all members. Not collective.
[[nodiscard]] base::Result<void> revoke(Team& team);
/// Agrees with the surviving members on the bitwise and of the words and the maximum of the bounds.
/// Collective over the survivors. Works on failed teams.
[[nodiscard]] base::Result<Ballot> agree(Team& team, std::uint64_t word, std::uint64_t bound = 0);
/// Agrees with the surviving members that all have called this function, and waits until no message
/// between them is under way. After that, a rank may close the network.
[[nodiscard]] base::Result<void> agree_at_end(Team& world);
/// Returns the members that this rank knows to be dead.
[[nodiscard]] RankSet dead_members(const Team& team);

}  // namespace weft::run
