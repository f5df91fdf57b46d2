// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/fingerprint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "plan/schedule/canonical.hpp"
#include "plan/schedule/cursor.hpp"
#include "tests/support/prints.hpp"
#include "tools/text/text.hpp"
#include "tools/verify/verify.hpp"

namespace weft::plan {

namespace {

/// State of one copy of a slot.
struct Flag {
    std::uint32_t use = 0;  ///< 2s + 1 after the raise for segment s, 2s + 2 after the wait for it
    Rank sender = 0;        ///< rank of the latest raise
};

/// A block that a rank has exposed, stored at the rank that may use it.
struct Exposed {
    Rank owner = kNoRank;
    Block block;  ///< after the advance for `segment`
    std::uint32_t segment = 0;
    bool written = false;  ///< the peer may write it
};

struct LaneState {
    Cursor cursor;
    std::uint32_t awaited_slot = 0;  ///< number of the slot; only valid if the lane waits
    bool waits = false;
};

struct RankState {
    bool started = false;
    bool ended = false;
    bool ready = true;   ///< not started, or a signal that a lane waits for has been raised
    bool keeps = false;  ///< the program is kept while the rank waits
    std::optional<Program> program;
    std::vector<LaneState> lanes;
    Zeroed<Flag> flags;
    Zeroed<Fingerprint> slots;
    std::vector<Zeroed<Fingerprint>> buffers;  ///< output, then scratch
    /// Blocks exposed to this rank, by copy of the signal's slot.
    std::unordered_map<std::uint32_t, Exposed> exposed;
    UnitRange input;
    UnitRange output;
    std::uint64_t raised = 0;   ///< number of raises of this rank's slots
    std::uint64_t awaited = 0;  ///< number of completed waits of this rank
};

class Run {
  public:
    explicit Run(const FingerprintInput& input)
        : input_(input), prints_(input.seed, input.ordered) {
        ranks_.resize(static_cast<std::size_t>(input.ranks));
    }

    FingerprintVerdict judge() {
        verdict_.valid = sweep() && all_ended();
        return std::move(verdict_);
    }

  private:
    enum class Outcome : std::uint8_t { done, blocked, wrong };
    /// The step being executed.
    struct Site {
        Rank rank;
        RankState& state;
        const Program& program;
        const Cursor& cursor;
        std::uint32_t segment = cursor.segment;
    };

    bool fail(std::string why) {
        if (verdict_.error.empty()) verdict_.error = std::move(why);
        return false;
    }

    /// Runs ranks until no rank can continue. Alternates between ascending and descending order, so
    /// that chains in both directions progress far in one pass. Returns false after an error.
    bool sweep() {
        bool progressed = true;
        for (bool up = true; progressed; up = !up) {
            progressed = false;
            for (Rank i = 0; i < input_.ranks; ++i) {
                const Rank rank = up ? i : input_.ranks - 1 - i;
                RankState& state = ranks_[static_cast<std::size_t>(rank)];
                if (state.ended || !state.ready) continue;
                state.ready = false;
                progressed = true;
                if (!continue_rank(rank, state)) return false;
            }
        }
        return true;
    }

    bool continue_rank(Rank rank, RankState& state) {
        if (!state.program && !load(rank, state)) return false;
        bool ended = true;
        for (std::size_t lane = 0; lane < state.lanes.size(); ++lane) {
            if (!run_lane(rank, state, state.lanes[lane])) return false;
            ended = ended && state.lanes[lane].cursor.ended();
        }
        const std::uint64_t bytes = bytes_of(*state.program);
        if (!state.keeps && kept_ + bytes <= input_.program_bytes_max) {
            state.keeps = true;
            kept_ += bytes;
        }
        if (ended && !end(rank, state)) return false;
        if (ended && state.keeps) kept_ -= bytes;
        if (ended || !state.keeps) state.program.reset();
        return true;
    }

    static std::uint64_t bytes_of(const Program& program) {
        return program.steps.size() * sizeof(Step) + program.blocks.size() * sizeof(Block);
    }

