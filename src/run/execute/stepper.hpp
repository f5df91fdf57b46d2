// SPDX-License-Identifier: BSD-3-Clause
// stepper.hpp - moves one operation forward, step by step, until each lane has to wait.
//
// Idea     The interpreter of bound programs. Addresses come from the operation's registers, the
//          team's regions and the operation's banks; nothing else is looked up.
// Holds    Nothing blocks and, after the first call of a shape, nothing allocates. A step is done
//          once. An operation is complete when all lanes have ended and no transfer still reads its
//          buffers.
// Next     engine.hpp for who calls it; fused.hpp for programs that need no interpreter.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "base/put.hpp"
#include "run/execute/operation.hpp"
#include "run/execute/team_state.hpp"
#include "run/execute/transport.hpp"

namespace weft::run {

/// A lane's next step could not be done yet, was done, or can never be done.
enum class Progress : std::uint8_t { blocked, advanced, failed };

template <Transport Wire>
class Stepper {
  public:
    explicit Stepper(Wire& wire, Rank job_rank) : wire_(wire), own_(wire.near(job_rank)) {}

    /// Makes room for the longest step of a program, so that advance() does not allocate.
    void reserve(const BoundProgram& program) {
        if (parts_.capacity() < program.pieces_max) parts_.reserve(program.pieces_max);
        if (operands_.capacity() < program.pieces_max) operands_.reserve(program.pieces_max);
    }

    /// Runs every lane as far as it goes. True if any step was done or the operation ended.
    bool advance(Operation& op) {
        bool moved = false;
        bool lanes_ended = true;
        for (LaneState& lane : op.lanes) {
            while (lane.at < lane.end) {
                const Progress progress = step(op, lane);
                if (progress == Progress::failed) {
                    op.state = Operation::State::failed;
                    return true;
                }
                if (progress == Progress::blocked) break;
                moved = true;
            }
            lanes_ended = lanes_ended && lane.at == lane.end;
        }
        if (lanes_ended && op.pending == 0) {
            op.state = Operation::State::complete;
            return true;
        }
        return moved;
    }

    /// The flag that a blocked wait tests, and the expected value.
    struct Awaited {
        base::FlagWord have = 0;
        base::FlagWord want = 0;
    };
    [[nodiscard]] Awaited awaited(const Operation& op, const LaneState& lane) const {
        const BoundStep& step = op.program->steps[lane.at];
        const std::uint32_t segment = lane.segment - step.lag;
        const base::Cell* cell = waited_cell(op, step, segment);
        return {cell->flag.load(std::memory_order_relaxed), flag(op, segment, step.salt)};
    }

  private:
    Progress step(Operation& op, LaneState& lane) {
        const BoundStep& step = op.program->steps[lane.at];
        Progress progress = Progress::advanced;
        switch (step.kind) {
            case plan::StepKind::put:
                progress = put(op, lane, step);
                break;
            case plan::StepKind::signal:
                progress = signal(op, lane, step);
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
                if (op.pending != 0) return Progress::blocked;
                break;
            case plan::StepKind::reduce:
                reduce(op, lane, step);
                break;
            case plan::StepKind::copy:
                copy(op, lane, step);
                break;
            case plan::StepKind::loop:
                lane.open_loop(step.number, step.operands);
                break;
        }
        if (progress == Progress::advanced) lane.next(op.program->segments);
        return progress;
    }

    // --- signals -------------------------------------------------------------------------------

    [[nodiscard]] static std::uint32_t cell_number(const Operation& op, std::uint32_t number,
                                                   std::uint32_t segment) {
        return number * op.program->depth + segment % op.program->depth;
    }
    /// Loops that run more often than there are segments begin anew with their ticks: flags that
    /// follow each other in one cell differ, and who waits for one has seen the one before.
    [[nodiscard]] static base::FlagWord flag(const Operation& op, std::uint32_t segment,
                                             std::uint32_t salt) {
        const std::uint32_t segments = op.program->segments;
        const std::uint32_t turn = segment < segments ? segment : segment % segments;
        return base::flag_word((op.tick + turn) & base::kTickMask, flag_hash(op.digest ^ salt));
    }
    [[nodiscard]] const base::Cell* waited_cell(const Operation& op, const BoundStep& step,
                                                std::uint32_t segment) const {
        const std::uint32_t number = cell_number(op, step.number, segment);
        if ((step.flags & plan::kFromPublished) != 0)
            return op.team->published(step.peer, op.bank, number);
        return op.team->cell(op.bank, number);
    }

    bool arrived(const Operation& op, const LaneState& lane, const BoundStep& step) {
        if (lane.skips(plan::StepKind::wait, step.lag)) return true;
        const std::uint32_t segment = lane.segment - step.lag;
        const base::Cell* cell = waited_cell(op, step, segment);
        const base::FlagWord want = flag(op, segment, step.salt);
        // Acquire: pairs with the release of the writer's flag; its payload is visible after it.
        if (cell->flag.load(std::memory_order_acquire) == want) return true;
        if (op.team->near(step.peer) != nullptr) return false;
        wire_.settle(static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(cell) - own_));
        return cell->flag.load(std::memory_order_acquire) == want;
    }

