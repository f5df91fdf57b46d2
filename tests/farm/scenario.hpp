// SPDX-License-Identifier: BSD-3-Clause
// scenario.hpp - what a job of the farm does: its ranks, network and teams, and a list of acts.
//
// Idea     A scenario follows from its seed. Every rank goes through the same list and does what
//          concerns it: collective calls in each form, exchanges whose counts only pairs know,
//          teams made and freed, one-sided calls, one rank that disagrees, throws or dies. Any part
//          of the list is a program, too: so a failing one can be made short.
// Holds    Team 0 has all ranks. Call 0 of each team is a barrier. Acts on a team that does not
//          live are left out, so that parts of a list are right whatever is left out of them.
// Next     run.cpp runs one; shrink.cpp makes it short.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/region.hpp"
#include "tests/farm/faults.hpp"
#include "tests/support/call.hpp"
#include "tests/support/virtual_fabric.hpp"
#include "tests/support/virtual_wire.hpp"

namespace weft::farm {

enum class Form : std::uint8_t { blocking, started, persistent };

/// One entry of the list.
struct Act {
    enum class Kind : std::uint8_t {
        collective,
        exchange,
        make_team,
        free_team,
        put,
        signal,
        get,
        add,
        fence,
        quiet,
        disagree,
        throws,  ///< a collective whose reduction throws at `rank`
        kill,
    };
    Kind kind = Kind::collective;
    Form form = Form::blocking;
    std::uint32_t team = 0;
    std::uint32_t call = 0;     ///< of the team's calls
    std::uint32_t instead = 0;  ///< disagree: what `rank` calls
    Rank rank = 0;              ///< of the job: who acts, disagrees, throws or dies
    Rank peer = 0;
    std::uint32_t first = 0;  ///< word of the peer's block
    std::uint32_t words = 0;
    std::uint64_t seed = 0;  ///< exchange: of the counts
};

/// How one collective is called.
struct CallSketch {
    test::CallPlan plan;
    std::vector<std::uint64_t> counts;  ///< of blocks that differ; else empty
};

struct TeamSketch {
    std::vector<Rank> members;
    base::RegionShape shape;
    base::Tick first_tick = 1;  ///< of a team that lives from the start
    bool lives = true;          ///< from the start; else it takes the region that such teams share
    bool late_epochs = false;   ///< calls are numbered from shortly before 2^32 on
    std::vector<CallSketch> calls;
};

struct Scenario {
    std::uint64_t seed = 0;
    Fault fault = Fault::none;
    std::vector<int> nodes;      ///< by rank
    bool fabric = false;         ///< the real wire over a fabric; else pieces fly by themselves
    bool watched = false;        ///< each write is held against the bank rule
    std::uint64_t requests = 0;  ///< of each pair of ranks before the first one-sided call
    bool inquires = false;       ///< ranks ask each other about calls that take long
    test::FabricSetting setting;
    test::VirtualProfile profile;
    std::vector<TeamSketch> teams;
    std::vector<Act> acts;

    [[nodiscard]] Rank size() const { return static_cast<Rank>(nodes.size()); }
};

/// Words of a peer's heap that belong to one origin, and those that its signals announce.
inline constexpr std::uint32_t kBlockWords = 48;
inline constexpr std::uint32_t kSignalWords = 12;

[[nodiscard]] Scenario draw_scenario(std::uint64_t seed, Fault fault, std::size_t acts);
/// The programs of all members; empty if the algorithm does not serve such a call.
[[nodiscard]] std::vector<plan::Program> programs_of(const Scenario& scenario,
                                                     const TeamSketch& team,
                                                     const CallSketch& call);
/// "team 1 (ranks 0 3 2): broadcast binomial of 9 elements, root 1; started".
[[nodiscard]] std::string to_text(const Scenario& scenario, const Act& act);
/// "6 ranks on nodes 0 0 1 2 1 1, over a fabric".
[[nodiscard]] std::string to_text(const Scenario& scenario);

}  // namespace weft::farm
