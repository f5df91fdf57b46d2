// SPDX-License-Identifier: BSD-3-Clause
// rank.hpp - one rank of a run: performs the acts of the scenario and checks their results.
//
// Idea     Blocking calls use Engine::run(), like users' calls. Started calls are finished later in
//          any order. Persistent calls are started again on the same memory. Results are compared
//          with the reference. Then the call's memory is overwritten, so that a late read of a peer
//          gives a wrong result.
// Next     world.hpp; remote.hpp for one-sided acts.
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "tests/virtual/farm/remote.hpp"
#include "tests/virtual/farm/world.hpp"

namespace weft::farm {

/// Data that all ranks of a run share, in addition to the world.
struct Script {
    std::span<const std::size_t> part;  ///< indices of the acts to perform, ascending
    std::vector<Rank> made_by;          ///< number of members that have made the call of each act
    std::vector<Rank> failed_before;    ///< number of members with a failed call before each act
    std::map<std::size_t, std::deque<test::ExchangeSide>> exchanges;  ///< sides of each act
    std::uint64_t operations = 0;  ///< one-sided calls, and collectives (once for all members)
};

/// The body of a rank's fiber.
class RankRun {
  public:
    RankRun(World& world, Script& script, Remote* remote, Rank rank)
        : world_(world),
          script_(script),
          remote_(remote),
          rank_(rank),
          random_(world.random.stream(100 + static_cast<std::uint64_t>(rank))) {}

    /// Performs all acts of the script, then polls until all ranks are done.
    void run();

  private:
    static constexpr std::size_t kNoAct = ~std::size_t{0};  ///< barrier outside the script
    static constexpr std::uint32_t kNoTeam = ~std::uint32_t{0};

    /// A call and its memory.
    struct Call {
        std::size_t act = kNoAct;
        const LiveTeam* team = nullptr;
        std::uint32_t number = 0;  ///< index in the team's calls
        Rank member = 0;           ///< this rank's team rank
        const run::BoundProgram* program = nullptr;
        run::Operation* op = nullptr;   ///< set while a started call is not finished
        std::vector<std::byte> memory;  ///< buffers, unless they are in the segment
        std::byte* input = nullptr;
        std::byte* output = nullptr;
        bool must_succeed = true;  ///< false: ranks disagree or throw; the result is not checked
    };

    void perform(std::size_t act);
    /// Makes a collective call of the act's team: the call of index `number`.
    void collective(std::size_t act, std::uint32_t number, Form form);
    void exchange(std::size_t act);
    void make_team(std::uint32_t team);
    void free_team(std::uint32_t team);
    bool leave_later_team();
    bool all_entered();
    bool barrier();
    void check_disagreements();

    Call& new_call(std::size_t act, const LiveTeam& team, std::uint32_t number);
    Call& persistent_call(std::size_t act, const LiveTeam& team, std::uint32_t number);
    /// Chooses at random whether the call is in place and whether its buffers are in the segment.
    void allocate_buffers(Call& call, std::size_t bytes);
    /// Returns true if the bank watch records the call.
    [[nodiscard]] bool watched(const Call& call) const {
        return world_.scenario.watched && call.team->sketch->from_start;
    }
    void start(Call& call, run::Registers registers, const run::Reducer& reducer);
    bool run_blocking(Call& call, run::Registers registers, const run::Reducer& reducer);
    /// Waits for the end of a started call and checks its result.
    void finish(Call& call);
    void check_result(Call& call);
    void record_failure(const Call& call, const base::Failure& failure);
    void finish_all(const LiveTeam* team);
    void poll_open_calls();

    World& world_;
    Script& script_;
    Remote* remote_;  ///< nullptr: no one-sided calls in this scenario
    Rank rank_;
    base::Random random_;
    std::uint32_t later_team_ = kNoTeam;      ///< index of the later team that this rank is in
    bool failed_ = false;                     ///< a call has failed
    std::set<const LiveTeam*> failed_teams_;  ///< teams with a failed call
    bool team0_fails_ = false;  ///< a call of team 0 disagrees or throws: teams no longer change
    std::deque<Call> calls_;
    std::vector<Call*> open_;  ///< started, not finished
    std::map<std::pair<const LiveTeam*, std::uint32_t>, Call*> persistent_calls_;
};

}  // namespace weft::farm
