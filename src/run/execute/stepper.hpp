// SPDX-License-Identifier: BSD-3-Clause
// stepper.hpp - executes the steps of an operation until each lane must wait.
//
// Holds    No step waits and, after the first call of a program, no step allocates. Each step is
//          executed once. An operation is complete when all lanes have ended and no transfer reads
//          its buffers. It is *draining*, and has ended for its caller, while it only waits for
//          local peers that read copies of its exposed buffers.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/put.hpp"
#include "run/execute/mover.hpp"
#include "run/execute/team_state.hpp"
#include "run/execute/transport.hpp"
#include "run/execute/watchdog.hpp"

namespace weft::run {

/// Outcome of an attempt at a lane's next step: try again later, done, or failed.
enum class Progress : std::uint8_t { blocked, advanced, failed };

template <Transport Wire>
class Stepper {
  public:
    /// `recorder` records each step; nullptr: no records.
    Stepper(Wire& wire, Rank job_rank, Recorder* recorder)
        : wire_(wire), job_rank_(job_rank), mover_(wire, job_rank), recorder_(recorder) {}

    /// Reserves memory for any step of a program, so that advance() does not allocate.
    void reserve(const BoundProgram& program) { mover_.reserve(program); }
    [[nodiscard]] const MappedBytes& mapped_bytes() const { return mover_.mapped_bytes(); }

    /// Runs every lane until it blocks. Returns true if a step was done or the operation ended.
    bool advance(Operation& op) {
        try {
            return recorder_ == nullptr ? advance_lanes<false>(op) : advance_lanes<true>(op);
        } catch (...) {
            op.failure = failure_of_user(*op.program);
            op.state = Operation::State::failed;
            return true;
        }
    }

    /// Makes the buffers that the program exposes accessible to local peers. If a buffer is written
    /// meanwhile, its register is set to its alias. In-place input and output are one buffer.
    void expose(Operation& op) {
        const TouchedBuffer& in = op.program->touched_input;
        const TouchedBuffer& out = op.program->touched_output;
        Registers& memory = op.registers;
        auto* const input = const_cast<std::byte*>(memory.input);  // peers only read it
        const bool written = in.access != base::Access::read || out.access != base::Access::read;
        if (memory.input == memory.output && written) {
            memory.input = memory.output = expose(op, memory.output, in.joined(out));
            return;
        }
        if (in.exposed) expose(op, input, in);
        if (!out.exposed) return;
        std::byte* const alias = expose(op, memory.output, out);
        if (out.access != base::Access::read) memory.output = alias;
    }
    void unexpose(Operation& op) {
        for (const base::Exposure& exposure : op.exposures) wire_.memory().unexpose(exposure);
        op.exposures.clear();
    }
    /// Ends the exposures of a failed call, whose buffers local peers may still access.
    void revoke_exposures(Operation& op) {
        for (const base::Exposure& exposure : op.exposures) wire_.memory().revoke(exposure);
        op.exposures.clear();
    }

    /// Adds a description of each waiting lane, or of the operation if all lanes have ended.
    void describe(const Operation& op, std::vector<WaitingLane>& waiting) const {
        const std::size_t before = waiting.size();
        for (const LaneCursor& lane : op.lanes)
            if (lane.at < lane.end) waiting.push_back(describe(op, lane));
        if (waiting.size() == before)
            waiting.push_back(describe_step(op, op.program->steps.size()));
    }
    [[nodiscard]] WaitingLane describe(const Operation& op, const LaneCursor& lane) const {
        WaitingLane waiting = describe_step(op, lane.at);
        if (waiting.waits_locally) return waiting;
        const BoundStep& step = op.program->steps[lane.at];
        const std::uint32_t segment = lane.segment - step.lag;
        const base::Cell* cell = waited_cell(op, step, segment);
        waiting.have = cell->flag.load(std::memory_order_relaxed);
        waiting.want = flag(op, segment, step.salt);
        return waiting;
    }
    /// Resets lingers() for the next peer that ends.
    void forget_ended_peer() noexcept { gone_since_ns_ = 0; }

