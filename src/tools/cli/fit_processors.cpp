// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/fit_processors.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace weft::tools {

namespace {

/// Returns the counts of the host with the most ranks per usable processor.
Crowd crowd_of(Team world, const std::vector<cpu_set_t>& allowed) {
    using Name = std::array<char, 64>;
    Name own{};
    ::gethostname(own.data(), own.size() - 1);
    std::vector<Name> names(allowed.size());
    world.allgather(own.data(), names.data()->data(), own.size(), Type::uint8);
    Crowd most;
    for (std::size_t rank = 0; rank < names.size(); ++rank) {
        if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(rank),
                      names[rank]) != names.begin() + static_cast<std::ptrdiff_t>(rank))
            continue;
        Crowd crowd{.ranks = 0};
        cpu_set_t all;
        CPU_ZERO(&all);
        for (std::size_t peer = rank; peer < names.size(); ++peer) {
            if (names[peer] != names[rank]) continue;
            ++crowd.ranks;
            CPU_OR(&all, &all, &allowed[peer]);
        }
        crowd.processors = std::max(1, CPU_COUNT(&all));
        if (crowd.ranks * most.processors >= most.ranks * crowd.processors) most = crowd;
    }
    return most;
}

int first_of(const cpu_set_t& set) {
    int processor = 0;
    while (!CPU_ISSET(processor, &set)) ++processor;
    return processor;
}

}  // namespace

RankProcessors::RankProcessors(Team world) : allowed_(static_cast<std::size_t>(world.size())) {
    cpu_set_t own;
    CPU_ZERO(&own);
    if (::sched_getaffinity(0, sizeof own, &own) != 0) CPU_ZERO(&own);
    world.allgather(&own, allowed_.data(), sizeof own, Type::uint8);
    crowd_ = crowd_of(world, allowed_);
}

std::optional<int> RankProcessors::common(Rank a, Rank b) const {
    cpu_set_t both;
    CPU_AND(&both, &of(a), &of(b));
    if (CPU_COUNT(&both) == 0) return std::nullopt;
    return first_of(both);
}

std::optional<int> RankProcessors::apart(Rank rank, Rank other) const {
    const Rank first = std::min(rank, other);
    const Rank second = std::max(rank, other);
    cpu_set_t rest = of(second);
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &of(first))) continue;
        rest = of(second);
        CPU_CLR(processor, &rest);
        if (CPU_COUNT(&rest) == 0) continue;
        return rank == first ? processor : first_of(rest);
    }
    return std::nullopt;
}

OnProcessor::OnProcessor(int processor) {
    CPU_ZERO(&before_);
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    moved_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
}

OnProcessor::~OnProcessor() {
    if (moved_) ::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace weft::tools
