// SPDX-License-Identifier: BSD-3-Clause
// bank_watch.hpp - sees every write into a team's region and says which ones come too early.
//
// Idea     The watch keeps the numbering of each team's calls, as all ranks must agree on it, and
//          so knows from a flag's tick which call a landing belongs to. A cell, published cell or
//          bulk slot of bank b may be written for call e only if its owner (and who reads it) has
//          completed every earlier call that used b. Anything else is a violation that names the
//          slot.
// Why      Wrong results show a broken bank rule only when the overwritten value still mattered;
//          the watch sees each case in which it might have.
// Next     virtual_job.hpp feeds it; run/execute/window.hpp is the rule that it watches.
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

/// A slot that was written for one call while its owner or reader had not completed another.
struct Violation {
    std::uint32_t team = 0;
    Rank writer = 0;  ///< ranks of the job
    Rank owner = 0;
    Rank reader = 0;  ///< who had not completed the earlier call; the owner but for published cells
    Area area = Area::cell;
    std::uint32_t number = 0;
    std::uint32_t bank = 0;
    run::Epoch epoch =
        0;  ///< of the writing call (its number in the window of its bulk banks for bulk slots)
    run::Epoch unfinished = 0;  ///< of the call that still used the slot
};
[[nodiscard]] std::string to_text(const Violation& violation);

/// Which cell, and for which call.
struct CellPlace {
    std::uint32_t team = 0;
    std::uint32_t number = 0;
    std::uint32_t bank = 0;
    run::Epoch epoch = 0;
};

class BankWatch {
  public:
    /// Teams are watched in the order of their numbers. `states` by team rank.
    void add_team(std::vector<const run::TeamState*> states);
    /// A rank has issued a call (and, before it, a barrier if the rule inserted one).
    void issued(std::uint32_t team, Rank team_rank, const run::Operation& op);
    void landing(const Landing& landing);
    /// Looks for cells that the rank has published since it was last asked.
    void look_at_published(Rank job_rank);

    /// What a flag at this offset of a segment belongs to; nothing if to no call of a team.
    [[nodiscard]] std::optional<CellPlace> place_of(std::uint64_t cell, base::FlagWord flag) const;

    [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }
    /// Ranks that number the same call differently, and writes that belong to no call.
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
    /// What a rank has published, in its cell and in its slot, against one that reads it.
    void check_published(const run::TeamState& owner, const Publication& publication,
                         const run::TeamState& reader);
    void check(Violation found, const run::Window& window, std::uint32_t banks);
    void fault(std::string text);

    std::deque<Team> teams_;
    std::vector<Violation> violations_;
    std::vector<std::string> faults_;
};

}  // namespace weft::test