  private:
    template <bool kRecorded>
    bool advance_lanes(Operation& op) {
        bool moved = false;
        bool lanes_ended = true;
        for (LaneCursor& lane : op.lanes) {
            while (lane.at < lane.end) {
                const Progress progress = kRecorded ? step_recorded(op, lane) : step(op, lane);
                if (progress == Progress::failed) {
                    op.state = Operation::State::failed;
                    return true;
                }
                if (progress == Progress::blocked) break;
                moved = true;
            }
            lanes_ended = lanes_ended && lane.at == lane.end;
        }
        if (lanes_ended && !op.has_transfers()) {
            op.state = Operation::State::complete;
            return true;
        }
        if (!op.exposures.empty() && drains(op)) op.state = Operation::State::draining;
        return moved;
    }
    /// Returns true if the remaining steps only wait, for peers that read copies of the buffers.
    [[nodiscard]] static bool drains(const Operation& op) {
        if (op.has_transfers() ||
            !std::ranges::all_of(op.exposures, &base::Exposure::separate_copy))
            return false;
        for (std::size_t i = 0; i < op.lanes.size(); ++i)
            if (op.lanes[i].at < op.program->tails[i]) return false;
        return true;
    }

    /// Exposes the touched part of a buffer. Returns the address of the buffer in its alias.
    std::byte* expose(Operation& op, std::byte* start, const TouchedBuffer& buffer) {
        op.exposures.push_back(wire_.memory().expose(
            start + buffer.begin, buffer.gaps ? 0 : buffer.bytes(), buffer.access, buffer.copies));
        base::Exposure& exposure = op.exposures.back();
        exposure.bytes = buffer.bytes();
        mover_.count_exposed(exposure);
        return exposure.alias - buffer.begin;
    }

    Progress step(Operation& op, LaneCursor& lane) {
        const BoundStep& step = op.program->steps[lane.at];
        Progress progress = Progress::advanced;
        switch (step.kind) {
            case plan::StepKind::put:
                progress = put(op, lane, step);
                break;
            case plan::StepKind::signal:
                if (!lane.skips_signal(step.lag)) progress = post(lane, make_put(op, lane, step));
                break;
            case plan::StepKind::expose:
                progress = expose(op, lane, step);
                break;
            case plan::StepKind::publish:
                publish(op, lane, step);
                break;
            case plan::StepKind::wait:
                if (!arrived(op, lane, step)) return Progress::blocked;
                break;
            case plan::StepKind::flush:
                if (lane.pending != 0) return Progress::blocked;
                break;
            case plan::StepKind::reduce:
                if (!mover_.reduce(op, step, lane.segment)) return fail_copy(op, lane);
                break;
            case plan::StepKind::copy:
                if (!mover_.copy(op, step.target, step.source, lane.segment))
                    return fail_copy(op, lane);
                break;
            case plan::StepKind::loop:
                lane.open_loop(step.number, step.operands);
                break;
            case plan::StepKind::sleep:
            case plan::StepKind::compute:
                break;
        }
        if (progress == Progress::advanced) lane.next(op.program->segments);
        return progress;
    }

    // --- recording -----------------------------------------------------------------------------

