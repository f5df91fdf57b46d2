// SPDX-License-Identifier: BSD-3-Clause
// rank.hpp - one rank of a run: performs the acts and checks their results.
//
// Idea     Blocking calls use Engine::run(), like users' calls. Started calls are ended later in
//          any order. Persistent calls are started again on the same memory. Results are compared
//          with the reference; then the memory is spoilt, so that a late reader shows.
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
    std::span<const std::size_t> part;
    std::vector<Rank> made_by;        ///< by act: number of members that have made it
    std::vector<Rank> failed_before;  ///< by act: number that made it after a failed call
    std::map<std::size_t, std::deque<test::ExchangeSide>> exchanges;  ///< by act, by team rank
    std::uint64_t operations = 0;
};

class RankRun {
  public:
    RankRun(World& world, Script& script, Remote* remote, Rank rank)
        : world_(world),
          script_(script),
          remote_(remote),
          rank_(rank),
          random_(world.random.stream(100 + static_cast<std::uint64_t>(rank))) {}

    void go();

  private:
    static constexpr std::size_t kNone = ~std::size_t{0};

    /// A call and its memory.
    struct Call {
        std::size_t act = kNone;
        const LiveTeam* team = nullptr;
        std::uint32_t number = 0;  ///< of the team's calls
        Rank member = 0;
        const run::BoundProgram* program = nullptr;
        run::Operation* op = nullptr;
        std::vector<std::byte> memory;
        std::byte* input = nullptr;
        std::byte* output = nullptr;
        bool judged = true;  ///< its result must be right
    };

    void perform(std::size_t act);
    void collective(std::size_t act, std::uint32_t number, Form form);
    void exchange(std::size_t act);
    void make_team(std::uint32_t team);
    void free_team(std::uint32_t team);
    bool vacate();
    bool all_entered();
    bool barrier();
    void close_disagreement();

    Call& new_call(std::size_t act, const LiveTeam& team, std::uint32_t number);
    Call& held_call(std::size_t act, const LiveTeam& team, std::uint32_t number);
    void give_memory(Call& call, std::size_t bytes);
    [[nodiscard]] bool watched(const Call& call) const {
        return world_.scenario.watched && call.team->sketch->lives;
    }
    void issue(Call& call, run::Registers registers, const run::Reducer& reducer);
    bool run_blocking(Call& call, run::Registers registers, const run::Reducer& reducer);
    void finish(Call& call);
    void judge(Call& call);
    void failed(const Call& call, const base::Failure& failure);
    void finish_all(const LiveTeam* team);
    void reap();

    World& world_;
    Script& script_;
    Remote* remote_;
    Rank rank_;
    base::Random random_;
    std::uint32_t occupant_ = ~std::uint32_t{0};  ///< of the region that later teams share
    bool failed_ = false;                         ///< a call has failed
    std::set<const LiveTeam*> failed_teams_;      ///< teams with a failed call
    bool quarrelled_ = false;  ///< team 0 disagrees: teams are not made or freed then
    std::deque<Call> calls_;
    std::vector<Call*> open_;
    std::map<std::pair<const LiveTeam*, std::uint32_t>, Call*> held_;
};

}  // namespace weft::farm
