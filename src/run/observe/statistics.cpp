// SPDX-License-Identifier: BSD-3-Clause
#include "run/observe/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

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

std::string packed(const Statistics& statistics) {
    return {reinterpret_cast<const char*>(statistics.data()), sizeof statistics};
}

base::Result<std::vector<std::string>> table_of(std::span<const std::string> texts) {
    std::vector<Statistics> ranks;
    for (const std::string& text : texts) {
        if (text.size() != sizeof(Statistics))
            return base::fail(Status::peer, "rank {} sent statistics of {} bytes, expected {}",
                              ranks.size(), text.size(), sizeof(Statistics));
        std::memcpy(ranks.emplace_back().data(), text.data(), sizeof(Statistics));
    }
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
