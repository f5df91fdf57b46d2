// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/equal_programs.hpp"

#include <algorithm>

#include "plan/schedule/step.hpp"

namespace weft::plan {

namespace {

constexpr std::uint64_t pair(std::uint32_t high, std::uint32_t low) {
    return std::uint64_t{high} << 32 | low;
}

}  // namespace

base::Result<void> EqualPrograms::add(const Program& program, ImagePart& part) {
    if (compares(program)) {
        ++tried_;
        write(program);
        const auto [entry, unknown] = numbers_.try_emplace(hash(), known_.size());
        if (!unknown) {
            const Known& known = known_[entry->second];
            const auto words = std::span(words_).subspan(known.first, known.count);
            if (!std::ranges::equal(sought_, words)) return add_as_it_is(program, part);
            added_ = known.added;
            part.repeat(added_, program.rank);
            return base::Done{};
        }
        if (auto added = add_as_it_is(program, part); !added) return added;
        known_.push_back({words_.size(), sought_.size(), added_});
        words_.insert(words_.end(), sought_.begin(), sought_.end());
        return base::Done{};
    }
    return add_as_it_is(program, part);
}

base::Result<void> EqualPrograms::add_as_it_is(const Program& program, ImagePart& part) {
    if (auto added = part.add(program); !added) return added;
    added_ = part.added();
    return base::Done{};
}

bool EqualPrograms::compares(const Program& program) const {
    if (tried_ >= kTried && 2 * known_.size() > tried_) return false;
    return program.steps.size() <= kStepsMax && program.blocks.size() <= kStepsMax;
}

/// Writes the program's words to `sought_`, with each peer as its distance and whether it is far.
void EqualPrograms::write(const Program& program) {
    const auto at = [this](Rank rank) { return (*node_of_)[static_cast<std::size_t>(rank)]; };
    sought_.clear();
    sought_.push_back(pair(program.units, program.segments));
    for (const Lane& lane : program.lanes) sought_.push_back(pair(lane.first, lane.count));
    for (const Step& step : program.steps) {
        std::uint32_t peer = 0;
        if (step.peer != kNoRank) {
            const Rank ahead = step.peer - program.rank;
            peer = static_cast<std::uint32_t>(ahead < 0 ? ahead + program.size : ahead) << 2 | 1;
            peer |= node_of_ != nullptr && at(step.peer) != at(program.rank) ? 2U : 0U;
        }
        const auto kind = static_cast<std::uint32_t>(step.kind);
        sought_.push_back(pair(kind << 24 | std::uint32_t{step.flags} << 16 | step.lag, peer));
        sought_.push_back(pair(step.signal, step.operands));
        sought_.push_back(pair(step.target.start, step.target.count));
        sought_.push_back(pair(step.source.start, step.source.count));
    }
    for (const Block& block : program.blocks) {
        sought_.push_back(pair(static_cast<std::uint32_t>(block.buffer), block.index));
        sought_.push_back(pair(static_cast<std::uint32_t>(block.peer), block.origin));
        sought_.push_back(pair(block.first, block.count));
        sought_.push_back(pair(block.stride, block.advance));
    }
}

std::uint64_t EqualPrograms::hash() const {
    std::uint64_t state = sought_.size();
    for (const std::uint64_t word : sought_) {
        state = (state ^ word) * 0x9e3779b97f4a7c15U;
        state ^= state >> 29;
    }
    return state;
}

}  // namespace weft::plan
