// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace weft::plan {

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
