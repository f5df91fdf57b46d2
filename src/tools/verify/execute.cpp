// SPDX-License-Identifier: BSD-3-Clause
#include "tools/verify/execute.hpp"

#include <fmt/format.h>

#include "plan/schedule/canonical.hpp"
#include "tools/text/text.hpp"

namespace weft::plan {

std::uint32_t Execution::count_lanes(std::span<const Program> programs) {
    std::size_t lanes = 0;
    for (const Program& program : programs) lanes += program.lanes.size();
    return as_u32(lanes);
}

Execution::Execution(std::span<const Program> programs, const Contract* contract,
                     const Sizes& sizes, const std::vector<bool>& in_place, Values& values)
    : programs_(programs),
      order_(count_lanes(programs)),
      values_(values),
      memory_(programs, contract, in_place, order_, values, reason_),
      arrivals_(programs, count_lanes(programs), order_, reason_),
      places_(programs, sizes, memory_, arrivals_, order_, reason_) {
    counts_.sent.resize(programs.size());
    counts_.reduced.resize(programs.size());
    counts_.slots.resize(programs.size());
    for (const Program& program : programs) {
        lane_starts_.push_back(as_u32(lanes_.size()));
        for (const Lane& lane : program.lanes)
            lanes_.push_back({program.rank, begin_of(lane, program.segments)});
    }
    lane_starts_.push_back(as_u32(lanes_.size()));
}

bool Execution::run() {
    for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
        if (!run_lane(lane)) return false;
    }
    std::vector<std::uint32_t> runnable;
    while (!arrivals_.ready().empty()) {
        runnable.swap(arrivals_.ready());
        for (const std::uint32_t lane : runnable) {
            if (!run_lane(lane)) return false;
        }
        runnable.clear();
    }
    for (const RunningLane& lane : lanes_) {
        if (!lane.cursor.ended()) return deadlock();
    }
    return arrivals_.check_all_awaited() && places_.check_owners_end_last(lane_starts_);
}

/// Runs a lane until it waits or ends. Returns false on a fault.
bool Execution::run_lane(std::uint32_t lane) {
    auto& [rank, cursor] = lanes_[lane];
    const Program& program = programs_[rank];
    for (; !cursor.ended(); advance(cursor, program)) {
        const StepOutcome outcome = step(lane, program.steps[cursor.at]);
        if (outcome == StepOutcome::wrong) return fault(lane);
        if (outcome == StepOutcome::blocked) return true;
    }
    return true;
}

StepOutcome Execution::step(std::uint32_t lane, const Step& step) {
    const auto& [rank, cursor] = lanes_[lane];
    const Site site{lane, rank, cursor.segment};
    const auto check = [](bool good) { return good ? StepOutcome::done : StepOutcome::wrong; };
    if (skips(cursor, step)) return StepOutcome::done;
    order_.begin(lane, rank, cursor.at, cursor.segment, cursor.in_loop());
    switch (step.kind) {
        case StepKind::put:
            return check(put(site, step));
        case StepKind::signal:
            return check(signal(site, step));
        case StepKind::expose:
            return check(expose(site, step));
        case StepKind::publish:
            return check(publish(site, step));
        case StepKind::wait:
            return arrivals_.wait(lane, rank, step, site.segment - step.lag);
        case StepKind::flush:
            order_.flush(lane);
            break;
        case StepKind::reduce:
        case StepKind::copy:
            return check(reduce(site, step));
        case StepKind::loop:
        case StepKind::sleep:
        case StepKind::compute:
            break;
    }
    return StepOutcome::done;
}

std::string Execution::position(std::uint32_t lane) const {
    const auto& [rank, cursor] = lanes_[lane];
    const Program& program = programs_[rank];
    std::string where = fmt::format("rank {} step {}", rank, cursor.at);
    if (cursor.in_loop()) where += fmt::format(" segment {}", cursor.segment);
    return fmt::format("{} ({})", where, to_text(program, program.steps[cursor.at]));
}

