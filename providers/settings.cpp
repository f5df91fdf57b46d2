// SPDX-License-Identifier: BSD-3-Clause
#include "providers/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::providers {

std::string identifier_of(const link::JobFacts& job, std::string_view separator) {
    if (job.number == 0) return {};
    // The number identifies memory of the job, so only a mixed form of it is used (splitmix64).
    const auto mixed = [&](std::uint64_t step) {
        std::uint64_t value = job.number + step * 0x9e3779b97f4a7c15U;
        value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
        value = (value ^ value >> 27) * 0x94d049bb133111ebU;
        return value ^ value >> 31;
    };
    std::string text = fmt::format("{:016x}{:016x}", mixed(1), mixed(2));
    for (const std::size_t at : {20, 16, 12, 8}) text.insert(at, separator);
    return text;
}

std::string peers_of_rxm(const link::JobFacts& job) {
    constexpr Rank kDefault = 1024;  // of libfabric 1.17 and 2.6, src/common.c
    return std::to_string(std::max(job.ranks, kDefault));
}

}  // namespace weft::providers
