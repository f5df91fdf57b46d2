// SPDX-License-Identifier: BSD-3-Clause
// teams.hpp - table of this rank's teams: makes and ends them.
//
// Idea     A team uses one of the regions of the segment, the same on all members. Members agree
//          about a free region when they make the team. Its id is the number of its region.
// Holds    A region is free on a rank when all members have left its team. The world is the first
//          team, and stays.
// Next     team.hpp for calls of a team; run/job/layout.hpp for regions.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/region.hpp"
#include "base/result.hpp"
#include "run/job/layout.hpp"
#include "run/team/team.hpp"

namespace weft::run {

/// An allgather of bytes among the members of a future team, in its order. Returns false
/// if it failed.
using Exchange = std::function<bool(const void* mine, void* all, std::size_t bytes)>;

/// Lock for calls that make or end teams and symmetric memory, if several threads call. They
/// agree with other ranks about free memory in several exchanges.
class SetupLock {
  public:
    using Hold = std::unique_lock<std::recursive_mutex>;

    explicit SetupLock(bool threads) : threads_(threads) {}
    [[nodiscard]] Hold take() { return threads_ ? Hold(mutex_) : Hold(); }

  private:
    const bool threads_;  ///< several may call at once
    std::recursive_mutex mutex_;
};

class Teams {
  public:
    /// `at_end` is called on this rank when a team ends. Call add_world() next.
    Teams(const TeamServices& services, SetupLock& setup,
          std::function<void(const Team& team)> at_end);

    void add_world();
    [[nodiscard]] Team& world() { return *teams_.front(); }

    /// Forms a team of members with the same color, ordered by key, then rank. Returns
    /// nullptr if color < 0. Fails on all members if one of the new teams has no common
    /// free region. Collective over the parent.
    [[nodiscard]] base::Result<Team*> split(Team& parent, int color, int key);
    /// Forms a team of the members that share memory with this one, in the same order. Collective.
    [[nodiscard]] base::Result<Team*> split_node(Team& parent);
    /// Makes a team. Collective over its members only, which need not share another team than the
    /// world. `job_ranks` are the members in the order of the team, including this rank, and equal
    /// on all. Fails on all members if they have no free region in common.
    [[nodiscard]] base::Result<Team*> create(std::vector<Rank> job_ranks, const Exchange& exchange);

    /// Ends the team and frees its memory. Collective; no call may be in flight. If the
    /// team has failed or fails now, this rank leaves it instead. Returns the failure of the last
    /// barrier. This rank must not use the team afterwards, unless Team::check_idle() failed.
    [[nodiscard]] base::Result<void> release(Team& team);
    /// Leaves a team without communication, except for a notice to its members. This rank
    /// makes no more calls on it; calls in flight continue. Its region is free here when all
    /// members have left.
    void leave(Team& team);

    /// Returns the regions that no team of this rank uses, as bits.
    [[nodiscard]] std::uint64_t free_regions() {
        end_left();
        return ~used_regions_ & kRegionMask;
    }

  private:
    struct SplitEntry;
    static constexpr std::uint64_t kRegionMask = (std::uint64_t{1} << SegmentLayout::kTeams) - 1;

    Team& add(std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick);
    void remove(Team& team);
    void end_left();
    [[nodiscard]] bool all_have_left(Team& team);
    [[nodiscard]] std::vector<Team*> abandoned_within(const Team& team) const;
    [[nodiscard]] base::Result<void> end_abandoned(const Team& parent,
                                                   const std::vector<SplitEntry>& entries);
    [[nodiscard]] SplitEntry own_entry(int color, int key);
    [[nodiscard]] static base::Result<std::vector<SplitEntry>> exchange(Team& parent,
                                                                        const SplitEntry& mine);
    [[nodiscard]] base::Result<std::vector<SplitEntry>> gather_entries(Team& parent, int color,
                                                                       int key);
    [[nodiscard]] static base::Result<void> check_regions(const std::vector<SplitEntry>& entries);
    [[nodiscard]] base::Tick tick_bound() const;

    const TeamServices services_;
    SetupLock& setup_;
    std::function<void(const Team& team)> at_end_;
    std::vector<std::unique_ptr<Team>> teams_;
    std::uint64_t used_regions_ = 0;
    std::uint64_t serials_ = 0;
    base::Tick retired_tick_ = 1;  ///< above the ticks of removed teams
};

}  // namespace weft::run
