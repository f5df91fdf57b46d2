// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/counted_call.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/units.hpp"

namespace weft::tools {

using collectives::Message;

std::uint64_t CountedCall::elements() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

bool CountedCall::all_alike() const {
    return std::ranges::all_of(counts, [&](std::uint64_t c) { return c == counts.front(); });
}

std::uint64_t CountedCall::between(Rank from, Rank to) const {
    const auto count_of = [&](Rank rank) { return counts[static_cast<std::size_t>(rank)]; };
    switch (traits->even) {
        case Collective::gather:
            return to == root ? count_of(from) : 0;
        case Collective::scatter:
            return from == root ? count_of(to) : 0;
        default:
            return count_of(to);
    }
}

std::vector<Message> CountedCall::sent(Rank rank) const {
    std::vector<Message> list;
    for (Rank to = 0; to < size; ++to)
        if (const std::uint64_t count = between(rank, to); count > 0) list.push_back({to, count});
    return list;
}

std::vector<Message> CountedCall::received(Rank rank) const {
    std::vector<Message> list;
    for (Rank from = 0; from < size; ++from)
        if (const std::uint64_t count = between(from, rank); count > 0)
            list.push_back({from, count});
    return list;
}

base::Result<plan::Program> CountedCall::program(Rank rank) const {
    const auto to = sent(rank);
    const auto from = received(rank);
    return collectives::generate_v_collective(
        {.collective = traits->name,
         .rank = rank,
         .size = size,
         .root = traits->rooted() ? root : plan::kNoRank,
         .piece_elements = std::max<std::uint64_t>(1, std::ranges::max(counts)),
         .sent = to,
         .received = from});
}

plan::Contract CountedCall::contract() const {
    plan::Contract contract{
        .collective = std::string(traits->name), .input = {}, .output = {}, .expected = {}};
    contract.input = [this](const plan::Program& header) {
        return plan::UnitRange{0, static_cast<std::uint32_t>(sent(header.rank).size())};
    };
    contract.output = [this](const plan::Program& header) {
        const auto first = static_cast<std::uint32_t>(sent(header.rank).size());
        return plan::UnitRange{first, header.units - std::min(first, header.units)};
    };
    // Each received block is the one that its sender has for this rank.
    contract.expected = [this](const plan::Program& header) {
        std::vector<plan::Expectation> list;
        auto unit = static_cast<std::uint32_t>(sent(header.rank).size());
        for (const Message& message : received(header.rank)) {
            const auto there = sent(message.peer);
            const auto at = std::ranges::find(there, header.rank, &Message::peer) - there.begin();
            list.push_back({unit++, message.peer, message.peer, static_cast<std::uint32_t>(at)});
        }
        return list;
    };
    return contract;
}

base::Result<std::vector<std::uint64_t>> read_counts(const std::string& text, Rank ranks,
                                                     std::uint64_t each) {
    const auto size = static_cast<std::size_t>(ranks);
    if (text.empty()) return std::vector<std::uint64_t>(size, each);
    constexpr std::uint64_t kCountMax = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint64_t> counts;
    for (const std::string_view part : base::split_list(text)) {
        const auto count = base::parse_count(part, {.max = kCountMax});
        if (!count) return count.failure().within("--counts");
        counts.push_back(*count);
    }
    if (counts.size() != size)
        return base::fail(Status::argument, "--counts: {} given, expected one for each of {} ranks",
                          counts.size(), ranks);
    return counts;
}

}  // namespace weft::tools