    /// Generates and checks the program of a rank.
    bool load(Rank rank, RankState& state) {
        auto made = input_.program_of(rank);
        if (!made)
            return fail(fmt::format("rank {} has no program: {}", rank, made.failure().text));
        state.program = *std::move(made);
        const Program& program = *state.program;
        if (std::string wrong = malformed(program); !wrong.empty()) return fail(std::move(wrong));
        if (!header_) set_header(program);
        const std::string_view field = differing_field(program, *header_);
        if (!field.empty() || program.rank != rank || program.size != input_.ranks)
            return fail(fmt::format("rank {}: header field '{}' differs from rank 0", rank,
                                    field.empty() ? "rank" : field));
        if (state.started) return true;
        state.started = true;
        state.input = input_.contract->input_of(program);
        state.output = input_.contract->output_of(program);
        state.buffers.resize(1 + program.scratch);
        if (!state.flags.is_made()) state.flags.make(copies());
        for (const Lane& lane : program.lanes)
            state.lanes.push_back({.cursor = begin_of(lane, program.segments)});
        return true;
    }

    void set_header(const Program& program) {
        header_ = program;
        header_->steps.clear();
        header_->blocks.clear();
        header_->lanes.clear();
        starts_.push_back(0);
        for (std::uint32_t slot = 0; slot < program.slots; ++slot)
            starts_.push_back(starts_.back() +
                              std::uint64_t{program.capacity_of(slot)} * program.depth);
    }
    [[nodiscard]] std::uint64_t copies() const {
        return std::uint64_t{header_->slots} * header_->depth;
    }

    bool run_lane(Rank rank, RankState& state, LaneState& lane) {
        const Program& program = *state.program;
        lane.waits = false;
        for (Cursor& cursor = lane.cursor; !cursor.ended(); advance(cursor, program)) {
            const Step& step = program.steps[cursor.at];
            switch (this->step({rank, state, program, cursor}, step)) {
                case Outcome::done:
                    break;
                case Outcome::blocked:
                    lane.waits = true;
                    lane.awaited_slot = step.signal;
                    return true;
                case Outcome::wrong:
                    verdict_.error = fmt::format("rank {} step {} ({}) {}", rank, cursor.at,
                                                 to_text(program, step), verdict_.error);
                    return false;
            }
        }
        return true;
    }

    static Outcome outcome_of(bool good) { return good ? Outcome::done : Outcome::wrong; }

    Outcome step(const Site& site, const Step& step) {
        if (skips(site.cursor, step)) return Outcome::done;
        switch (step.kind) {
            case StepKind::put:
                return outcome_of(put(site, step));
            case StepKind::signal:
                ++verdict_.signals;
                return outcome_of(raise(site, step));
            case StepKind::wait:
                return wait(site, step);
            case StepKind::reduce:
            case StepKind::copy:
                return outcome_of(reduce(site, step));
            case StepKind::expose:
                ++verdict_.signals;
                return outcome_of(expose(site, step));
            case StepKind::publish:
                return outcome_of(fail("publishes a cell: programs must not be localized"));
            case StepKind::flush:
            case StepKind::loop:
            case StepKind::sleep:
            case StepKind::compute:
                break;
        }
        return Outcome::done;
    }

    [[nodiscard]] std::uint32_t copy_of(std::uint32_t number, std::uint32_t segment) const {
        return number * header_->depth + segment % header_->depth;
    }
    /// Returns the start of a copy of a slot.
    [[nodiscard]] std::uint64_t start_of(std::uint32_t number, std::uint32_t segment) const {
        const std::uint64_t units = (starts_[number + 1] - starts_[number]) / header_->depth;
        return starts_[number] + segment % header_->depth * units;
    }