bool Execution::fault(std::uint32_t lane) {
    reason_.text = fmt::format("{} {}", position(lane), reason_.text);
    return false;
}

/// Reports the first waiting lane, and the state of the rank that it waits for.
bool Execution::deadlock() {
    std::uint32_t stuck = 0;
    while (lanes_[stuck].cursor.ended()) ++stuck;
    const auto& [rank, cursor] = lanes_[stuck];
    const Rank peer = programs_[rank].steps[cursor.at].peer;
    std::string peer_state = fmt::format("rank {} has ended", peer);
    const auto index = static_cast<std::size_t>(peer);
    for (std::uint32_t lane = lane_starts_[index]; lane < lane_starts_[index + 1]; ++lane) {
        if (lanes_[lane].cursor.ended()) continue;
        peer_state = "meanwhile " + position(lane) + " waits too";
        break;
    }
    return reason_.fail("{} waits forever: its signal is never raised; {}", position(stuck),
                        peer_state);
}

Raise Execution::raise_of(const Site& site, const Step& step) const {
    return {.kind = step.kind,
            .shared = (step.flags & kShared) != 0,
            .in_loop = lanes_[site.lane].cursor.in_loop(),
            .written = (step.flags & kWritten) != 0,
            .lane = site.lane,
            .sender = site.rank,
            .target = step.peer,
            .number = step.signal,
            .segment = site.segment};
}

/// Reads the source of a put or publish into a payload.
bool Execution::carry(const Site& site, const Step& step, const Access& access, Raise& raise) {
    const Program& program = programs_[site.rank];
    if (!places_.resolve(site, blocks_of(program, step.source), sources_)) return false;
    raise.payload = as_u32(arrivals_.payloads().size());
    raise.units = as_u32(sources_.size());
    std::uint64_t offset = 0;
    for (std::uint32_t i = 0; i < sources_.size(); ++i) {
        Carried carried{.offset = offset, .size = sources_[i].size};
        if (!places_.read(site, sources_[i], access, i, carried.value)) return false;
        offset += carried.size;
        arrivals_.payloads().push_back(carried);
    }
    ++counts_.messages;
    counts_.elements_sent += offset;
    counts_.sent[site.rank] += offset;
    return true;
}

bool Execution::put(const Site& site, const Step& step) {
    const Program& program = programs_[site.rank];
    Raise raise = raise_of(site, step);
    if (!carry(site, step, order_.until_flush(site.lane), raise)) return false;
    const bool into_slot = step.target.count == 0;  // otherwise into exposed memory
    if (!into_slot) raise.units = 0;                // its slot gets no payload
    // Later segments reuse the copies of the first `depth` segments.
    if (into_slot && site.segment < program.depth) ++counts_.slots[step.peer];
    std::uint32_t id = kNone;
    const std::uint32_t payload = raise.payload;
    if (!arrivals_.raise(std::move(raise), id)) return false;
    if ((step.flags & kShared) != 0) return arrivals_.share(site.rank, id);
    if (into_slot) return true;
    if (!places_.resolve(site, blocks_of(program, step.target), targets_)) return false;
    const Access access = order_.until_awaited(site.lane, id);
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
        if (targets_[i].size != sources_[i].size)
            return reason_.fail("puts a unit of {} elements into one of {}", sources_[i].size,
                                targets_[i].size);
        if (!places_.write(site, targets_[i], access, i, arrivals_.payloads()[payload + i].value))
            return false;
    }
    return true;
}

bool Execution::signal(const Site& site, const Step& step) {
    ++counts_.signals;
    std::uint32_t id = kNone;
    if (!arrivals_.raise(raise_of(site, step), id)) return false;
    return (step.flags & kShared) == 0 || arrivals_.share(site.rank, id);
}

