// SPDX-License-Identifier: BSD-3-Clause
// team_state.hpp - what the engine keeps for one team: its put targets, its numbering, its queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/region.hpp"
#include "run/bind/bound_program.hpp"
#include "run/execute/operation.hpp"
#include "run/execute/window.hpp"

namespace weft::run {

/// What a team is made from; all but `rank` are the same on its members.
struct TeamSetup {
    std::uint32_t id = 0;         ///< index of its region; names the team in reports
    Rank rank = 0;                ///< of this process in the team
    std::vector<Rank> job_ranks;  ///< by team rank
    std::uint64_t region = 0;     ///< offset of its region in every member's segment
    base::RegionShape shape;
    base::Tick first_tick = 1;  ///< above every tick that the region has seen
    /// What is run when the bank rule asks for a barrier. Outlives the team.
    const BoundProgram* barrier = nullptr;
    /// The bank rules; made from the shape if not given.
    std::unique_ptr<Window> cell_window;
    std::array<std::unique_ptr<Window>, base::kBulkClasses> bulk_windows;
};

/// What a rank remembers of a call.
struct PastCall {
    const BoundProgram* program = nullptr;
    Digest digest = 0;
};

/// The bulk banks of one size, as a team uses them.
struct BulkBanks {
    std::unique_ptr<Window> window;  ///< numbers the calls whose payloads go there; null: none can
    std::uint64_t start = 0;         ///< in the region
    std::uint64_t bytes = 0;         ///< of each
    std::uint32_t mask = 0;          ///< of an epoch: its bank
};

struct TeamState {
    explicit TeamState(TeamSetup made_from);

    [[nodiscard]] Rank size() const { return static_cast<Rank>(setup.job_ranks.size()); }
    /// Start of a member's region if loads and stores reach it, else nullptr.
    [[nodiscard]] std::byte* near(Rank rank) const { return regions()[rank]; }
    /// By team rank: where a member's region starts, if loads and stores reach it.
    [[nodiscard]] std::span<std::byte* const> regions() const {
        return std::span(bases).subspan(kFusedRegions);
    }
    [[nodiscard]] base::Cell* cell(std::uint32_t bank, std::uint32_t number) const {
        return reinterpret_cast<base::Cell*>(own_region + setup.shape.cell(bank, number));
    }
    [[nodiscard]] base::Cell* published(Rank rank, std::uint32_t bank, std::uint32_t number) const {
        return reinterpret_cast<base::Cell*>(near(rank) + setup.shape.published(bank, number));
    }
    [[nodiscard]] std::uint32_t cell_bank(Epoch epoch) const {
        return static_cast<std::uint32_t>(epoch) & cell_bank_mask;
    }
    /// That of the banks that the program's payloads go to; nullptr if they go into cells.
    [[nodiscard]] Window* bulk_of(const BoundProgram& program) const {
        return program.bulk ? bulk[program.bulk_class].window.get() : nullptr;
    }
    /// Where the bulk bank of a call of the program lies in the region.
    [[nodiscard]] std::uint64_t bulk_offset(const BoundProgram& program, Epoch epoch) const {
        const BulkBanks& banks = bulk[program.bulk_class];
        return banks.start + (static_cast<std::uint32_t>(epoch) & banks.mask) * banks.bytes;
    }
    /// Banks of a team whose members share memory, and of its bulk banks by size. Where ranks share
    /// processors a stream takes a turn of each rank for a window of calls, so short calls have
    /// many; the more of the long ones stay in the cache.
    static constexpr std::uint32_t kNearBanks = 256;
    static constexpr std::array<std::uint32_t, base::kSmallClasses> kNearSmallBanks{512, 256, 64,
                                                                                    16};
    static void narrow(std::unique_ptr<Window>& window, std::uint32_t banks);
    void count_banks();
    /// Once all regions are known: whether credits take the place of inserted barriers.
    void share_credits();
    /// The digest that the next call gets.
    Digest digest_next(base::CallHash call_hash) {
        return digest = base::digest_of(digest, call_hash);
    }
    /// Records what call `epoch` was, for inquiries of other ranks.
    void remember(Epoch epoch, PastCall call) {
        history[static_cast<std::size_t>(epoch) & history_mask] = call;
    }
    /// Nothing of it can be trusted any more, for the first of the reasons given.
    void fail(const base::Failure& why) {
        if (!failed) failure = why;
        failed = true;
        runs_fused = FusedTeams::failed;
    }
    /// What call `epoch` is or was here; no program if it has not been issued or is too old.
    [[nodiscard]] PastCall recall(Epoch epoch) const;
    /// How many calls before this one the user has made: barriers that the bank rule inserts count
    /// with the call after them. Of a call that recall() knows.
    [[nodiscard]] Epoch number_for_user(Epoch epoch) const;
    /// Calls before this one are complete here, and no longer known to recall().
    [[nodiscard]] Epoch forgotten_before() const {
        return cells->first_incomplete() - static_cast<Epoch>(history.size());
    }

    TeamSetup setup;
    std::unique_ptr<Window> cells;  ///< numbers every call
    std::array<BulkBanks, base::kBulkClasses> bulk;
    std::uint32_t cell_bank_mask = 0;  ///< of an epoch: its bank of cells
    base::Tick next_tick;              ///< flags take of it what they hold
    std::byte* own_region = nullptr;
    FusedTeams runs_fused = FusedTeams::any;  ///< one_node: loads and stores reach all regions
    std::deque<Operation*> queue;             ///< issued, not yet started, in call order
    Digest digest = 0;                        ///< of all calls issued
    Epoch inserted = 0;                       ///< barriers among them that the user did not call
    std::vector<PastCall> history;  ///< by epoch, the last ones that have started: a power of two
    std::size_t history_mask = 0;   ///< one less than that
    /// Of calls that run at once (fused.hpp): what places count from, the call's own vectors first,
    /// and how far they move on. Scratch is memory that the team keeps.
    std::vector<std::byte*> bases = std::vector<std::byte*>(kFusedRegions);
    std::array<std::uint64_t, kFusedMoves> moves{};
    std::vector<std::byte> scratch;
    std::uint64_t scratch_bytes = 0;  ///< of it; compared with in every call
    bool failed = false;
    base::Failure failure;  ///< why no further call of this team can succeed
};

/// Gives a call that is queued its numbers. bulk: the window of bulk banks in which it counts, too.
inline void number(Operation& op, Window* bulk) {
    TeamState& team = *op.team;
    op.epoch = team.cells->issue(op.program->synchronizing);
    op.bank = team.cell_bank(op.epoch);
    op.bulk = bulk;
    op.bulk_epoch = bulk != nullptr ? bulk->issue(op.program->synchronizing) : -1;
    op.bulk_offset = bulk != nullptr ? team.bulk_offset(*op.program, op.bulk_epoch) : 0;
    op.tick = team.next_tick & base::kTickMask;
    team.next_tick += op.program->segments;
    op.digest = team.digest_next(op.program->call_hash);
    if (op.program == team.setup.barrier) ++team.inserted;
}

[[nodiscard]] inline bool may_start(const Operation& op) {
    return op.team->cells->may_start(op.epoch) &&
           (op.bulk == nullptr || op.bulk->may_start(op.bulk_epoch));
}

}  // namespace weft::run
