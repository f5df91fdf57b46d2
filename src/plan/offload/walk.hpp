// SPDX-License-Identifier: BSD-3-Clause
// walk.hpp - derives the stages, places and transfers of a rank from its program.
//
// Idea     For each unit of a buffer, the walk keeps the place (range of memory) that has its
//          current value. A copy step assigns the source's place to the target instead of moving
//          data. No two steps write one place.
// Next     offload.cpp, which adds the parts that depend on peers.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "plan/offload/offload.hpp"
#include "plan/schedule/step.hpp"

namespace weft::plan {

inline base::Failure cannot_offload(Rank rank, std::string_view what) {
    return base::fail(Status::unsupported, "rank {} cannot offload: {}", rank, what);
}

/// Alignment of places in bytes: no two arrivals write to one cache line.
inline constexpr std::uint64_t kPlaceAlignment = 64;

/// Units that each put of a rank carries, by peer and slot.
struct Offloader::Sent {
    std::map<std::pair<Rank, std::uint32_t>, std::vector<std::uint32_t>> units;
};

/// Data that a peer puts into a slot.
struct Offloader::Arrival {
    Rank from = kNoRank;
    OffloadStage stage = 0;    ///< stage in which its arrival counts
    std::uint64_t offset = 0;  ///< its place, if `placed`
    std::uint64_t bytes = 0;
    bool placed = false;
    bool combine = false;  ///< combined into its place, not written
};

/// A put of the program, or a local operand that is combined into a place.
struct Offloader::Transfer {
    Rank peer = 0;
    std::uint32_t slot = 0;    ///< put: slot at the peer
    bool own = false;          ///< true: a local operand; false: a put or signal
    OffloadStage after = 0;    ///< starts when this stage is complete
    OffloadStage counted = 0;  ///< operand: stage in which it counts
    std::uint64_t source = 0;  ///< offset in this rank's memory
    std::uint64_t target = 0;  ///< operand: offset in this rank's memory
    std::uint64_t bytes = 0;
};

/// Result of a walk: all of a plan that does not depend on peers.
struct Offloader::Trace {
    std::map<std::uint32_t, Arrival> arrivals;  ///< by slot
    std::vector<Transfer> transfers;
    OffloadStage stages = 0;
    OffloadPlan plan;  ///< only memory_bytes and copies are set
};

class Offloader::Walk {
  public:
    Walk(Offloader& offloader, const Program& program)
        : offloader_(offloader),
          program_(program),
          partition_(program.partition(offloader.request_.elements)),
          trace_(std::make_unique<Trace>()) {
        trace_->plan.memory_bytes = kPlaceAlignment;  // source and target of signals
    }

    base::Result<std::unique_ptr<Trace>> run() {
        if (program_.lanes.size() > 1)
            return cannot_offload(program_.rank, "the schedule has several lanes");
        for (const Lane& lane : program_.lanes) {
            for (std::uint32_t i = 0; i < lane.count; ++i) {
                if (auto done = add_step(program_.steps[lane.first + i]); !done)
                    return done.failure();
            }
        }
        end();
        return std::move(trace_);
    }

  private:
    /// Place of a unit's current value.
    struct StagedUnit {
        std::uint64_t offset = 0;
        OffloadStage stage = 0;  ///< the value is complete after this stage
        bool reduced = false;    ///< result of a reduction
    };
    using Vector = std::vector<std::optional<StagedUnit>>;  ///< by unit; nullopt: not written

    /// Contiguous bytes, or the whole payload of a slot that has no place yet.
    struct StagedBytes {
        StagedUnit place;
        std::uint64_t bytes = 0;
        Arrival* arrival = nullptr;  ///< the slot without a place; nullptr: `place` is set
    };