    bool raise(const Site& site, const Step& step) {
        RankState& target = ranks_[static_cast<std::size_t>(step.peer)];
        if (target.ended)
            return fail(fmt::format("raises a signal of rank {}, which has ended", step.peer));
        if (!target.flags.is_made()) target.flags.make(copies());
        Flag& flag = target.flags[copy_of(step.signal, site.segment)];
        if (flag.use % 2 != 0)
            return fail(
                fmt::format("raises slot {} of rank {}, which has not awaited the earlier "
                            "raise by rank {}",
                            step.signal, step.peer, flag.sender));
        if (flag.use > 2 * site.segment)
            return fail(
                fmt::format("raises slot {} of rank {} a second time", step.signal, step.peer));
        flag = {2 * site.segment + 1, site.rank};
        ++target.raised;
        target.ready =
            target.ready || std::ranges::any_of(target.lanes, [&](const LaneState& lane) {
                return lane.waits && lane.awaited_slot == step.signal;
            });
        return true;
    }

    bool expose(const Site& site, const Step& step) {
        const Block block = at_segment(blocks_of(site.program, step.source).front(), site.segment);
        if (!in_range(block) || !raise(site, step)) return false;
        ranks_[static_cast<std::size_t>(step.peer)].exposed[copy_of(step.signal, site.segment)] = {
            site.rank, block, site.segment, (step.flags & kWritten) != 0};
        return true;
    }
    Outcome wait(const Site& site, const Step& step) {
        const std::uint32_t segment = site.segment - step.lag;
        Flag& flag = site.state.flags[copy_of(step.signal, segment)];
        if (flag.use < 2 * segment + 1) return Outcome::blocked;
        if (flag.use > 2 * segment + 1)
            return outcome_of(fail("awaits a signal for the second time"));
        if (flag.sender != step.peer)
            return outcome_of(fail(fmt::format("waits for rank {}, but rank {} raised slot {}",
                                               step.peer, flag.sender, step.signal)));
        ++flag.use;
        ++site.state.awaited;
        return Outcome::done;
    }

    bool put(const Site& site, const Step& step) {
        if (!read_list(site, step.source, values_) || !raise(site, step)) return false;
        ++verdict_.messages;
        verdict_.units_sent += values_.size();
        if (step.target.count != 0) return write_list(site, step.target, values_);
        RankState& target = ranks_[static_cast<std::size_t>(step.peer)];
        if (!target.slots.is_made()) target.slots.make(starts_.back());
        std::ranges::copy(values_, &target.slots[start_of(step.signal, site.segment)]);
        return true;
    }

    bool reduce(const Site& site, const Step& step) {
        const std::uint32_t operands = step.kind == StepKind::copy ? 1 : step.operands;
        if (!read_list(site, operand_of(step, 0), values_)) return false;
        for (std::uint32_t operand = 1; operand < operands; ++operand) {
            if (!read_list(site, operand_of(step, operand), others_)) return false;
            std::ranges::transform(values_, others_, values_.begin(), product);
        }
        for (std::uint32_t target = 0; target < targets_of(step); ++target) {
            if (!write_list(site, target_of(step, target), values_)) return false;
        }
        return true;
    }

    /// Reads the fingerprints of a list of blocks. Returns false after an error.
    bool read_list(const Site& site, BlockList list, std::vector<Fingerprint>& values) {
        values.clear();
        for (const Block& relative : blocks_of(site.program, list)) {
            const Block block = at_segment(relative, site.segment);
            if (!in_range(block)) return false;
            const std::size_t packed = values.size();
            for (std::uint32_t i = 0; i < block.count; ++i) {
                Fingerprint value;
                if (!read(site, block, i, packed, value)) return false;
                if (!value.is_written())
                    return fail(fmt::format("reads unit {}, which was never written",
                                            block.first + i * block.stride));
                values.push_back(value);
            }
        }
        return true;
    }

    [[nodiscard]] bool in_range(const Block& block) {
        const std::uint64_t last =
            block.first + std::uint64_t{std::max(block.count, 1U) - 1} * block.stride;
        if (last < header_->units && block.origin <= last) return true;
        return fail(fmt::format("names unit {}, but buffers have {} units", last, header_->units));
    }

