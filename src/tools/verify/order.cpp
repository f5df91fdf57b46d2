// SPDX-License-Identifier: BSD-3-Clause
#include "tools/verify/order.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::plan {

void Reads::add(const Access& read, const Order& order) {
    // Keeps the read of the lane that ends later. A put's read that no flush has ended
    // yet ends later than a read that ends with the current step.
    const auto merge = [&](Access& kept) {
        const bool ends_later = kept.kind == Access::EndKind::until_flush &&
                                !order.has_ended(kept) && read.kind == Access::EndKind::at;
        if (!ends_later) kept = read;
    };
    if (empty() || first_.lane == read.lane) return merge(first_);
    if (!more_) more_ = std::make_unique<std::vector<Access>>();
    // The verifier runs a lane until it waits, so most reads are by the lane of the last entry.
    if (!more_->empty() && more_->back().lane == read.lane) return merge(more_->back());
    more_->push_back(read);
}

const Access* Reads::find_unfinished(Order& order, std::uint32_t lane) const {
    if (empty()) return nullptr;
    if (!order.before(first_, lane)) return &first_;
    if (!more_) return nullptr;
    const auto found =
        std::ranges::find_if(*more_, [&](const Access& read) { return !order.before(read, lane); });
    return found == more_->end() ? nullptr : &*found;
}

void Order::begin(std::uint32_t lane, Rank rank, std::uint32_t index, std::uint32_t segment,
                  bool in_loop) {
    lanes_[lane].last = as_u32(steps_.size());
    steps_.push_back({rank, index, segment, in_loop});
}

std::uint32_t Order::raise(Raise raise) {
    const auto id = as_u32(raises_.size());
    raise.step = lanes_[raise.lane].last;
    raise.chain = lanes_[raise.lane].chain;
    links_.push_back({raise.lane, id, false});
    raises_.push_back(std::move(raise));
    return id;
}

void Order::add_wait(std::uint32_t lane, std::uint32_t raise) {
    Trace& trace = lanes_[lane];
    trace.waits.push_back({trace.last, raise});
    trace.chain = std::max(trace.chain, raises_[raise].chain + 1);
    links_.push_back({lane, raise, true});
    if (raises_[raise].awaited.kind == Access::EndKind::none) raises_[raise].awaited = now(lane);
}

Order::End Order::end_of(const Access& access) const {
    switch (access.kind) {
        case Access::EndKind::none:
            break;
        case Access::EndKind::at:
            return {access.lane, access.when};
        case Access::EndKind::until_flush: {
            const std::vector<std::uint32_t>& flushes = lanes_[access.lane].flushes;
            if (access.when < flushes.size()) return {access.lane, flushes[access.when]};
            break;
        }
        case Access::EndKind::until_awaited: {
            const Access& wait = raises_[access.when].awaited;
            if (wait.kind != Access::EndKind::none) return {wait.lane, wait.when};
            break;
        }
    }
    return {};
}

bool Order::has_ended(const Access& access) const {
    return end_of(access).lane != kNone;
}

bool Order::before(const Access& access, std::uint32_t lane) {
    const End end = end_of(access);
    if (end.lane == kNone) return false;
    if (end.lane == lane) return true;
    begin_past(end.step);
    walk_back(lane, lanes_[lane].last, end);
    return visited(end);
}

void Order::begin_past(std::uint32_t oldest) {
    ++query_;
    oldest_ = oldest;
}

void Order::add_to_past(std::uint32_t lane) {
    walk_back(lane, lanes_[lane].last, {});
}

bool Order::in_past(const Access& access) const {
    const End end = end_of(access);
    return end.lane != kNone && visited(end);
}

void Order::visit(std::uint32_t lane, std::uint32_t step) {
    std::uint32_t from = oldest_;
    if (mark_[lane] == query_) {
        if (upto_[lane] >= step) return;
        from = std::max(from, upto_[lane]);
    }
    mark_[lane] = query_;
    upto_[lane] = step;
    open_.push_back({lane, from, step});
}

void Order::walk_back(std::uint32_t lane, std::uint32_t step, End goal) {
    open_.clear();
    visit(lane, step);
    while (!open_.empty()) {
        const Stretch stretch = open_.back();
        open_.pop_back();
        const std::vector<Wait>& waits = lanes_[stretch.lane].waits;
        auto wait = std::ranges::upper_bound(waits, stretch.upto, {}, &Wait::step);
        while (wait != waits.begin() && (--wait)->step >= stretch.from) {
            const Raise& raise = raises_[wait->raise];
            if (raise.step >= oldest_) visit(raise.lane, raise.step);
        }
        if (goal.lane != kNone && visited(goal)) return;
    }
}

std::uint32_t Order::chain_max() const {
    std::uint32_t longest = 0;
    for (const Trace& lane : lanes_) longest = std::max(longest, lane.chain);
    return longest;
}

std::string Order::name(std::uint32_t step) const {
    const auto& [rank, index, segment, in_loop] = steps_[step];
    if (!in_loop) return fmt::format("rank {} step {}", rank, index);
    return fmt::format("rank {} step {} segment {}", rank, index, segment);
}

}  // namespace weft::plan