    Progress step_recorded(Operation& op, LaneCursor& lane) {
        const LaneCursor before = lane;
        const std::uint64_t begin_ns = base::monotonic_ns();
        const Progress progress = step(op, lane);
        if (progress == Progress::blocked && lane.tried_ns == 0) lane.tried_ns = begin_ns;
        if (progress != Progress::advanced || op.state == Operation::State::draining)
            return progress;
        lane.tried_ns = 0;
        record(op, before, static_cast<std::uint16_t>(&lane - op.lanes.data()),
               before.tried_ns == 0 ? begin_ns : before.tried_ns);
        return progress;
    }
    /// Records a step that is done. `lane` is the lane's state before the step.
    void record(Operation& op, const LaneCursor& lane, std::uint16_t number_of_lane,
                std::uint64_t begin_ns) {
        const BoundStep& step = op.program->steps[lane.at];
        const bool waits = step.kind == plan::StepKind::wait;
        if (step.kind >= plan::StepKind::loop) return;
        if (waits ? lane.skips_wait(step.lag) : lane.skips_signal(step.lag)) return;
        const TeamState& team = *op.team;
        RecordedEvent event{.begin_ns = begin_ns,
                            .end_ns = base::monotonic_ns(),
                            .step = lane.at,
                            .lane = number_of_lane,
                            .kind = event_kind(step.kind)};
        if (step.peer != plan::kNoRank) {
            event.peer = team.setup.job_ranks[static_cast<std::size_t>(step.peer)];
            event.far = team.near(step.peer) == nullptr;
        }
        if (step.kind == plan::StepKind::put || step.kind == plan::StepKind::publish)
            event.bytes = mover_.bytes_of(op, step.source, lane.segment);
        if (step.kind == plan::StepKind::reduce || step.kind == plan::StepKind::copy)
            event.bytes = mover_.bytes_of(op, step.target, lane.segment);
        if (puts_to_peer(step.kind) || step.kind == plan::StepKind::publish || waits) {
            const std::uint32_t segment = waits ? lane.segment - step.lag : lane.segment;
            const std::uint32_t number = op.cell_number(step.number, segment);
            const bool published = step.kind == plan::StepKind::publish ||
                                   (waits && (step.flags & plan::kFromPublished) != 0);
            const base::RegionShape& shape = team.setup.shape;
            const std::uint64_t cell =
                published ? shape.published(op.bank, number) : shape.cell(op.bank, number);
            const bool owns_cell = waits != published;
            event.key = key_of(owns_cell ? job_rank_ : event.peer, team.setup.region + cell,
                               flag(op, segment, step.salt));
        }
        recorder_->add(op.recorded, event);
    }
    [[nodiscard]] static EventKind event_kind(plan::StepKind kind) {
        constexpr int kFirst = static_cast<int>(EventKind::put);
        static_assert(static_cast<int>(EventKind::copy) ==
                      kFirst + static_cast<int>(plan::StepKind::copy));
        return static_cast<EventKind>(kFirst + static_cast<int>(kind));
    }

    /// Returns the flag of a segment. A loop with more iterations than segments reuses ticks, which
    /// is safe: consecutive flags in a cell differ, and each is raised after the previous was seen.
    [[nodiscard]] static base::FlagWord flag(const Operation& op, std::uint32_t segment,
                                             std::uint16_t salt) {
        const std::uint32_t segments = op.program->segments;
        const std::uint32_t ticks = segment < segments ? segment : segment % segments;
        return base::flag_word((op.tick + ticks) & base::kTickMask, flag_hash(op.digest, salt));
    }
    [[nodiscard]] const base::Cell* waited_cell(const Operation& op, const BoundStep& step,
                                                std::uint32_t segment) const {
        const std::uint32_t number = op.cell_number(step.number, segment);
        if ((step.flags & plan::kFromPublished) != 0)
            return op.team->published(step.peer, op.bank, number);
        return op.team->cell(op.bank, number);
    }

    bool arrived(const Operation& op, const LaneCursor& lane, const BoundStep& step) {
        if (lane.skips_wait(step.lag)) return true;
        const std::uint32_t segment = lane.segment - step.lag;
        const base::Cell* cell = waited_cell(op, step, segment);
        const base::FlagWord want = flag(op, segment, step.salt);
        // Acquire: pairs with the release of the writer's flag; makes its payload visible.
        if (cell->flag.load(std::memory_order_acquire) == want) return true;
        if (op.team->near(step.peer) != nullptr) return false;
        wire_.settle(static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(cell) -
                                                mover_.own_segment()));
        return cell->flag.load(std::memory_order_acquire) == want;
    }