    base::Put start_put(Operation& op, const LaneState& lane, const BoundStep& step) const {
        base::Put put;
        put.peer = op.team->setup.job_ranks[step.peer];
        put.cell = op.team->setup.region +
                   op.team->setup.shape.cell(op.bank, cell_number(op, step.number, lane.segment));
        put.flag = flag(op, lane.segment, step.salt);
        put.pending = &op.pending;
        return put;
    }

    Progress post(LaneState& lane, const base::Put& put) {
        if (wire_.try_put(put, lane.resume) == base::Post::again) return Progress::blocked;
        lane.resume = 0;
        return Progress::advanced;
    }

    Progress put(Operation& op, LaneState& lane, const BoundStep& step) {
        base::Put put = start_put(op, lane, step);
        parts_.clear();
        walk(op, step.source, lane.segment, [&](std::byte* data, std::size_t bytes) {
            parts_.push_back({data, bytes});
            put.bytes += bytes;
        });
        put.parts = parts_;
        if (step.target.count != 0) {
            put.target = exposed_offset(op, op.program->pieces[step.target.start], lane.segment);
        } else if (op.program->bulk && !step.in_cell) {
            put.target = op.team->setup.region + slot_offset(op, step.number, lane.segment);
        }
        return post(lane, put);
    }

    Progress signal(Operation& op, LaneState& lane, const BoundStep& step) {
        if (lane.skips(plan::StepKind::signal, step.lag)) return Progress::advanced;
        return post(lane, start_put(op, lane, step));
    }

    /// Sends the peer the place of a block: an offset in this rank's segment.
    Progress expose(Operation& op, LaneState& lane, const BoundStep& step) {
        const std::byte* data = nullptr;
        walk(op, step.source, lane.segment, [&](std::byte* at, std::size_t) { data = at; });
        const std::uint64_t offset = static_cast<std::uint64_t>(data - own_);
        if (data < own_ || offset >= wire_.segment_bytes()) {
            op.failure =
                base::fail(Status::unsupported,
                           "{}: step {} exposes memory to rank {} that does not lie in the "
                           "heap; allocate the buffer there",
                           op.program->description, lane.at, step.peer);
            return Progress::failed;
        }
        std::uint64_t& payload =
            op.exposed[std::size_t{step.operands} * op.program->segments + lane.segment];
        payload = offset;
        base::Put put = start_put(op, lane, step);
        const base::PutPart part{reinterpret_cast<const std::byte*>(&payload), sizeof payload};
        put.parts = {&part, 1};
        put.bytes = sizeof offset;
        return post(lane, put);
    }

    void publish(Operation& op, const LaneState& lane, const BoundStep& step) {
        const std::uint32_t number = cell_number(op, step.number, lane.segment);
        base::Cell* cell = op.team->published(op.team->setup.rank, op.bank, number);
        std::byte* at = cell->payload;
        walk(op, step.source, lane.segment, [&](const std::byte* data, std::size_t bytes) {
            std::memcpy(at, data, bytes);
            at += bytes;
        });
        // Release: pairs with the acquire in arrived().
        cell->flag.store(flag(op, lane.segment, step.salt), std::memory_order_release);
    }

    // --- data ----------------------------------------------------------------------------------

    void reduce(Operation& op, const LaneState& lane, const BoundStep& step) {
        const std::uint32_t width = step.source.count / step.operands;
        if (width == 0) return;
        const std::uint32_t targets = step.target.count / width;
        packed_by_list_.assign(step.operands + targets, 0);
        const auto piece_of = [&](PieceList all, std::uint32_t list, std::uint32_t i,
                                  std::uint64_t& packed) {
            const Piece& piece = op.program->pieces[all.start + list * width + i];
            return resolve(op, piece, lane.segment, packed);
        };
        for (std::uint32_t i = 0; i < width; ++i) {
            operands_.clear();
            for (std::uint32_t operand = 0; operand < step.operands; ++operand)
                operands_.push_back(
                    piece_of(step.source, operand, i, packed_by_list_[operand]).data);
            const Resolved first = piece_of(step.target, 0, i, packed_by_list_[step.operands]);
            reduce_many(op.reducer, first.data, operands_, first.bytes / op.program->element_bytes);
            for (std::uint32_t target = 1; target < targets; ++target) {
                const Resolved other =
                    piece_of(step.target, target, i, packed_by_list_[step.operands + target]);
                if (other.data != first.data && other.bytes > 0)
                    std::memcpy(other.data, first.data, first.bytes);
            }
        }
    }

