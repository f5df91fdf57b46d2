// SPDX-License-Identifier: BSD-3-Clause
// team_state.hpp - the engine's state of a team and of its calls.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/reach.hpp"
#include "base/region.hpp"
#include "base/result.hpp"
#include "plan/schedule/cursor.hpp"
#include "run/bind/bind.hpp"
#include "run/execute/window.hpp"
#include "run/observe/recorder.hpp"
#include "run/reduce/reduce.hpp"

namespace weft::run {

using base::Digest;
using base::flag_hash;

struct Registers {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
};

struct LaneCursor : plan::Cursor {
    std::uint64_t resume = 0;           ///< the wire's state of a put that is partly posted; else 0
    const std::byte* packed = nullptr;  ///< copy of the current put's source; nullptr: none
    std::uint64_t tried_ns = 0;         ///< time of the step's first blocked attempt; 0: none
    std::uint32_t pending = 0;          ///< number of its transfers that still read their source
};

struct TeamState;

/// A call from its start until its end.
struct Operation {
    enum class State : std::uint8_t {
        queued,  ///< waits for its bank
        running,
        draining,  ///< done for its caller; waits only for peers that read copies of its buffers
        failing,   ///< has failed, but transfers still read its buffers
        complete,  ///< final, like the next state
        failed,
    };

    TeamState* team = nullptr;
    const BoundProgram* program = nullptr;
    Registers registers;
    Reducer reducer;
    State state = State::queued;
    bool detached = false;  ///< the caller has released it, so the engine recycles it
    Epoch epoch = 0;
    Window* bulk = nullptr;  ///< window of its bulk banks; nullptr: it uses none
    Epoch bulk_epoch = -1;   ///< number of the call in `bulk`
    base::Tick tick = 0;
    Digest digest = 0;              ///< covers the team's calls up to this one
    std::uint32_t bank = 0;         ///< bank of cells
    std::uint64_t bulk_offset = 0;  ///< offset of its bulk bank in the region
    std::vector<LaneCursor> lanes;
    std::vector<std::byte> scratch;  ///< kept for later calls, which then do not allocate
    /// Copies of sources that only the kernel can read. Kept for later calls.
    std::vector<std::vector<std::byte>> packed;
    std::size_t packed_used = 0;  ///< number of copies in this call
    /// The caller's buffers that peers may access; see Stepper::expose().
    std::vector<base::Exposure> exposures;
    /// Payloads of expose steps, by step and segment. Their puts read them.
    std::vector<base::Reach> exposed;
    base::Failure failure;    ///< valid if state is failed
    Recorder::Open recorded;  ///< valid if the engine has a recorder
    /// Runs once, before the call has ended for its caller, unless the call fails. The function
    /// owns buffers of the call, and must neither throw nor use the engine. May be empty.
    std::function<void()> finish;
    bool finished = false;  ///< `finish` has run

    void begin() {
        state = State::running;
        lanes.clear();
        for (const plan::Lane& lane : program->lanes)
            lanes.push_back({plan::begin_of(lane, program->segments)});
        if (scratch.size() < program->scratch_bytes) scratch.resize(program->scratch_bytes);
        packed_used = 0;
        const std::size_t payloads = std::size_t{program->exposes} * program->segments;
        if (exposed.size() < payloads) exposed.resize(payloads);
    }
    /// Returns a hash of the state and of the lanes' positions: it changes when a lane advances.
    [[nodiscard]] std::uint64_t position_hash() const {
        std::uint64_t hash = static_cast<std::uint64_t>(state);
        for (const LaneCursor& lane : lanes)
            hash = 31 * (31 * (31 * hash + lane.at) + lane.segment) + lane.resume;
        return hash;
    }

    void run_finish() {
        if (finish && !std::exchange(finished, true)) finish();
    }

