// SPDX-License-Identifier: BSD-3-Clause
// script.hpp - a list of calls, as a program of N ranks makes them, run to its end in one thread.
//
// Idea     Each rank makes its calls of one team in the order of the list. Calls of different teams
//          may change their order from rank to rank, as started calls may. A rank makes a blocking
//          call only after all earlier calls of the list, and makes no other until it is done. So a
//          script can hang only by a fault of the engine.
// Holds    Each result is compared with the reference when its call is done. A synchronizing call
//          must not be done on any rank before all ranks have made it. A long time without progress
//          is reported as a hang, with the step that every rank waits for.
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
    std::uint32_t lookahead = 16;  ///< entries by which other teams' calls may be early
    std::uint32_t outstanding_max = 64;
    std::uint32_t block_percent = 30;
    std::uint32_t in_place_percent = 30;
    std::uint32_t eager_percent = 60;  ///< turns in which a rank makes calls
    bool in_segment = false;    ///< buffers are in the rank's segment, so they can be exposed
    bool keeps_memory = false;  ///< of ended calls, for faulty programs that still use it
};

struct ScriptOutcome {
    std::vector<std::string> errors;  ///< wrong results, failed calls, hangs, early writes
    std::uint64_t steps = 0;
    std::size_t outstanding = 0;  ///< maximum over ranks and time
    bool hung = false;
};

class Script {
  public:
    Script(VirtualJob& job, std::span<const TeamCall* const> calls, ScriptOptions options);
    [[nodiscard]] ScriptOutcome run();

  private:
    struct Pending {
        std::size_t entry = 0;
        Rank team_rank = 0;
        run::Operation* op = nullptr;
        std::vector<std::byte> memory;  ///< of the buffers, unless they are in the segment
        std::byte* input = nullptr;
        std::byte* output = nullptr;
    };
    struct RankState {
        std::vector<std::size_t> calls;  ///< entries that this rank takes part in
        std::vector<bool> made;
        std::size_t first_unmade = 0;
        std::deque<Pending> pending;
        bool blocked = false;  ///< until no call up to entry `blocked_on` is pending
        std::size_t blocked_on = 0;

        [[nodiscard]] bool all_made() const { return first_unmade == calls.size(); }
    };

    bool turn(Rank rank);
    bool reap(Rank rank);
    bool make_one(Rank rank);
    [[nodiscard]] std::size_t pick(const RankState& state);
    void make(Rank rank, std::size_t at, bool blocking);
    void finish(Rank rank, Pending& pending);
    [[nodiscard]] bool done() const;
    void fail(std::string text);

    VirtualJob& job_;
    std::span<const TeamCall* const> calls_;
    ScriptOptions options_;
    base::Random random_;
    std::deque<RankState> ranks_;
    std::vector<std::vector<std::byte>> kept_;
    std::vector<Rank> made_by_;  ///< by entry: number of members that have made the call
    ScriptOutcome outcome_;
};

}  // namespace weft::test
