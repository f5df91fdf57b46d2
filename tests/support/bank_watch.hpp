// SPDX-License-Identifier: BSD-3-Clause
// bank_watch.hpp - checks every write into a team's region and reports writes that come too early.
//
// Idea     The watch keeps the numbering of each team's calls, on which all ranks must agree. So
//          the tick of a flag tells it which call a landing belongs to. A write for call e into a
//          slot of bank b is allowed only if its owner has completed every earlier call that used
//          b. For a published cell, its readers must have completed them too. Any other write is a
//          violation, reported with its slot.
// Why      A broken bank rule gives a wrong result only if the overwritten value is still needed.
//          The watch reports every early write, even one without a visible effect.
// Next     virtual_job.hpp feeds the watch; run/execute/window.hpp has the rule that it checks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "run/execute/operation.hpp"
#include "run/execute/team_state.hpp"
#include "tests/support/virtual_wire.hpp"

namespace weft::test {

enum class Area : std::uint8_t { cell, published, bulk };

/// A slot written for one call while its owner or a reader had not completed an earlier one.
struct Violation {
    std::uint32_t team = 0;
    Rank writer = 0;  ///< ranks of the job
    Rank owner = 0;
    Rank reader = 0;  ///< has not completed the earlier call; the owner except for published cells
    Area area = Area::cell;
    std::uint32_t number = 0;
    std::uint32_t bank = 0;
    run::Epoch epoch = 0;       ///< of the writing call; for bulk slots, its number in their window
    run::Epoch unfinished = 0;  ///< of the earlier call
};
[[nodiscard]] std::string to_text(const Violation& violation);

/// A cell, and the call that it is written for.
struct CellPlace {
    std::uint32_t team = 0;
    std::uint32_t number = 0;
    std::uint32_t bank = 0;
    run::Epoch epoch = 0;
};

class BankWatch {
  public:
    /// Adds a team. Teams are added in the order of their numbers; `states` is indexed
    /// by team rank.
    void add_team(std::vector<const run::TeamState*> states);
    /// Records that a rank has issued a call and, before it, a barrier if the rule inserted one.
    void issued(std::uint32_t team, Rank team_rank, const run::Operation& op);
    void landing(const Landing& landing);
    /// Checks the cells that the rank has published since the previous call.
    void look_at_published(Rank job_rank);

    /// Returns the cell at this offset of a segment and the call that the flag belongs to. Returns
    /// nothing if no call of a team matches.
    [[nodiscard]] std::optional<CellPlace> place_of(std::uint64_t cell, base::FlagWord flag) const;

    [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }
    /// Returns errors in numbering: ranks that number the same call differently, and writes that
    /// belong to no call.
    [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

  private:
    struct Call {
        run::Epoch epoch = 0;
        run::Epoch bulk_epoch = -1;
        base::Tick tick = 0;
        const run::BoundProgram* program = nullptr;  ///< of the first rank that issued it
    };
    struct Publication {
        run::Epoch epoch = 0;
        run::Epoch bulk_epoch = -1;
        std::uint32_t number = 0;
        base::Tick tick = 0;
        const run::BoundProgram* program = nullptr;
    };
    struct Team {
        std::vector<const run::TeamState*> states;
        std::vector<Call> calls;                          ///< by epoch
        std::vector<run::Epoch> epoch_of_tick;            ///< by distance from the first tick
        std::vector<run::Epoch> issued;                   ///< by team rank: calls seen so far
        std::vector<std::deque<Publication>> to_publish;  ///< by team rank
    };

    void note(Team& team, Rank team_rank, const Call& call, const run::BoundProgram& program);
    [[nodiscard]] Team* team_at(std::uint64_t offset);
    [[nodiscard]] const Team* team_at(std::uint64_t offset) const {
        return const_cast<BankWatch*>(this)->team_at(offset);
    }
    [[nodiscard]] static const Call* call_of(const Team& team, base::FlagWord flag);
    /// Checks the cell and the slot that a rank has published, for one of its readers.
    void check_published(const run::TeamState& owner, const Publication& publication,
                         const run::TeamState& reader);
    void check(Violation found, const run::Window& window, std::uint32_t banks);
    void fault(std::string text);

    std::deque<Team> teams_;
    std::vector<Violation> violations_;
    std::vector<std::string> faults_;
};

}  // namespace weft::test