    /// Adds a step to the trace. Fails if a NIC cannot run it.
    base::Result<void> add_step(const Step& step) {
        switch (step.kind) {
            case StepKind::put:
                if (step.target.count != 0) break;
                return put(step);
            case StepKind::signal:
                if (step.lag != 0) break;
                trace_->transfers.push_back({.peer = step.peer,
                                             .slot = step.signal,
                                             .after = close_stage(),
                                             .bytes = kSignalBytes});
                return {};
            case StepKind::wait:
                if (step.lag != 0 || (step.flags & kFromPublished) != 0) break;
                return wait(step);
            case StepKind::flush:
                return {};  // sources are never overwritten
            case StepKind::reduce:
                return reduce(step);
            case StepKind::copy:
                return copy(step);
            case StepKind::loop:
                return cannot_offload(program_.rank, "the schedule has a loop (segments)");
            case StepKind::expose:
            case StepKind::publish:
                break;
        }
        return cannot_offload(program_.rank,
                              "the schedule reads or writes memory of peers in place");
    }

    /// Closes the open stage if it has waits or operands. Returns the last closed stage, after
    /// which the next descriptors start.
    OffloadStage close_stage() {
        if (open_used_) {
            ++open_;
            open_used_ = false;
        }
        return open_ - 1;
    }