    /// Reads unit i of a block. The earlier blocks of its list have `packed` units.
    bool read(const Site& site, const Block& block, std::uint32_t i, std::size_t packed,
              Fingerprint& value) {
        const std::uint64_t place = place_of(block, i, packed);
        switch (block.buffer) {
            case Buffer::input:
            case Buffer::output:
            case Buffer::scratch:
                return read_buffer(site.rank, block, block.first + i * block.stride, value);
            case Buffer::slot:
                return read_slot(site.state, block.index, site.segment, place, value);
            case Buffer::mapped:
                return read_mapped(site, block, place, value);
            case Buffer::published:
                return fail("reads a published cell");
        }
        return false;
    }
    /// Returns the index of unit i of a block in the payload of its slot or exposed block.
    static std::uint64_t place_of(const Block& block, std::uint32_t i, std::size_t packed) {
        const std::uint32_t origin = block.stride == 1 ? block.origin : block.first;
        const std::size_t before = block.buffer == Buffer::mapped ? 0 : packed;
        return before + block.first - origin + i;
    }

    bool read_buffer(Rank rank, const Block& block, std::uint32_t unit, Fingerprint& value) {
        RankState& state = ranks_[static_cast<std::size_t>(rank)];
        if (block.buffer != Buffer::input) {
            value = value_of(rank, state, buffer_of(block), unit);
            return true;
        }
        if (!state.input.holds(unit))
            return fail(fmt::format("reads input[{}], which rank {} does not have", unit, rank));
        value = input_.in_place ? value_of(rank, state, 0, unit) : prints_.leaf(rank, unit);
        return true;
    }

    /// Returns the exposed block that a mapped block refers to. Fails unless this rank has awaited
    /// the expose and the owner's program is still running.
    const Exposed* find_exposed(const Site& site, const Block& block, std::uint64_t place) {
        const std::uint32_t copy = copy_of(block.index, site.segment);
        const auto found = site.state.exposed.find(copy);
        const std::uint32_t use = site.state.flags[copy].use;
        if (found == site.state.exposed.end() || use == 0 || use % 2 != 0 ||
            found->second.owner != block.peer) {
            fail(fmt::format("uses mapped {}, which rank {} has not exposed", block.index,
                             block.peer));
            return nullptr;
        }
        const Exposed& exposed = found->second;
        if (place >= exposed.block.count) {
            fail(fmt::format("uses unit {} of a block of {} that rank {} exposed", place,
                             exposed.block.count, exposed.owner));
            return nullptr;
        }
        if (!ranks_[static_cast<std::size_t>(exposed.owner)].ended) return &exposed;
        fail(fmt::format("uses memory of rank {}, whose program has ended", exposed.owner));
        return nullptr;
    }

    bool read_mapped(const Site& site, const Block& block, std::uint64_t place,
                     Fingerprint& value) {
        const Exposed* const exposed = find_exposed(site, block, place);
        if (exposed == nullptr) return false;
        const Block& source = exposed->block;
        const auto unit = source.first + static_cast<std::uint32_t>(place);
        if (source.buffer != Buffer::slot) return read_buffer(exposed->owner, source, unit, value);
        return read_slot(ranks_[static_cast<std::size_t>(exposed->owner)], source.index,
                         exposed->segment, unit - source.origin, value);
    }

    bool write_mapped(const Site& site, const Block& block, std::uint64_t place,
                      Fingerprint value) {
        const Exposed* const exposed = find_exposed(site, block, place);
        if (exposed == nullptr) return false;
        if (!exposed->written)
            return fail(fmt::format("writes a block that rank {} exposed for reading only",
                                    exposed->owner));
        return write(ranks_[static_cast<std::size_t>(exposed->owner)], exposed->block,
                     exposed->block.first + static_cast<std::uint32_t>(place), value);
    }

    bool read_slot(RankState& state, std::uint32_t number, std::uint32_t segment,
                   std::uint64_t place, Fingerprint& value) {
        if (place >= header_->capacity_of(number))
            return fail(
                fmt::format("reads unit {} of slot {}, beyond its capacity", place, number));
        const std::uint32_t use = state.flags[copy_of(number, segment)].use;
        if (use == 0 || use % 2 != 0 || !state.slots.is_made())
            return fail(fmt::format("reads slot {}, which it has not awaited", number));
        value = state.slots[start_of(number, segment) + place];
        return true;
    }

