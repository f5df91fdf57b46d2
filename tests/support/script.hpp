// SPDX-License-Identifier: BSD-3-Clause
// script.hpp - runs a list of calls on all ranks of a virtual job, in one thread.
//
// Idea     A rank makes the calls of one team in the order of the list, but the order of calls of
//          different teams may differ between ranks. A rank makes a blocking call only after all
//          earlier calls of the list, and makes no other call until the blocking call ends. So a
//          script hangs only if the engine has a fault.
// Holds    Each result is checked after the end of its call. A synchronizing call must not end on
//          any rank before all members have made it. After many steps without progress, the script
//          reports a hang and the step that each rank waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "tests/support/call.hpp"
#include "tests/support/virtual_job.hpp"

namespace weft::test {

struct ScriptOptions {
    std::uint64_t seed = 1;
    std::uint32_t lookahead = 16;         ///< entries, from the first unmade call, that may be next
    std::uint32_t outstanding_max = 64;   ///< limit of a rank's pending calls
    std::uint32_t block_percent = 30;     ///< share of blocking calls
    std::uint32_t in_place_percent = 30;  ///< share of calls with one buffer for input and output
    std::uint32_t eager_percent = 60;     ///< share of a rank's turns in which it makes calls
    bool in_segment = false;    ///< buffers are in the rank's segment, so they can be exposed
    bool keeps_memory = false;  ///< do not free buffers of ended calls: faulty programs use them
};

struct ScriptOutcome {
    std::vector<std::string> errors;  ///< wrong results, failed calls, hangs, bank violations
    std::uint64_t steps = 0;          ///< steps of the job
    std::size_t outstanding = 0;      ///< maximum number of calls in flight of a rank
    bool hung = false;
};

class Script {
  public:
    Script(VirtualJob& job, std::span<const TeamCall* const> calls, ScriptOptions options);
    [[nodiscard]] ScriptOutcome run();

  private:
    /// A call that a rank has made and whose result is not checked yet.
    struct Pending {
        std::size_t entry = 0;  ///< index in calls_
        Rank team_rank = 0;
        run::Operation* op = nullptr;
        std::vector<std::byte> memory;  ///< contains the buffers, unless they are in the segment
        std::byte* input = nullptr;
        std::byte* output = nullptr;
    };
    struct RankState {
        std::vector<std::size_t> calls;  ///< indices in calls_: calls of this rank's teams
        std::vector<bool> made;          ///< by index in `calls`
        std::size_t first_unmade = 0;    ///< index in `calls`
        std::deque<Pending> pending;
        bool blocked = false;  ///< the rank makes no call until calls_[blocked_on] ends
        std::size_t blocked_on = 0;

        [[nodiscard]] bool all_made() const { return first_unmade == calls.size(); }
    };

    // turn(), finish_ended() and make_one() return true if a call was made or has ended.
    bool turn(Rank rank);
    bool finish_ended(Rank rank);
    bool make_one(Rank rank);
    [[nodiscard]] std::size_t pick(const RankState& state);
    /// Makes the call at an index of RankState::calls.
    void make(Rank rank, std::size_t index, bool blocking);
    /// Checks the result of an ended call.
    void finish(Rank rank, Pending& pending);
    [[nodiscard]] bool done() const;
    void fail(std::string text);

    VirtualJob& job_;
    std::span<const TeamCall* const> calls_;
    ScriptOptions options_;
    base::Random random_;
    std::deque<RankState> ranks_;
    std::vector<std::vector<std::byte>> kept_;  ///< buffers of ended calls
    std::vector<Rank> made_count_;  ///< by entry: number of members that have made the call
    ScriptOutcome outcome_;
};

}  // namespace weft::test