    std::uint64_t allocate(std::uint64_t bytes) {
        std::uint64_t& end = trace_->plan.memory_bytes;
        const std::uint64_t offset = end;
        end += (bytes + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
        return offset;
    }
    /// Returns the offset of a unit in a buffer, in bytes.
    [[nodiscard]] std::uint64_t bytes_at(std::uint32_t unit) const {
        return partition_.begin(unit) * offloader_.request_.element_bytes;
    }
    [[nodiscard]] std::uint64_t bytes_of(const std::vector<std::uint32_t>& units) const {
        std::uint64_t bytes = 0;
        for (const std::uint32_t unit : units)
            bytes += partition_.size(unit) * offloader_.request_.element_bytes;
        return bytes;
    }
    [[nodiscard]] std::vector<std::uint32_t> units_in(const BlockList& list) const {
        return units_of(program_, list);
    }

    base::Result<void> put(const Step& step) {
        const auto run = placed(step.source);
        if (!run) return run.failure();
        trace_->transfers.push_back({.peer = step.peer,
                                     .slot = step.signal,
                                     .after = close_stage(),
                                     .source = run->place.offset,
                                     .bytes = run->bytes});
        return {};
    }

    base::Result<void> wait(const Step& step) {
        const auto sent = offloader_.sent_by(step.peer);
        if (!sent) return sent.failure();
        const auto payload = (*sent)->units.find({program_.rank, step.signal});
        if (payload == (*sent)->units.end())
            return cannot_offload(program_.rank, fmt::format("rank {} puts nothing into slot {}",
                                                             step.peer, step.signal));
        const auto [arrival, is_new] = trace_->arrivals.try_emplace(
            step.signal,
            Arrival{.from = step.peer, .stage = open_, .bytes = bytes_of(payload->second)});
        if (!is_new) return cannot_offload(program_.rank, "a slot is awaited twice");
        payloads_[step.signal] = payload->second;
        open_used_ = true;
        return {};
    }

    /// Returns the buffer that contains a block, or nullptr if the rank does not own it.
    Vector* vector_of(const Block& block) {
        switch (block.buffer) {
            case Buffer::input:
                if (input_.empty()) read_input();
                return &input_;
            case Buffer::output:
                output_.resize(program_.units);
                return &output_;
            case Buffer::scratch:
                scratch_[block.index].resize(program_.units);
                return &scratch_[block.index];
            case Buffer::slot:
            case Buffer::published:
            case Buffer::mapped:
                break;
        }
        return nullptr;
    }

    /// Allocates places for the whole input, into which it is copied before the call starts.
    void read_input() {
        const std::uint64_t bytes = bytes_at(program_.units);
        const std::uint64_t offset = allocate(bytes);
        trace_->plan.inputs.push_back({offset, 0, partition_.elements()});
        for (std::uint32_t unit = 0; unit < program_.units; ++unit)
            input_.push_back(StagedUnit{offset + bytes_at(unit), 0, false});
    }

    /// Returns the bytes of a block list, which must be contiguous. If the list is a whole slot
    /// without a place, the result refers to the slot.
    base::Result<StagedBytes> find(const BlockList& list) {
        StagedBytes run;
        bool first = true;
        for (std::uint32_t i = 0; i < list.count; ++i) {
            const Block& block = program_.blocks[list.start + i];
            if (block.buffer == Buffer::slot) {
                if (auto whole = whole_slot(list)) return *whole;
            }
            for (std::uint32_t u = 0; u < block.count; ++u) {
                const std::uint32_t unit = block.first + u * block.stride;
                const auto place = place_of(block, unit);
                if (!place) return place.failure();
                if (!first && place->offset != run.place.offset + run.bytes &&
                    partition_.size(unit) != 0)
                    return cannot_offload(program_.rank,
                                          "a put or an operand is in several places");
                if (first) run.place.offset = place->offset;
                run.place.stage = std::max(run.place.stage, place->stage);
                run.place.reduced = run.place.reduced || place->reduced;
                run.bytes += partition_.size(unit) * offloader_.request_.element_bytes;
                first = false;
            }
        }
        return run;
    }

    /// Returns the whole payload of a slot if the list names it and it has no place yet.
    std::optional<StagedBytes> whole_slot(const BlockList& list) {
        if (list.count != 1) return std::nullopt;
        const Block& block = program_.blocks[list.start];
        const auto found = trace_->arrivals.find(block.index);
        if (found == trace_->arrivals.end() || found->second.placed) return std::nullopt;
        if (units_in(list) != payloads_[block.index]) return std::nullopt;
        return StagedBytes{{0, found->second.stage, false}, found->second.bytes, &found->second};
    }

    base::Result<StagedUnit> place_of(const Block& block, std::uint32_t unit) {
        if (block.buffer == Buffer::slot) return place_in_slot(block.index, unit);
        const Vector* const vector = vector_of(block);
        if (vector == nullptr)
            return cannot_offload(program_.rank, "the schedule reads memory of peers in place");
        const auto& place = (*vector)[unit];
        if (!place) return cannot_offload(program_.rank, "a step reads an unwritten unit");
        return *place;
    }
    base::Result<StagedUnit> place_in_slot(std::uint32_t slot, std::uint32_t unit) {
        const auto found = trace_->arrivals.find(slot);
        if (found == trace_->arrivals.end())
            return cannot_offload(program_.rank, "a step reads a slot that was not awaited");
        Arrival& arrival = found->second;
        if (arrival.combine)
            return cannot_offload(program_.rank, "a slot is read after it was reduced");
        if (!arrival.placed) allocate_place(arrival);
        std::uint64_t offset = arrival.offset;
        for (const std::uint32_t other : payloads_[slot]) {
            if (other == unit) return StagedUnit{offset, arrival.stage, false};
            offset += partition_.size(other) * offloader_.request_.element_bytes;
        }
        return cannot_offload(program_.rank, "a step reads a unit that its slot does not receive");
    }
    void allocate_place(Arrival& arrival) {
        arrival.offset = allocate(arrival.bytes);
        arrival.placed = true;
    }

    /// As find(), but first allocates a place for a slot that has none.
    base::Result<StagedBytes> placed(const BlockList& list) {
        auto run = find(list);
        if (!run || run->arrival == nullptr) return run;
        allocate_place(*run->arrival);
        run->place.offset = run->arrival->offset;
        run->arrival = nullptr;
        return run;
    }

    base::Result<void> reduce(const Step& step) {
        const std::uint32_t each = step.operands == 0 ? 0 : step.source.count / step.operands;
        if (each == 0) return cannot_offload(program_.rank, "a reduction has no operands");
        std::vector<StagedBytes> operands;
        for (std::uint32_t i = 0; i < step.operands; ++i) {
            auto run = find({step.source.start + i * each, each});
            if (!run) return run.failure();
            operands.push_back(*run);
        }
        StagedBytes result = operands.front();
        const std::size_t at_a_time = offloader_.request_.any_order ? operands.size() : 2;
        for (std::size_t next = 1; next < operands.size();) {
            std::vector<StagedBytes> group{result};
            while (next < operands.size() && group.size() < at_a_time)
                group.push_back(operands[next++]);
            result = combine(group);
        }
        result.place.reduced = true;
        return write_targets(step, result);
    }

    /// Allocates a place, and adds a transfer for each local operand. Operands from peers that have
    /// no place are combined into this one on arrival.
    StagedBytes combine(const std::vector<StagedBytes>& operands) {
        const std::uint64_t bytes = operands.front().bytes;
        const std::uint64_t offset = allocate(bytes);
        trace_->plan.fills.push_back({offset, 0, bytes / offloader_.request_.element_bytes});
        OffloadStage complete = 0;
        for (const StagedBytes& operand : operands) {
            if (operand.arrival != nullptr) {
                operand.arrival->offset = offset;
                operand.arrival->placed = true;
                operand.arrival->combine = true;
                complete = std::max(complete, operand.arrival->stage);
                continue;
            }
            if (operand.place.stage == open_) close_stage();
            trace_->transfers.push_back({.peer = program_.rank,
                                         .own = true,
                                         .after = open_ - 1,
                                         .counted = open_,
                                         .source = operand.place.offset,
                                         .target = offset,
                                         .bytes = bytes});
            open_used_ = true;
            complete = open_;
        }
        return {{offset, complete, true}, bytes};
    }

    base::Result<void> copy(const Step& step) {
        auto run = placed(step.source);
        if (!run) return run.failure();
        return write_targets(step, *run);
    }

    base::Result<void> write_targets(const Step& step, const StagedBytes& run) {
        for (std::uint32_t target = 0; target < targets_of(step); ++target) {
            const BlockList list = target_of(step, target);
            std::uint64_t offset = run.place.offset;
            for (std::uint32_t i = 0; i < list.count; ++i) {
                const Block& block = program_.blocks[list.start + i];
                Vector* const vector = block.buffer == Buffer::input ? nullptr : vector_of(block);
                if (vector == nullptr)
                    return cannot_offload(program_.rank,
                                          "the schedule writes memory of peers in place");
                for (std::uint32_t u = 0; u < block.count; ++u) {
                    const std::uint32_t unit = block.first + u * block.stride;
                    (*vector)[unit] = StagedUnit{offset, run.place.stage, run.place.reduced};
                    offset += partition_.size(unit) * offloader_.request_.element_bytes;
                }
            }
        }
        return {};
    }

    /// Allocates the remaining places, and lists the outputs as few copies.
    void end() {
        for (auto& [slot, arrival] : trace_->arrivals)
            if (!arrival.placed && arrival.bytes != 0) allocate_place(arrival);
        trace_->stages = open_used_ ? open_ : open_ - 1;
        OffloadPlan& plan = trace_->plan;
        for (std::uint32_t unit = 0; unit < output_.size(); ++unit) {
            if (!output_[unit] || partition_.size(unit) == 0) continue;
            plan.reduces = plan.reduces || output_[unit]->reduced;
            const std::uint64_t offset = output_[unit]->offset;
            if (!plan.outputs.empty()) {
                OffloadCopy& last = plan.outputs.back();
                const bool follows =
                    last.first + last.count == partition_.begin(unit) &&
                    last.offset + last.count * offloader_.request_.element_bytes == offset;
                if (follows) {
                    last.count += partition_.size(unit);
                    continue;
                }
            }
            plan.outputs.push_back({offset, partition_.begin(unit), partition_.size(unit)});
        }
    }

  public:
    static std::vector<std::uint32_t> units_of(const Program& program, const BlockList& list) {
        std::vector<std::uint32_t> units;
        for (std::uint32_t i = 0; i < list.count; ++i) {
            const Block& block = program.blocks[list.start + i];
            for (std::uint32_t u = 0; u < block.count; ++u)
                units.push_back(block.first + u * block.stride);
        }
        return units;
    }

  private:
    Offloader& offloader_;
    const Program& program_;
    Partition partition_;
    std::unique_ptr<Trace> trace_;
    Vector input_;
    Vector output_;
    std::map<std::uint32_t, Vector> scratch_;
    std::map<std::uint32_t, std::vector<std::uint32_t>> payloads_;  ///< by slot: units it receives
    OffloadStage open_ = 1;   ///< the stage in which the next waits count
    bool open_used_ = false;  ///< the open stage has waits or operands
};

}  // namespace weft::plan