bool Execution::expose(const Site& site, const Step& step) {
    ++counts_.signals;
    const Program& program = programs_[site.rank];
    Raise raise = raise_of(site, step);
    if (!places_.expose(site, program.blocks[step.source.start], raise)) return false;
    std::uint32_t id = kNone;
    return arrivals_.raise(std::move(raise), id);
}

bool Execution::publish(const Site& site, const Step& step) {
    Raise raise = raise_of(site, step);
    raise.target = site.rank;
    raise.in_cell = true;
    if (step.source.count == 0)
        ++counts_.signals;
    else if (!carry(site, step, order_.now(site.lane), raise))
        return false;
    std::uint32_t id = kNone;
    return arrivals_.publish(std::move(raise), id);
}

/// Executes a reduction, or a copy as a reduction of one operand.
bool Execution::reduce(const Site& site, const Step& step) {
    const Program& program = programs_[site.rank];
    const Access access = order_.now(site.lane);
    const std::uint32_t operands = step.kind == StepKind::copy ? 1 : step.operands;
    if (!places_.resolve(site, blocks_of(program, target_of(step, 0)), targets_)) return false;
    results_.assign(targets_.size(), kUndefined);
    for (std::uint32_t operand = 0; operand < operands; ++operand) {
        const BlockList list = operand_of(step, operand);
        if (!places_.resolve(site, blocks_of(program, list), sources_)) return false;
        for (std::uint32_t i = 0; i < sources_.size(); ++i) {
            if (!same_size(i)) return false;
            if (copies_to_itself(step, i)) continue;
            Value value = kUndefined;
            if (!places_.read(site, sources_[i], access, i, value)) return false;
            results_[i] = operand == 0 ? value : values_.reduce(results_[i], value);
            if (operand > 0) counts_.reduced[site.rank] += sources_[i].size;
        }
    }
    return write_results(site, step, access);
}

/// Writes the results to every target. `sources_` still has the last operand.
bool Execution::write_results(const Site& site, const Step& step, const Access& access) {
    const Program& program = programs_[site.rank];
    for (std::uint32_t target = 0; target < targets_of(step); ++target) {
        if (target > 0 &&
            !places_.resolve(site, blocks_of(program, target_of(step, target)), targets_))
            return false;
        for (std::uint32_t i = 0; i < targets_.size(); ++i) {
            if (!same_size(i)) return false;
            if (copies_to_itself(step, i)) continue;
            const std::uint32_t position = exchanges(program, step) ? opposite(i) : i;
            if (!places_.write(site, targets_[i], access, position, results_[i])) return false;
        }
    }
    return true;
}

/// Returns true if the step copies two blocks to two blocks. A unit may then be the target of one
/// copy and the source of the other copy.
bool Execution::exchanges(const Program& program, const Step& step) {
    if (step.kind != StepKind::copy) return false;
    const auto targets = blocks_of(program, step.target);
    const auto sources = blocks_of(program, step.source);
    return targets.size() == 2 && sources.size() == 2 && targets[0].count == targets[1].count &&
           sources[0].count == sources[1].count;
}

/// Returns the position of the corresponding unit in the other block of an exchange.
std::uint32_t Execution::opposite(std::uint32_t position) const {
    const auto count = as_u32(targets_.size());
    return (position + count / 2) % count;
}

/// Checks that a unit of the source and its target have the same size.
bool Execution::same_size(std::size_t unit) {
    if (targets_[unit].size == sources_[unit].size) return true;
    return reason_.fail("combines units of {} and {} elements", targets_[unit].size,
                        sources_[unit].size);
}

/// Returns true if the step copies a unit to itself (output = input, in place). Such a copy changes
/// nothing and counts as no access.
bool Execution::copies_to_itself(const Step& step, std::size_t unit) const {
    return step.kind == StepKind::copy && targets_[unit].cell != kNone &&
           targets_[unit].cell == sources_[unit].cell;
}

}  // namespace weft::plan
