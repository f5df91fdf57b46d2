// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/draw_calls.hpp"

#include <fmt/format.h>

#include <numeric>

namespace weft::test {

namespace {

/// Returns the spec of a random allreduce algorithm for `ranks` ranks.
std::string draw_allreduce(base::Random& random, Rank ranks) {
    if (random.chance(1, 2)) return "recursive-doubling";
    switch (ranks) {
        case 4:
            return random.chance(1, 2) ? "a4" : "a2,a2";
        case 5:
            return random.chance(1, 2) ? "a5" : "c2m2,a4,e2m2";
        case 6:
            return random.chance(1, 2) ? "a2,a3" : "a3,a2";
        case 7:
            return random.chance(1, 2) ? "c6m2,a2,a2,e6m2" : "m1g2a3,n1g3a2";
        case 8:
            return random.chance(1, 2) ? "a4,a2" : "a8";
        case 9:
            return "a3,a3";
        default:
            return fmt::format("a{}", ranks);
    }
}

}  // namespace

std::vector<int> draw_layout(base::Random& random, Rank ranks) {
    const std::uint64_t kind = random.below(3);  // one node, one node for each rank, random
    std::vector<int> nodes;
    for (Rank rank = 0; rank < ranks; ++rank) {
        const int mixed = static_cast<int>(random.below(3));
        nodes.push_back(kind == 0 ? 0 : kind == 1 ? rank : mixed);
    }
    return nodes;
}

std::vector<Rank> draw_members(base::Random& random, Rank ranks) {
    std::vector<Rank> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    for (std::size_t i = members.size() - 1; i > 0; --i)
        std::swap(members[i], members[random.below(i + 1)]);
    members.resize(2 + random.below(static_cast<std::uint64_t>(ranks) - 1));
    return members;
}

base::RegionShape draw_shape(base::Random& random) {
    constexpr std::uint32_t kBanks[] = {4, 8, 128};
    constexpr std::uint32_t kSmallBanks[] = {0, 4, 8};
    const auto draw_class = [&](std::uint64_t bytes_min) {
        return base::BankClass{.banks = kSmallBanks[random.below(3)],
                               .bytes = bytes_min << random.below(2)};
    };
    return {.cells = 64,
            .banks = kBanks[random.below(3)],
            .bulk_banks = 4,
            .bulk_bytes = std::uint64_t{16384} << random.below(2),
            .small = {draw_class(128), draw_class(256), draw_class(512), draw_class(512)}};
}

CallPlan draw_call(base::Random& random, Rank ranks) {
    constexpr std::uint64_t kElements[] = {1, 2, 3, 9, 40, 70};
    CallPlan plan;
    plan.elements = kElements[random.below(6)];
    plan.algebra = random.chance(1, 2) ? Algebra::sum64 : Algebra::affine;
    plan.localized = random.chance(3, 4);
    if (random.chance(1, 3)) plan.segments = 2 + static_cast<std::uint32_t>(random.below(5));
    const std::uint64_t kind = random.below(10);
    if (kind == 0) {
        plan.collective = "barrier";
        plan.algorithm = random.chance(1, 3) ? "central" : "dissemination";
        plan.elements = 0;
        plan.segments = 1;
    } else if (kind < 4) {
        plan.collective = "allreduce";
        plan.algorithm = draw_allreduce(random, ranks);
    } else {
        plan.collective = "broadcast";
        plan.algorithm = random.chance(1, 2) ? "binomial" : "flat";
        plan.root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks)));
        if (kind == 9) plan.elements = 0;
    }
    return plan;
}

std::vector<const TeamCall*> draw_script(base::Random& random, const std::deque<TeamCall>& palette,
                                         std::size_t count) {
    std::vector<const TeamCall*> calls;
    while (calls.size() < count) calls.push_back(&palette[random.below(palette.size())]);
    return calls;
}

base::Tick draw_first_tick(base::Random& random) {
    return random.chance(1, 3) ? base::kTickMask - random.below(60) : 1 + random.below(1000);
}

VirtualProfile draw_profile(base::Random& random) {
    VirtualProfile profile;
    profile.delivers_at_target = random.chance(1, 2);
    profile.delay_max = static_cast<std::uint32_t>(random.below(100));
    profile.straggler_percent = static_cast<std::uint32_t>(random.below(8));
    profile.refuse_percent = static_cast<std::uint32_t>(random.below(40));
    profile.refuse_half_percent = static_cast<std::uint32_t>(random.below(20));
    profile.copy_percent = static_cast<std::uint32_t>(random.below(100));
    profile.events_max = 4 + static_cast<std::uint32_t>(random.below(30));
    return profile;
}

}  // namespace weft::test