    base::Put make_put(Operation& op, LaneCursor& lane, const BoundStep& step) const {
        base::Put put;
        put.peer = op.team->setup.job_ranks[step.peer];
        put.cell = op.team->setup.region +
                   op.team->setup.shape.cell(op.bank, op.cell_number(step.number, lane.segment));
        put.flag = flag(op, lane.segment, step.salt);
        put.more = step.more;
        put.pending = &lane.pending;
        return put;
    }

    Progress post(LaneCursor& lane, const base::Put& put) {
        if (wire_.try_put(put, lane.resume) == base::Post::again) return Progress::blocked;
        lane.resume = 0;
        lane.packed = nullptr;
        return Progress::advanced;
    }

    Progress put(Operation& op, LaneCursor& lane, const BoundStep& step) {
        base::Put put = make_put(op, lane, step);
        base::PutPart packed;
        if (!mover_.list_parts(op, step.source, lane.segment, put.parts, put.bytes)) {
            if (!mover_.pack(op, lane, step.source, put.bytes)) return fail_copy(op, lane);
            packed = {lane.packed, put.bytes};
            put.parts = {&packed, 1};
        }
        if (step.target.count != 0) return put_in_place(op, lane, step, put);
        if (op.program->bulk && !step.in_cell)
            put.target = op.team->setup.region + op.slot_offset(step.number, lane.segment);
        return post(lane, put);
    }

    /// Puts into memory that the peer exposed. For a local peer, copies and sends only a signal.
    Progress put_in_place(Operation& op, LaneCursor& lane, const BoundStep& step, base::Put put) {
        const Memory target = mover_.piece_of(op, step.target, lane.segment);
        if (op.team->near(step.peer) == nullptr) {
            if (put.bytes == 0) return post(lane, put);
            const bool is_accessible = target.reach.method == base::AccessMethod::segment ||
                                       target.reach.method == base::AccessMethod::registered;
            if (target.outside || !is_accessible) return fail_invalid(op, lane, target.peer);
            const base::RemoteRegion region = target.reach.region();
            put.target = target.reach.offset;
            if (target.reach.method == base::AccessMethod::registered) put.region = &region;
            return post(lane, put);
        }
        if (!mover_.copy(op, step.target, step.source, lane.segment)) return fail_copy(op, lane);
        put.parts = {};
        put.bytes = 0;
        return post(lane, put);
    }

    /// Sends the peer a description (base::Reach) of a block of this rank's memory.
    Progress expose(Operation& op, LaneCursor& lane, const BoundStep& step) {
        base::Reach& payload =
            op.exposed[std::size_t{step.operands} * op.program->segments + lane.segment];
        if (op.team->near(step.peer) != nullptr) {
            payload = reach_of(op, step, lane.segment);
        } else if (lane.resume == 0) {  // not 0: the put already reads `payload`
            auto reach = remote_reach_of(op, step, lane.segment);
            if (!reach) {
                op.failure = reach.failure().within(op.program->description);
                return Progress::failed;
            }
            payload = *reach;
        }
        base::Put put = make_put(op, lane, step);
        const base::PutPart part{reinterpret_cast<const std::byte*>(&payload), sizeof payload};
        put.parts = {&part, 1};
        put.bytes = sizeof payload;
        return post(lane, put);
    }

    /// Describes a block for a remote peer. Registers the whole buffer at the first block.
    [[nodiscard]] base::Result<base::Reach> remote_reach_of(Operation& op, const BoundStep& step,
                                                            std::uint32_t segment) {
        const Memory block = mover_.piece_of(op, step.source, segment);
        if (block.bytes == 0) return base::Reach{};
        for (const base::Exposure& exposure : op.exposures) {
            if (exposure.reach.method == base::AccessMethod::registered &&
                block.data >= exposure.data &&
                block.data + block.bytes <= exposure.data + exposure.bytes)
                return exposure.reach.at(static_cast<std::uint64_t>(block.data - exposure.data));
        }
        const Memory touched = mover_.touched(op, step.source, block);
        auto exposure = WEFT_TRY(wire_.memory().expose_far(touched.data, touched.bytes));
        // Memory in the segment needs no registration, and so no unexpose().
        if (exposure.reach.method == base::AccessMethod::registered) {
            op.exposures.push_back(exposure);
            mover_.count_exposed(exposure);
        }
        return exposure.reach.at(static_cast<std::uint64_t>(block.data - touched.data));
    }

