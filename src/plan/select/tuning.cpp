// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/schedule/layout.hpp"

namespace weft::plan {

std::string layout_text(std::span<const Rank> node_of, Rank size) {
    if (node_of.empty()) return fmt::format("{}", size);
    const Layout layout = Layout::of(node_of);
    if (!layout.contiguous()) return {};
    std::vector<Rank> counts;
    for (Rank node = 0; node < layout.nodes(); ++node) counts.push_back(layout.ranks_on(node));
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