    /// Copies list to list; the two may be cut differently.
    void copy(Operation& op, const LaneState& lane, const BoundStep& step) {
        parts_.clear();
        walk(op, step.source, lane.segment, [&](std::byte* data, std::size_t bytes) {
            parts_.push_back({data, bytes});
        });
        std::size_t part = 0;
        std::size_t used = 0;
        walk(op, step.target, lane.segment, [&](std::byte* data, std::size_t bytes) {
            while (bytes > 0 && part < parts_.size()) {
                const std::size_t now = std::min(bytes, parts_[part].bytes - used);
                const std::byte* from = parts_[part].data + used;
                if (now > 0 && from != data) std::memmove(data, from, now);
                data += now;
                bytes -= now;
                used += now;
                if (used == parts_[part].bytes) {
                    ++part;
                    used = 0;
                }
            }
        });
    }

    struct Resolved {
        std::byte* data = nullptr;
        std::size_t bytes = 0;
    };

    template <class Visit>
    void walk(Operation& op, PieceList list, std::uint32_t segment, Visit visit) {
        std::uint64_t packed = 0;
        for (std::uint32_t i = 0; i < list.count; ++i) {
            const Resolved at = resolve(op, op.program->pieces[list.start + i], segment, packed);
            visit(at.data, at.bytes);
        }
    }

    /// Address and size of a piece. `packed` runs over the pieces of a list whose sizes change from
    /// segment to segment: how far the payload has been read.
    Resolved resolve(Operation& op, const Piece& piece, std::uint32_t segment,
                     std::uint64_t& packed) const {
        if (!piece.moving) {
            packed += piece.bytes;
            return {base_of(op, piece, segment) + piece.offset, piece.bytes};
        }
        const plan::Partition& partition = op.program->partition;
        const std::uint32_t shift = piece.advance * segment;
        const std::uint64_t element = op.program->element_bytes;
        const std::uint64_t begin = partition.begin(piece.first + shift);
        const std::uint64_t bytes = partition.size(piece.first + shift, piece.count) * element;
        const bool vector = piece.buffer == plan::Buffer::input ||
                            piece.buffer == plan::Buffer::output ||
                            piece.buffer == plan::Buffer::scratch;
        std::uint64_t offset = 0;
        if (vector) {
            offset = op.program->place(piece.buffer, piece.first + shift) * element;
        } else {
            offset = packed + (begin - partition.begin(piece.origin + shift)) * element;
        }
        packed += bytes;
        return {base_of(op, piece, segment) + offset, bytes};
    }

    [[nodiscard]] std::byte* base_of(Operation& op, const Piece& piece,
                                     std::uint32_t segment) const {
        switch (piece.buffer) {
            case plan::Buffer::input:
                return const_cast<std::byte*>(op.registers.input);
            case plan::Buffer::output:
                return op.registers.output;
            case plan::Buffer::scratch:
                return op.scratch.data() + piece.index * scratch_stride(op);
            case plan::Buffer::slot:
                if (op.program->bulk && !piece.in_cell)
                    return op.team->own_region + slot_offset(op, piece.index, segment);
                return op.team->cell(op.bank, cell_number(op, piece.index, segment))->payload;
            case plan::Buffer::published:
                return op.team
                    ->published(piece.peer, op.bank, cell_number(op, piece.index, segment))
                    ->payload;
            case plan::Buffer::mapped:
                return wire_.near(op.team->setup.job_ranks[piece.peer]) +
                       exposed_base(op, piece, segment);
        }
        return nullptr;
    }

    [[nodiscard]] static std::uint64_t scratch_stride(const Operation& op) {
        return op.program->scratch_bytes / op.program->program.scratch;
    }
    /// Where a slot lies, from the start of the region.
    [[nodiscard]] static std::uint64_t slot_offset(const Operation& op, std::uint32_t number,
                                                   std::uint32_t segment) {
        return op.bulk_offset + op.program->slot_offset(number, segment % op.program->depth);
    }
    /// The payload of a peer's expose: the start of the block, as an offset in the peer's segment.
    [[nodiscard]] static std::uint64_t exposed_base(const Operation& op, const Piece& piece,
                                                    std::uint32_t segment) {
        std::uint64_t offset = 0;
        const base::Cell* cell = op.team->cell(op.bank, cell_number(op, piece.index, segment));
        std::memcpy(&offset, cell->payload, sizeof offset);
        return offset;
    }
    [[nodiscard]] std::uint64_t exposed_offset(Operation& op, const Piece& piece,
                                               std::uint32_t segment) const {
        const plan::Partition& partition = op.program->partition;
        const std::uint32_t shift = piece.advance * segment;
        return exposed_base(op, piece, segment) +
               (partition.begin(piece.first + shift) - partition.begin(piece.origin + shift)) *
                   op.program->element_bytes;
    }

    Wire& wire_;
    std::byte* own_;
    std::vector<base::PutPart> parts_;
    std::vector<const std::byte*> operands_;
    std::vector<std::uint64_t> packed_by_list_;
};

}  // namespace weft::run
