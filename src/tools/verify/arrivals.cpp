// SPDX-License-Identifier: BSD-3-Clause
#include "tools/verify/arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::plan {

namespace {

std::uint64_t pair_of(std::uint64_t high, std::uint64_t low) {
    return (high << 32) | low;
}

std::string slot_name(std::uint32_t number, std::uint32_t segment, bool in_loop) {
    if (!in_loop) return fmt::format("slot {}", number);
    return fmt::format("slot {} (segment {})", number, segment);
}

/// Returns the largest number of iterations of a loop, at least Program::segments.
std::uint32_t segments_of(std::span<const Program> programs) {
    std::uint32_t segments = programs.front().segments;
    for (const Program& program : programs) {
        for (const Step& step : program.steps) {
            if (step.kind == StepKind::loop) segments = std::max(segments, program.repeats(step));
        }
    }
    return segments;
}

}  // namespace

Arrivals::Arrivals(std::span<const Program> programs, std::uint32_t lanes, Order& order,
                   Reason& reason)
    : order_(order),
      reason_(reason),
      slots_(programs.front().slots),
      segments_(segments_of(programs)),
      depth_(programs.front().depth),
      flags_(slots_ * segments_ * programs.size()),
      published_(slots_ * segments_ * programs.size()),
      next_waiter_(lanes, kNone) {}

std::string Arrivals::slot_of(const Raise& raise) const {
    return fmt::format("{} of rank {}", slot_name(raise.number, raise.segment, raise.in_loop),
                       raise.target);
}

/// Returns the raise of the segment that used the same copy before, or kNone.
std::uint32_t Arrivals::raise_before(FlagTable& table, const Raise& raise) {
    if (raise.segment < depth_) return kNone;
    return table.at(key(raise.target, raise.number, raise.segment - depth_)).raise;
}

bool Arrivals::raise(Raise raise, std::uint32_t& id) {
    if (!check_not_passed(flags_, raise)) return false;
    const std::uint32_t earlier = raise_before(flags_, raise);
    if (earlier != kNone && !check_free(earlier, raise.lane)) return false;
    FlagState& entry = flags_.at(key(raise.target, raise.number, raise.segment));
    id = order_.raise(std::move(raise));
    entry.raise = id;
    wake(entry);
    return true;
}

bool Arrivals::publish(Raise raise, std::uint32_t& id) {
    FlagState& entry = published_.at(key(raise.target, raise.number, raise.segment));
    const bool joins = entry.raise != kNone && !raise.shared && order_.raises()[entry.raise].shared;
    if (joins) return publish_shared(std::move(raise), entry, id);
    if (!check_not_passed(published_, raise)) return false;
    const std::uint32_t earlier = raise_before(published_, raise);
    if (earlier != kNone && !check_cell_free(earlier, raise.lane)) return false;
    id = order_.raise(std::move(raise));
    entry.raise = id;
    if (!order_.raises()[id].shared) wake(entry);
    return true;
}

/// Replaces the cell of shared puts by a publish. A rank may put to remote peers and publish to
/// local peers under one number.
bool Arrivals::publish_shared(Raise raise, FlagState& entry, std::uint32_t& id) {
    const std::uint32_t before = entry.raise;
    if (!check_can_share(raise, order_.raises()[before])) return false;
    id = order_.raise(std::move(raise));
    entry.raise = id;
    Raise& cell = order_.raises()[id];
    cell.members = std::move(order_.raises()[before].members);
    cell.reads = std::move(order_.raises()[before].reads);
    for (const std::uint32_t member : cell.members) order_.raises()[member].cell = id;
    wake(entry);
    return true;
}

bool Arrivals::check_can_share(const Raise& raise, const Raise& cell) {
    if (cell.lane != raise.lane)
        return reason_.fail("shares slot {}, which another lane shares too", raise.number);
    if (std::ranges::equal(payload(raise), payload(cell))) return true;
    return reason_.fail("shares slot {} with another payload than its earlier put has",
                        raise.number);
}