    /// Returns the index in a bank of the cell that a step with this number uses for a segment.
    [[nodiscard]] std::uint32_t cell_number(std::uint32_t number, std::uint32_t segment) const {
        return number * program->depth + segment % program->depth;
    }
    /// Returns the offset in the region of the slot that the step uses for a segment.
    [[nodiscard]] std::uint64_t slot_offset(std::uint32_t number, std::uint32_t segment) const {
        return bulk_offset + program->slot_offset(number, segment % program->depth);
    }
    /// Returns true if transfers still read their sources.
    [[nodiscard]] bool has_transfers() const {
        return std::ranges::any_of(lanes, [](const LaneCursor& lane) { return lane.pending != 0; });
    }
    /// Returns true if all steps are done but transfers still read their sources.
    [[nodiscard]] bool waits_only_for_puts() const {
        return has_transfers() &&
               std::ranges::all_of(lanes, [](const LaneCursor& lane) { return lane.ended(); });
    }
    [[nodiscard]] bool is_final() const { return state >= State::complete; }
    /// Returns true if the call has ended for its caller: no rank uses the caller's buffers.
    [[nodiscard]] bool ended() const { return is_final() || state == State::draining; }
};

/// Returns the recorder's description of a program's calls. Valid while the program exists.
[[nodiscard]] inline RecordedCall recorded_call(const BoundProgram& program) {
    return {.program = &program,
            .collective = program.program.collective,
            .algorithm = program.program.algorithm,
            .description = program.description,
            .bytes = program.elements * program.element_bytes};
}

/// Returns the failure of a call whose user operation threw. Must be called in the catch handler.
[[nodiscard]] base::Failure failure_of_user(const BoundProgram& program);

/// Parameters of a team. The numbers, except `rank`, are equal on all members.
struct TeamSetup {
    std::uint32_t id = 0;         ///< index of the team's region, and its name in reports
    Rank rank = 0;                ///< rank of this process in the team
    std::vector<Rank> job_ranks;  ///< by team rank
    std::uint64_t region = 0;     ///< offset of the team's region in every member's segment
    base::RegionShape shape;
    base::Tick first_tick = 1;  ///< above every tick of earlier teams in the region
    /// Offset of a word in this rank's segment, or 0. A member that revokes the team sets the word
    /// to a flag word of first_tick and the member's rank in the job.
    std::uint64_t revoked = 0;
    /// Barrier that the bank rule inserts. Must outlive the team.
    const BoundProgram* barrier = nullptr;
    /// Bank rules, for tests. Null: default rules for the numbers of banks in `shape`.
    std::unique_ptr<Window> cell_window;
    std::array<std::unique_ptr<Window>, base::kBulkClasses> bulk_windows;
};

/// Record of a call. `program` is nullptr if the call is unknown.
struct PastCall {
    const BoundProgram* program = nullptr;
    Digest digest = 0;
};

struct BulkBanks {
    std::unique_ptr<Window> window;  ///< numbers the calls of these banks; null: no banks
    std::uint64_t start = 0;         ///< offset in the region
    std::uint64_t bytes = 0;         ///< size of each bank
    std::uint32_t mask = 0;          ///< maps an epoch to its bank
};

struct TeamState {
    explicit TeamState(TeamSetup made_from);