    static std::uint32_t buffer_of(const Block& block) {
        return block.buffer == Buffer::scratch ? 1 + block.index : 0;
    }
    /// Returns a unit of output or scratch. In place, an unwritten unit of output holds the input.
    Fingerprint value_of(Rank rank, RankState& state, std::uint32_t buffer, std::uint32_t unit) {
        Zeroed<Fingerprint>& units = state.buffers[buffer];
        const Fingerprint found = units.is_made() ? units[unit] : Fingerprint{};
        if (found.is_written() || buffer != 0 || !input_.in_place) return found;
        return state.input.holds(unit) ? prints_.leaf(rank, unit) : Fingerprint{};
    }

    bool write_list(const Site& site, BlockList list, const std::vector<Fingerprint>& values) {
        std::size_t at = 0;
        for (const Block& relative : blocks_of(site.program, list)) {
            const Block block = at_segment(relative, site.segment);
            if (!in_range(block)) return false;
            const std::size_t packed = at;
            for (std::uint32_t i = 0; i < block.count; ++i, ++at) {
                const bool written =
                    block.buffer == Buffer::mapped
                        ? write_mapped(site, block, place_of(block, i, packed), values[at])
                        : write(site.state, block, block.first + i * block.stride, values[at]);
                if (!written) return false;
            }
        }
        return true;
    }

    bool write(RankState& state, const Block& block, std::uint32_t unit, Fingerprint value) {
        if (block.buffer == Buffer::output && !state.output.holds(unit))
            return fail(fmt::format("writes output[{}], which that rank does not have", unit));
        if (block.buffer != Buffer::output && block.buffer != Buffer::scratch)
            return fail("writes a buffer other than output or scratch");
        Zeroed<Fingerprint>& units = state.buffers[buffer_of(block)];
        if (!units.is_made()) units.make(header_->units);
        units[unit] = value;
        return true;
    }

    /// Checks the rank's result and frees its memory.
    bool end(Rank rank, RankState& state) {
        for (const Expectation& expected : input_.contract->expected(*state.program)) {
            Fingerprint found;
            if (expected.unit < header_->units) found = value_of(rank, state, 0, expected.unit);
            if (found == prints_.expected(expected)) continue;
            return fail(
                fmt::format("rank {} ends without its result: output[{}] {}", rank, expected.unit,
                            found.is_written() ? "has a wrong value" : "was never written"));
        }
        if (state.raised != state.awaited)
            return fail(fmt::format("rank {} ends without having awaited all signals", rank));
        state.ended = true;
        state.flags.drop();
        state.slots.drop();
        state.buffers.clear();
        state.exposed.clear();
        return true;
    }

    bool all_ended() {
        for (Rank rank = 0; rank < input_.ranks; ++rank) {
            const RankState& state = ranks_[static_cast<std::size_t>(rank)];
            if (state.ended) continue;
            for (const LaneState& lane : state.lanes)
                if (lane.waits)
                    return fail(fmt::format("rank {} step {} waits forever for slot {}", rank,
                                            lane.cursor.at, lane.awaited_slot));
        }
        return true;
    }

    const FingerprintInput& input_;
    Fingerprints prints_;
    FingerprintVerdict verdict_;
    std::vector<RankState> ranks_;
    std::optional<Program> header_;      ///< rank 0's program without steps, blocks and lanes
    std::vector<std::uint64_t> starts_;  ///< by slot: its first unit; then the end of the last slot
    std::uint64_t kept_ = 0;             ///< bytes of programs that are kept
    std::vector<Fingerprint> values_;    ///< operand or result of the step
    std::vector<Fingerprint> others_;    ///< second operand of a product
};

}  // namespace

FingerprintVerdict verify_by_fingerprints(const FingerprintInput& input) {
    return Run(input).judge();
}

}  // namespace weft::plan