/// Checks that neither this segment nor a later one of the same copy has been raised.
bool Arrivals::check_not_passed(FlagTable& table, const Raise& raise) {
    const std::uint32_t first = table.at(key(raise.target, raise.number, raise.segment)).raise;
    if (first != kNone)
        return reason_.fail("raises {} a second time: {} did so before", slot_of(raise),
                            order_.name(order_.raises()[first].step));
    if (raise.segment + std::uint64_t{depth_} >= segments_) return true;
    const std::uint32_t later =
        table.at(key(raise.target, raise.number, raise.segment + depth_)).raise;
    if (later == kNone) return true;
    return reason_.fail("may overwrite {} with {}: nothing orders them",
                        slot_of(order_.raises()[later]), slot_of(raise));
}

/// Checks that a slot may be overwritten: its flag was awaited, and its payload read.
bool Arrivals::check_free(std::uint32_t earlier, std::uint32_t lane) {
    const Raise& raise = order_.raises()[earlier];
    if (!order_.before(raise.awaited, lane))
        return reason_.fail(
            "overwrites {} before rank {} is known to have awaited what {} put there",
            slot_of(raise), raise.target, order_.name(raise.step));
    const Access* const reader = raise.reads.find_unfinished(order_, lane);
    if (reader == nullptr) return true;
    return reason_.fail("overwrites {} while {} may be reading it", slot_of(raise),
                        order_.name(reader->step));
}

/// Checks that a published cell may be overwritten: its readers have ended, and its shared
/// puts were awaited.
bool Arrivals::check_cell_free(std::uint32_t earlier, std::uint32_t lane) {
    const Raise& cell = order_.raises()[earlier];
    const Access* const reader = cell.reads.find_unfinished(order_, lane);
    if (reader != nullptr)
        return reason_.fail("overwrites published {} while {} may be reading it", slot_of(cell),
                            order_.name(reader->step));
    for (const std::uint32_t member : cell.members) {
        const Raise& put = order_.raises()[member];
        if (order_.before(put.awaited, lane)) continue;
        return reason_.fail("overwrites shared {} before rank {} is known to have awaited it",
                            slot_of(cell), put.target);
    }
    return true;
}

bool Arrivals::share(Rank sender, std::uint32_t id) {
    const std::uint32_t lane = order_.raises()[id].lane;
    const std::uint32_t number = order_.raises()[id].number;
    const std::uint32_t segment = order_.raises()[id].segment;
    std::uint32_t cell = published_.at(key(sender, number, segment)).raise;
    if (cell == kNone) {
        const Raise& put = order_.raises()[id];
        Raise first{.kind = put.kind,
                    .shared = true,
                    .in_loop = put.in_loop,
                    .in_cell = true,
                    .lane = lane,
                    .sender = sender,
                    .target = sender,
                    .number = number,
                    .segment = segment,
                    .payload = put.payload,
                    .units = put.units};
        if (!publish(std::move(first), cell)) return false;
    }
    Raise& shared = order_.raises()[cell];
    Raise& put = order_.raises()[id];
    if (!check_can_share(put, shared)) return false;
    put.cell = cell;
    shared.members.push_back(id);
    return true;
}

void Arrivals::wake(FlagState& entry) {
    while (entry.waiter != kNone) {
        const std::uint32_t lane = entry.waiter;
        entry.waiter = next_waiter_[lane];
        next_waiter_[lane] = kNone;
        ready_.push_back(lane);
    }
}

StepOutcome Arrivals::block(FlagState& entry, std::uint32_t lane) {
    next_waiter_[lane] = entry.waiter;
    entry.waiter = lane;
    return StepOutcome::blocked;
}

StepOutcome Arrivals::wait(std::uint32_t lane, Rank rank, const Step& step, std::uint32_t segment) {
    const bool for_cell = (step.flags & kFromPublished) != 0;
    FlagState& entry = for_cell ? published_.at(key(step.peer, step.signal, segment))
                                : flags_.at(key(rank, step.signal, segment));
    // Shared puts reserve a cell. Only the publish that localize() makes of them fills the cell.
    const bool raised = entry.raise != kNone && (!for_cell || !order_.raises()[entry.raise].shared);
    if (!raised) return block(entry, lane);
    const std::uint32_t id = entry.raise;
    if (!for_cell && !check_wait(id, step)) return StepOutcome::wrong;
    if (for_cell && !check_not_replaced(published_, id, "awaits")) return StepOutcome::wrong;
    order_.add_wait(lane, id);
    if (for_cell) {
        seen_.try_emplace(pair_of(static_cast<std::uint64_t>(rank), id), order_.now(lane));
        order_.raises()[id].reads.add(order_.now(lane), order_);
    }
    return StepOutcome::done;
}