    [[nodiscard]] base::Reach reach_of(Operation& op, const BoundStep& step,
                                       std::uint32_t segment) {
        const Memory block = mover_.piece_of(op, step.source, segment);
        for (const base::Exposure& exposure : op.exposures) {
            if (exposure.reach.method == base::AccessMethod::registered) continue;
            for (const std::byte* const start : {exposure.data, exposure.alias}) {
                if (block.data >= start && block.data < start + exposure.bytes)
                    return exposure.reach.at(static_cast<std::uint64_t>(block.data - start));
            }
        }
        // The block is in a slot of the segment, or in a scratch buffer, which the kernel copies.
        return wire_.memory().expose(block.data, 0, base::Access::read, {}).reach;
    }

    void publish(Operation& op, const LaneCursor& lane, const BoundStep& step) {
        const std::uint32_t number = op.cell_number(step.number, lane.segment);
        base::Cell* cell = op.team->published(op.team->setup.rank, op.bank, number);
        std::span<const base::PutPart> parts;
        std::size_t bytes = 0;
        const bool addressable = mover_.list_parts(op, step.source, lane.segment, parts, bytes);
        WEFT_CHECK(addressable, number);
        std::byte* at = cell->payload;
        if (op.program->published_start != 0 && bytes != 0)
            at = Mover<Wire>::published_slot(op, op.team->setup.rank, step.number, lane.segment);
        for (const base::PutPart& part : parts) {
            if (part.bytes > 0) base::copy_bytes(at, part.data, part.bytes);
            at += part.bytes;
        }
        // Release: pairs with the acquire in arrived().
        cell->flag.store(flag(op, lane.segment, step.salt), std::memory_order_release);
    }

    /// Fails the call after the kernel refused a copy between this rank and a local peer. If the
    /// peer has just ended, returns `blocked` for one second.
    Progress fail_copy(Operation& op, const LaneCursor& lane) {
        const Fault& fault = mover_.fault();
        if (fault.error == 0) return fail_invalid(op, lane, fault.peer);
        if (fault.error == ESRCH && lingers()) return Progress::blocked;
        op.failure = base::fail(Status::peer,
                                "{}: step {}: rank {} cannot read or write memory of rank {}: {} "
                                "(has it ended? WEFT_DIRECT=stage avoids such access)",
                                op.program->description, lane.at, job_rank_, fault.peer,
                                std::strerror(fault.error));
        return Progress::failed;
    }
    /// Returns true for one second after the first failed access to a peer that has ended. The
    /// launcher should detect the peer's end before this rank ends, and then ends the job. If a
    /// network loses a peer, the watchdog waits in the same way (watchdog.hpp).
    [[nodiscard]] bool lingers() noexcept {
        const std::uint64_t now = base::monotonic_ns();
        if (gone_since_ns_ == 0) gone_since_ns_ = now;
        return now - gone_since_ns_ < kLingerNs;
    }
    /// Fails the call because a peer sent an invalid description of its memory.
    Progress fail_invalid(Operation& op, const LaneCursor& lane, Rank peer) {
        op.failure = base::fail(Status::peer,
                                "{}: step {}: rank {} exposed a block that is not in its memory; "
                                "is its memory damaged?",
                                op.program->description, lane.at, peer);
        return Progress::failed;
    }

    static constexpr std::uint64_t kLingerNs = 1'000'000'000;

    Wire& wire_;
    Rank job_rank_;
    Mover<Wire> mover_;
    Recorder* recorder_;
    std::uint64_t gone_since_ns_ = 0;  ///< first failed access to an ended peer; 0: none
};

}  // namespace weft::run
