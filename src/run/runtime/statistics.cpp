// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "link/direct/direct_memory.hpp"

namespace weft::run {
namespace {

/// Two lines of the head, by Statistic.
constexpr std::array<std::array<const char*, 2>, kStatistics> kHead{{
    {"read", "in place"},
    {"read", "by kernel"},
    {"written", "in place"},
    {"written", "by kernel"},
    {"buffers", "segment"},
    {"buffers", "adopted"},
    {"buffers", "by kernel"},
    {"adop-", "tions"},
    {"adopted", "bytes now"},
    {"given", "back"},
    {"", "lost"},
    {"", "refused"},
    {"objects", "mapped"},
    {"objects", "not"},
    {"buffers", "bounced"},
}};

/// Returns the width of the widest cell in each column.
std::array<std::size_t, kStatistics> widths_of(const Statistics& sums) {
    std::array<std::size_t, kStatistics> widths{};
    for (std::size_t i = 0; i < kStatistics; ++i)
        widths[i] =
            std::max({std::string_view(kHead[i][0]).size(), std::string_view(kHead[i][1]).size(),
                      fmt::formatted_size("{}", sums[i])});
    return widths;
}

}  // namespace

Statistics statistics_of(const MappedBytes& moved, const link::DirectMemory* direct) {
    Statistics found{};
    const auto at = [&](Statistic which) -> std::uint64_t& {
        return found[static_cast<std::size_t>(which)];
    };
    const auto of = [](const auto& ways, base::Way way) {
        return ways[static_cast<std::size_t>(way)];
    };
    at(Statistic::read_in_place) = base::in_place(moved.read);
    at(Statistic::read_by_kernel) = of(moved.read, base::Way::copied);
    at(Statistic::written_in_place) = base::in_place(moved.written);
    at(Statistic::written_by_kernel) = of(moved.written, base::Way::copied);
    at(Statistic::in_segment) = of(moved.buffers, base::Way::segment);
    at(Statistic::adopted) = of(moved.buffers, base::Way::adopted);
    at(Statistic::by_kernel) = of(moved.buffers, base::Way::copied);
    at(Statistic::bounced) = of(moved.buffers, base::Way::bounced);
    if (direct == nullptr) return found;
    const auto& adoption = direct->adoption_counters();
    at(Statistic::adoptions) = adoption.adoptions;
    at(Statistic::adopted_bytes) = adoption.adopted_bytes;
    at(Statistic::given_back) = adoption.given_back;
    at(Statistic::lost) = adoption.lost;
    at(Statistic::refused) =
        std::accumulate(adoption.refusals.begin(), adoption.refusals.end(), std::uint64_t{0});
    const auto& windows = direct->window_counters();
    at(Statistic::mapped) = windows.mapped;
    at(Statistic::not_mapped) = windows.refused + windows.passed_over;
    return found;
}

std::vector<std::string> table_of(std::span<const Statistics> ranks) {
    Statistics sums{};
    for (const Statistics& rank : ranks)
        std::ranges::transform(sums, rank, sums.begin(), std::plus<>());
    const auto widths = widths_of(sums);
    const auto line = [&](std::string_view name, auto cell) {
        std::string text = fmt::format("{:>5}", name);
        for (std::size_t i = 0; i < kStatistics; ++i)
            text += fmt::format("  {:>{}}", cell(i), widths[i]);
        return text;
    };
    std::vector<std::string> lines{
        "memory of local peers: bytes read and written, buffers exposed"};
    for (const std::size_t row : {std::size_t{0}, std::size_t{1}})
        lines.push_back(line(row == 0 ? "" : "rank", [&](std::size_t i) { return kHead[i][row]; }));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        lines.push_back(line(std::to_string(rank), [&](std::size_t i) { return ranks[rank][i]; }));
    lines.push_back(line("all", [&](std::size_t i) { return sums[i]; }));
    return lines;
}

}  // namespace weft::run