bool Arrivals::check_wait(std::uint32_t id, const Step& step) {
    const Raise& raise = order_.raises()[id];
    const bool wait_shared = (step.flags & kShared) != 0;
    if (raise.sender != step.peer)
        return reason_.fail("awaits slot {} from rank {}, but it is {} that raises it", step.signal,
                            step.peer, order_.name(raise.step));
    if (raise.awaited.kind != Access::EndKind::none)
        return reason_.fail("awaits slot {} again: {} did so before", step.signal,
                            order_.name(raise.awaited.step));
    if (wait_shared != raise.shared)
        return reason_.fail("{} marked shared, but {} is{}", wait_shared ? "is" : "is not",
                            order_.name(raise.step), raise.shared ? "" : " not");
    return true;
}

FlagState* Arrivals::entry_to_read(FlagTable& table, Rank rank, std::uint32_t number,
                                   std::uint32_t segment) {
    FlagState* exact = &table.at(key(rank, number, segment));
    if (exact->raise != kNone || segment == 0 || segment % depth_ != 0) return exact;
    // Data put before a loop is in copy 0, and available to all segments that use this copy.
    FlagState* before_loop = &table.at(key(rank, number, 0));
    const bool filled = before_loop->raise != kNone && !order_.raises()[before_loop->raise].in_loop;
    return filled ? before_loop : exact;
}

bool Arrivals::find_slot(std::uint32_t lane, Rank rank, std::uint32_t number, std::uint32_t segment,
                         std::uint32_t& id) {
    id = entry_to_read(flags_, rank, number, segment)->raise;
    if (id == kNone || !order_.before(order_.raises()[id].awaited, lane))
        return reason_.fail("reads slot {} of rank {}, segment {}, without having awaited it",
                            number, rank, segment);
    return check_not_replaced(flags_, id, "reads");
}

bool Arrivals::find_published(std::uint32_t lane, Rank rank, Rank owner, std::uint32_t number,
                              std::uint32_t segment, std::uint32_t& id) {
    id = entry_to_read(published_, owner, number, segment)->raise;
    const auto seen = seen_.find(pair_of(static_cast<std::uint64_t>(rank), id));
    if (id == kNone || seen == seen_.end() || !order_.before(seen->second, lane))
        return reason_.fail("reads published {} of rank {} without having awaited it", number,
                            owner);
    return check_not_replaced(published_, id, "reads");
}

/// Checks that no later segment has replaced the copy. Its raise would not be ordered with the
/// current access.
bool Arrivals::check_not_replaced(FlagTable& table, std::uint32_t id, std::string_view verb) {
    const Raise& raise = order_.raises()[id];
    const std::uint64_t next = std::uint64_t{raise.segment} + depth_;
    if (next >= segments_) return true;
    const std::uint32_t later = table.at(key(raise.target, raise.number, as_u32(next))).raise;
    if (later == kNone) return true;
    return reason_.fail("{} {}{} while {} may be overwriting it", verb,
                        raise.in_cell ? "published " : "", slot_of(raise),
                        order_.name(order_.raises()[later].step));
}

void Arrivals::add_read(std::uint32_t id, const Access& access) {
    Raise& raise = order_.raises()[id];
    raise.reads.add(access, order_);
    if (raise.cell != kNone) order_.raises()[raise.cell].reads.add(access, order_);
}

bool Arrivals::check_all_awaited() {
    for (const Raise& raise : order_.raises()) {
        if (raise.awaited.kind != Access::EndKind::none) continue;
        if (raise.in_cell && raise.shared) continue;
        const std::string who = order_.name(raise.step);
        if (raise.in_cell)
            return reason_.fail("{} publishes slot {}, which is never awaited", who, raise.number);
        return reason_.fail("{} raises {}, which is never awaited", who, slot_of(raise));
    }
    return true;
}

}  // namespace weft::plan
