// SPDX-License-Identifier: BSD-3-Clause
// bank_watch.hpp - checks every write into a team's region, and reports early ones.
//
// Idea     The watch records the epochs and ticks of each team's calls. They are equal on all
//          ranks, and each tick belongs to one call, so the tick of a put's flag identifies the
//          put's call. A write for call e into a cell or slot of bank b is allowed only if its
//          owner has completed every earlier call that used bank b. For a published cell, all its
//          readers must have completed these calls. Any other write is recorded as a violation.
// Why      A broken bank rule gives a wrong result only if the overwritten value is still needed.
//          The watch reports every early write, even one without a visible effect.
// Next     virtual_job.hpp feeds the watch; run/execute/window.hpp has the rule that it checks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "run/execute/team_state.hpp"
#include "tests/support/virtual_wire.hpp"

namespace weft::test {

enum class Area : std::uint8_t { cell, published, bulk };

/// A write into a cell or slot for one call while its owner or a reader had not completed an
/// earlier call that used the same bank.
struct Violation {
    std::uint32_t team = 0;
    Rank writer = 0;  ///< job rank
    Rank owner = 0;   ///< job rank whose segment has the cell or slot
    Rank reader = 0;  ///< job rank that has not completed the earlier call; may be the owner
    Area area = Area::cell;
    std::uint32_t number = 0;  ///< index of the cell or slot in its bank
    std::uint32_t bank = 0;
    run::Epoch epoch = 0;       ///< epoch of the writing call; for bulk slots, its bulk epoch
    run::Epoch unfinished = 0;  ///< epoch or bulk epoch of the earlier call
};
[[nodiscard]] std::string to_text(const Violation& violation);

/// A cell of a team's region, and the call for which a put writes the cell.
struct CellPlace {
    std::uint32_t team = 0;
    std::uint32_t number = 0;  ///< index of the cell in its bank
    std::uint32_t bank = 0;
    run::Epoch epoch = 0;  ///< epoch of the call
};

class BankWatch {
  public:
    /// Adds the team with the next number. `states` is indexed by team rank.
    void add_team(std::vector<const run::TeamState*> states);
    /// Records that a rank has issued a call, and the barrier that the engine may have inserted
    /// before it.
    void record_issue(std::uint32_t team, Rank team_rank, const run::Operation& op);
    /// Checks a write that is about to change a rank's segment.
    void check_write(const DeliveredWrite& write);
    /// Checks the cells that the rank has published since the previous call of this function.
    void check_publications(Rank job_rank);

    /// Returns the cell at an offset of a segment and the call that raises `flag` there. Returns
    /// nullopt if the offset is in no team's region or no call has the flag's tick.
    [[nodiscard]] std::optional<CellPlace> place_of(std::uint64_t cell_offset,
                                                    base::FlagWord flag) const;

    [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }
    /// Returns messages about ranks that number the same call differently, and about writes that
    /// are part of no call.
    [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

  private:
    struct Call {
        run::Epoch epoch = 0;
        run::Epoch bulk_epoch = -1;                  ///< -1: the call uses no bulk slots
        base::Tick tick = 0;                         ///< first tick of the call
        const run::BoundProgram* program = nullptr;  ///< program of the first rank that issued it
    };
    /// A cell that a rank will publish for its local peers.
    struct Publication {
        run::Epoch epoch = 0;
        run::Epoch bulk_epoch = -1;  ///< -1: the call uses no bulk slots
        std::uint32_t number = 0;    ///< index of the cell in its bank
        base::Tick tick = 0;         ///< tick of the cell's flag once it is published
        const run::BoundProgram* program = nullptr;
    };
    struct Team {
        std::vector<const run::TeamState*> states;
        std::vector<Call> calls;                          ///< by epoch
        std::vector<run::Epoch> epoch_of_tick;            ///< by distance from the first tick
        std::vector<run::Epoch> issued_calls;             ///< by team rank
        std::vector<std::deque<Publication>> to_publish;  ///< by team rank
    };

    void record(Team& team, Rank team_rank, const Call& call);
    [[nodiscard]] Team* team_at(std::uint64_t offset);
    [[nodiscard]] const Team* team_at(std::uint64_t offset) const {
        return const_cast<BankWatch*>(this)->team_at(offset);
    }
    [[nodiscard]] static const Call* call_of(const Team& team, base::FlagWord flag);
    /// Checks that a reader has completed the earlier calls that used the bank of a published cell,
    /// or the bank of its bulk slot, if any.
    void check_published(const run::TeamState& owner, const Publication& publication,
                         const run::TeamState& reader);
    /// Records the candidate as a violation if `window`, which has `banks` banks, shows an
    /// incomplete earlier call of the same bank.
    void record_if_early(Violation candidate, const run::Window& window, std::uint32_t banks);
    void record_fault(std::string text);

    std::deque<Team> teams_;
    std::vector<Violation> violations_;
    std::vector<std::string> faults_;
};

}  // namespace weft::test
