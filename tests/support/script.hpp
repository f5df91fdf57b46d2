// SPDX-License-Identifier: BSD-3-Clause
// script.hpp - what a program of N ranks would call, run to its end in one thread.
//
// Idea     A script is one list of calls. Each rank makes its own calls, those of one team in the
//          order of the list; calls of different teams change places from rank to rank, as started
//          calls may. A call that a rank makes blocking is made when everything before it in the
//          list was made, and that rank makes no further one until it is done: so a script can only
//          hang by a fault of the engine.
// Holds    Each result is compared with the reference when its call is done. A call that is
//          declared synchronizing must not be done anywhere before it was made everywhere. No
//          progress for long is a hang and is reported with what every rank waits for.
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
    std::uint32_t lookahead = 16;  ///< how far calls of other teams may be brought forward
    std::uint32_t outstanding_max = 64;
    std::uint32_t block_percent = 30;
    std::uint32_t in_place_percent = 30;
    std::uint32_t eager_percent = 60;  ///< turns in which a rank makes calls
    bool in_segment = false;    ///< the vectors lie in the rank's segment, so they can be exposed
    bool keeps_memory = false;  ///< of calls that have ended: faulty programs still use it
};

struct ScriptOutcome {
    std::vector<std::string> errors;  ///< wrong results, failed calls, hangs, early writes
    std::uint64_t steps = 0;
    std::size_t outstanding = 0;  ///< operations of one rank at one moment, at most
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
        std::vector<std::byte> memory;  ///< of the vectors, unless they lie in the segment
        std::byte* input = nullptr;
        std::byte* output = nullptr;
    };
    struct RankState {
        std::vector<std::size_t> calls;  ///< entries that this rank takes part in
        std::vector<bool> made;
        std::size_t first_unmade = 0;
        std::deque<Pending> pending;
        bool blocked = false;  ///< until nothing is pending of entry `blocked_on`
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
    std::vector<Rank> made_by_;  ///< by entry: how many members have made the call
    ScriptOutcome outcome_;
};

}  // namespace weft::test
