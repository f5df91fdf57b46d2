// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace weft::plan {

namespace {

/// Returns the geometric mean, rounded down.
std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint64_t>(
        std::sqrt(static_cast<double>(low) * static_cast<double>(high)));
}

}  // namespace

std::vector<TunedChoice> choices_of(std::span<const TunedPoint> points) {
    std::map<std::pair<TunedCase, std::uint64_t>, const TunedPoint*> in_order;
    for (const TunedPoint& point : points) in_order[{point.of, point.bytes}] = &point;
    std::vector<TunedChoice> choices;
    for (const auto& [key, point] : in_order) {
        const std::uint64_t bytes = point->bytes;
        TunedChoice next{.of = point->of,
                         .from_bytes = bytes == 0 ? 0 : bytes / kReach + 1,
                         .to_bytes = bytes * kReach,
                         .algorithm = point->algorithm,
                         .median_us = point->median_us};
        if (!choices.empty() && choices.back().of == point->of) {
            TunedChoice& last = choices.back();
            const std::uint64_t last_bytes = last.to_bytes / kReach;
            if (last.to_bytes + 1 >= next.from_bytes) {
                const std::uint64_t border = between(last_bytes, bytes);
                last.to_bytes = border;
                next.from_bytes = border + 1;
                if (last.algorithm == next.algorithm) {
                    next.from_bytes = last.from_bytes;
                    choices.pop_back();
                }
            }
        }
        choices.push_back(std::move(next));
    }
    return choices;
}

std::string layout_text(std::span<const Rank> node_of, Rank size) {
    if (node_of.empty()) return fmt::format("{}", size);
    std::vector<Rank> counts;
    std::set<Rank> seen;
    for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
        if (rank > 0 && node_of[rank] == node_of[rank - 1]) {
            ++counts.back();
            continue;
        }
        if (!seen.insert(node_of[rank]).second) return {};
        counts.push_back(1);
    }
    return fmt::format("{}", fmt::join(counts, ","));
}

const TunedChoice* Tuning::find(const TunedCase& call, std::uint64_t bytes) const {
    const TunedChoice* found = nullptr;
    for (const TunedChoice& choice : choices_) {
        if (choice.of.collective != call.collective || choice.of.layout != call.layout ||
            bytes < choice.from_bytes || bytes > choice.to_bytes)
            continue;
        if (!call.provider.empty() && choice.of.provider != call.provider) continue;
        if (choice.of.same_bits == call.same_bits) return &choice;
        if (choice.of.same_bits) found = &choice;
    }
    return found;
}

}  // namespace weft::plan