    [[nodiscard]] Rank size() const { return static_cast<Rank>(setup.job_ranks.size()); }
    /// Adds the next member, whose segment starts at `segment`; nullptr: it is not mapped.
    void add_base(std::byte* segment) {
        bases.push_back(segment == nullptr ? nullptr : segment + setup.region);
    }
    /// Returns the start of a member's region if it is mapped, else nullptr.
    [[nodiscard]] std::byte* near(Rank rank) const { return regions()[rank]; }
    /// Returns the members' regions by team rank; nullptr for members on other nodes.
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
    /// Returns the window of the program's bulk banks, or nullptr if its payloads use cells.
    [[nodiscard]] Window* bulk_of(const BoundProgram& program) const {
        return program.bulk ? bulk[program.bulk_class].window.get() : nullptr;
    }
    [[nodiscard]] std::uint64_t bulk_offset(const BoundProgram& program, Epoch epoch) const {
        const BulkBanks& banks = bulk[program.bulk_class];
        return banks.start + (static_cast<std::uint32_t>(epoch) & banks.mask) * banks.bytes;
    }
    /// Largest numbers of banks of a team within a node: of cells, and of bulk banks by size class.
    /// Short calls have many banks, so that a rank that shares its processor can make many calls in
    /// a time slice. Large payloads have few banks, which stay in the cache.
    static constexpr std::uint32_t kNearBanks = 256;
    static constexpr std::array<std::uint32_t, base::kBulkClasses> kNearBulkBanks{512, 256, 64, 16,
                                                                                  ~0U};
    void set_bank_masks();
    /// Uses credits instead of barriers if all members share memory. `bases` must be complete.
    void share_credits();
    /// Adds the next call to `digest`, and returns it.
    Digest digest_next(base::CallHash call_hash) {
        return digest = base::digest_of(digest, call_hash);
    }
    /// Records a call in `history`, to compare it with inquiries of other ranks.
    void remember(Epoch epoch, PastCall call) {
        history[static_cast<std::size_t>(epoch) & history_mask] = call;
    }
    /// Marks the team as failed. Only the first failure is kept.
    void fail(const base::Failure& why) {
        if (!failed) failure = why;
        failed = true;
        fused_limit = FusedTeams::failed;
        unchecked_peers.store(0, std::memory_order_relaxed);
    }
    /// Returns the record of call `epoch`, without a program if it is too old or not yet issued.
    [[nodiscard]] PastCall recall(Epoch epoch) const;
    /// Returns the number of the user's calls before this call. An inserted barrier has the number
    /// of the call after it. recall() must return a program for `epoch`.
    [[nodiscard]] Epoch number_for_user(Epoch epoch) const;
    /// Returns the first call that `history` may contain. Earlier calls are complete and forgotten.
    [[nodiscard]] Epoch forgotten_before() const {
        return cells->first_incomplete() - static_cast<Epoch>(history.size());
    }

    TeamSetup setup;
    std::unique_ptr<Window> cells;                   ///< bank rule of the cells; numbers every call
    std::array<BulkBanks, base::kBulkClasses> bulk;  ///< by size class
    std::uint32_t cell_bank_mask = 0;                ///< number of banks of cells, minus 1
    base::Tick next_tick;                            ///< first tick of the next call; not masked
    std::byte* own_region = nullptr;
    FusedTeams fused_limit = FusedTeams::any;  ///< largest FusedProgram::teams that may run
    std::deque<Operation*> queue;              ///< calls that have not started, in call order
    Digest digest = 0;                         ///< covers all calls made so far
    Epoch inserted = 0;                        ///< number of barriers inserted so far
    /// Ring buffer of the last started calls, by epoch. Its size is a power of two.
    std::vector<PastCall> history;
    std::size_t history_mask = 0;  ///< size of `history` minus 1
    /// Base addresses of fused calls (FusedPlace): first kFusedRegions for the call's buffers and
    /// `scratch`, then the members' regions. `moves`: offsets that change with each call.
    std::vector<std::byte*> bases = std::vector<std::byte*>(kFusedRegions);
    std::array<std::uint64_t, kFusedMoves> moves{};
    std::vector<std::byte> scratch;
    std::uint64_t scratch_bytes = 0;  ///< size of `scratch`, for a fast test in every call
    /// Number of members, or 0 if the team has failed: one-sided calls then check whether their
    /// peer is dead. Relaxed: a call that reads an old value acts as before the failure.
    std::atomic<Rank> unchecked_peers;
    bool failed = false;
    base::Failure failure;  ///< failure of all further calls, if `failed`
};

/// Numbers a new call. `bulk` is the window of its bulk banks, or nullptr.
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

/// Returns true if the banks are free into which call `epoch` of `bulk` puts.
[[nodiscard]] inline bool may_use_bulk(Window& bulk, Epoch epoch, const BoundProgram& program) {
    return program.program.pairwise ? bulk.may_put(epoch, program.bulk_receivers)
                                    : bulk.may_start(epoch);
}
[[nodiscard]] inline bool may_use_bulk(const Operation& op) {
    return op.bulk == nullptr || may_use_bulk(*op.bulk, op.bulk_epoch, *op.program);
}
[[nodiscard]] inline bool may_start(const Operation& op) {
    return op.team->cells->may_start(op.epoch) && may_use_bulk(op);
}

}  // namespace weft::run
