// SPDX-License-Identifier: BSD-3-Clause
// scenario.hpp - a random job: its ranks, network and teams, and the acts that its ranks perform.
//
// Idea     The seed determines the scenario. Every rank goes through the same list of acts:
//          collective calls in each form, exchanges with counts that only sender and receiver know,
//          making and freeing teams, one-sided calls, and an act in which one rank disagrees,
//          throws or dies. Any part of the list is also a valid list, so a failing list can be
//          shortened.
// Holds    Team 0 has all ranks. Call 0 of each team is a barrier. A rank skips acts on a team that
//          does not exist.
// Next     run.cpp runs a scenario; shrink.cpp shortens it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/region.hpp"
#include "tests/support/call.hpp"
#include "tests/support/virtual_fabric.hpp"
#include "tests/support/virtual_wire.hpp"
#include "tests/virtual/farm/faults.hpp"

namespace weft::farm {

/// Form of a call. A one-sided call is blocking or not.
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
    std::uint32_t team = 0;     ///< index in the scenario's teams
    std::uint32_t call = 0;     ///< index in the team's calls
    std::uint32_t instead = 0;  ///< disagree: the call that `rank` makes
    Rank rank = 0;              ///< job rank that acts, disagrees, throws or dies
    Rank peer = 0;              ///< target of a one-sided call
    std::uint32_t first = 0;    ///< index in the peer's block for `rank`, see kBlockWords
    std::uint32_t words = 0;    ///< number of words
    std::uint64_t seed = 0;     ///< exchange: seed of the counts
};

/// A collective call.
struct CallSketch {
    test::CallPlan plan;
    std::vector<std::uint64_t> counts;  ///< elements of each block; empty: blocks of equal size
};

/// A team to make, and the calls that acts choose from.
struct TeamSketch {
    std::vector<Rank> members;
    base::RegionShape shape;
    base::Tick first_tick = 1;  ///< applies if from_start
    /// The team exists from the start and has its own region. Else it is a *later team*: acts make
    /// and free it, and all later teams use one region, one after another.
    bool from_start = true;
    bool late_epochs = false;  ///< the first call's epoch is shortly before 2^32
    std::vector<CallSketch> calls;
};

/// All that a seed determines.
struct Scenario {
    std::uint64_t seed = 0;
    Fault fault = Fault::none;
    std::vector<int> nodes;      ///< node of each rank
    bool fabric = false;         ///< the real wire over a fabric, else the virtual network
    bool watched = false;        ///< the bank watch checks each write
    std::uint64_t requests = 0;  ///< first value of each pair's counter of requests
    bool inquires = false;       ///< waiting ranks send inquiries (run/execute/inquiry.hpp)
    test::FabricSetting setting;
    test::VirtualProfile profile;
    std::vector<TeamSketch> teams;
    std::vector<Act> acts;

    [[nodiscard]] Rank size() const { return static_cast<Rank>(nodes.size()); }
};

/// Words of the block that each rank's heap has for each origin.
inline constexpr std::uint32_t kBlockWords = 48;
/// Maximum number of data words of a put with a signal; they have their own memory beside the
/// block.
inline constexpr std::uint32_t kSignalWords = 12;

/// Draws the scenario of a seed, with a planted fault if `fault` is not none.
[[nodiscard]] Scenario draw_scenario(std::uint64_t seed, Fault fault, std::size_t acts);
/// Returns the programs of all members, or none if the algorithm does not serve the call.
[[nodiscard]] std::vector<plan::Program> programs_of(const Scenario& scenario,
                                                     const TeamSketch& team,
                                                     const CallSketch& call);
/// Returns "team 1 (ranks 0 3 2): broadcast binomial of 9 elements of 8 bytes, root 1, started".
[[nodiscard]] std::string to_text(const Scenario& scenario, const Act& act);
/// Returns "6 ranks on nodes 0 0 1 2 1 1, over a fabric".
[[nodiscard]] std::string to_text(const Scenario& scenario);

}  // namespace weft::farm
