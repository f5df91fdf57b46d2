// SPDX-License-Identifier: BSD-3-Clause
// rank.hpp - one rank of a run: performs the acts and checks their results.
//
// Idea     Blocking calls use Engine::run(), like users' calls. Started calls are ended later in
//          any order. Persistent calls are started again on the same memory. Results are compared
//          with the reference; then the memory is overwritten, so that a late read gives a wrong
//          result.
// Next     world.hpp; remote.hpp for one-sided acts.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "tests/virtual/farm/remote.hpp"
#include "tests/virtual/farm/world.hpp"

namespace weft::farm {

/// Data that all ranks of a run share, in addition to the world.
struct Script {
    std::span<const std::size_t> part;  ///< indices of the acts to perform, ascending
    std::vector<Rank> made_by;          ///< by act: number of members that have made the call
    std::vector<Rank> failed_before;    ///< by act: number of members with an earlier failed call
    std::map<std::size_t, std::deque<test::ExchangeSide>> exchanges;  ///< by act, by team rank
    std::uint64_t operations = 0;  ///< acts performed; a call of a team counts once
};

class RankRun {
  public:
    RankRun(World& world, Script& script, Remote* remote, Rank rank)
        : world_(world),
          script_(script),
          remote_(remote),
          rank_(rank),
          random_(world.random.stream(100 + static_cast<std::uint64_t>(rank))) {}

    void run();

  private:
    static constexpr std::size_t kNone = ~std::size_t{0};  ///< a barrier that is no act

    /// A call and its memory.
    struct Call {
        std::size_t act = kNone;
        const LiveTeam* team = nullptr;
        std::uint32_t number = 0;  ///< index in the team's calls
        Rank member = 0;           ///< this rank's team rank
        const run::BoundProgram* program = nullptr;
        run::Operation* op = nullptr;
        std::vector<std::byte> memory;
        std::byte* input = nullptr;
        std::byte* output = nullptr;
        bool must_be_right = true;  ///< false: its result is not checked
    };

    void perform(std::size_t act);
    void collective(std::size_t act, std::uint32_t number, Form form);
    void exchange(std::size_t act);
    void make_team(std::uint32_t team);
    void free_team(std::uint32_t team);
    bool leave_later_team();
    bool all_entered();
    bool barrier();
    void close_disagreement();

    Call& new_call(std::size_t act, const LiveTeam& team, std::uint32_t number);
    Call& held_call(std::size_t act, const LiveTeam& team, std::uint32_t number);
    void allocate_buffers(Call& call, std::size_t bytes);
    [[nodiscard]] bool watched(const Call& call) const {
        return world_.scenario.watched && call.team->sketch->from_start;
    }
    void issue(Call& call, run::Registers registers, const run::Reducer& reducer);
    bool run_blocking(Call& call, run::Registers registers, const run::Reducer& reducer);
    void finish(Call& call);
    void judge(Call& call);
    void failed(const Call& call, const base::Failure& failure);
    void finish_all(const LiveTeam* team);
    void poll_open_calls();

    World& world_;
    Script& script_;
    Remote* remote_;  ///< nullptr: no one-sided calls in this scenario
    Rank rank_;
    base::Random random_;
    std::uint32_t later_team_ = ~std::uint32_t{0};  ///< this rank's later team; ~0: none
    bool failed_ = false;                           ///< a call has failed
    std::set<const LiveTeam*> failed_teams_;        ///< teams with a failed call
    bool team0_disagrees_ = false;  ///< or a reduction of team 0 throws; stops changes of teams
    std::deque<Call> calls_;
    std::vector<Call*> open_;                                          ///< started, not finished
    std::map<std::pair<const LiveTeam*, std::uint32_t>, Call*> held_;  ///< persistent calls
};

}  // namespace weft::farm
