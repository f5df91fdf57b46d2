// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/gather.hpp"

#include <cstring>

#include "base/clock.hpp"
#include "run/team/team.hpp"

namespace weft::run {

base::Result<void> check_longest(std::uint64_t words, std::uint64_t mine, Rank ranks) {
    constexpr std::uint64_t kWordsMax = std::uint64_t{1} << 29;  // 4 GiB on rank 0 for all texts
    if (words < mine)
        return base::fail(Status::peer,
                          "the longest text of a rank has {} words, this rank's has {}", words,
                          mine);
    if (words > kWordsMax / static_cast<std::uint64_t>(ranks))
        return base::fail(
            Status::peer,
            "a rank has a text of {} words, expected at most {} from each of {} ranks", words,
            kWordsMax / static_cast<std::uint64_t>(ranks), ranks);
    return {};
}

/// Sends each text as words: its length in bytes, then the text, padded to the longest one.
base::Result<std::vector<std::string>> gather_texts(Team& team, const std::string& mine) {
    const std::uint64_t length = mine.size();
    const std::uint64_t needed = (length + 2 * sizeof length - 1) / sizeof length;
    std::uint64_t words = needed;
    if (const base::Failure* const why =
            team.run(Call::allreduce(&words, &words, 1, Type::uint64, Op::max), Purpose::observing))
        return *why;
    if (auto checked = check_longest(words, needed, team.size()); !checked)
        return checked.failure();
    const std::size_t members = team.rank() == 0 ? static_cast<std::size_t>(team.size()) : 0;
    std::vector<std::uint64_t> own(words);
    own[0] = length;
    std::memcpy(own.data() + 1, mine.data(), length);
    std::vector<std::uint64_t> all(words * members);
    if (const base::Failure* const why = team.run(
            Call::gather(own.data(), all.data(), words, Type::uint64, 0), Purpose::observing))
        return *why;
    std::vector<std::string> texts;
    for (std::size_t member = 0; member < members; ++member) {
        const std::uint64_t* const from = all.data() + member * words;
        const std::uint64_t most = (words - 1) * sizeof *from;
        if (*from > most)
            return base::fail(Status::peer, "rank {} sent a text of {} bytes, at most {} fit",
                              member, *from, most);
        texts.emplace_back(reinterpret_cast<const char*>(from + 1), *from);
    }
    return texts;
}

/// See GatherArrivals.
static base::Result<std::vector<std::uint64_t>> gather_arrivals(Team& team) {
    std::uint64_t token = 0;
    if (const base::Failure* const why =
            team.run(Call::broadcast(&token, 1, Type::uint64, 0), Purpose::observing))
        return *why;
    std::uint64_t arrived_ns = base::monotonic_ns();
    std::vector<std::uint64_t> all(team.rank() == 0 ? static_cast<std::size_t>(team.size()) : 0);
    if (const base::Failure* const why =
            team.run(Call::gather(&arrived_ns, all.data(), 1, Type::uint64, 0), Purpose::observing))
        return *why;
    return all;
}

JobExchange exchange_of(Team& world) {
    return {.rank = world.rank(),
            .gather_texts = [&](const std::string& mine) { return gather_texts(world, mine); },
            .gather_arrivals = [&] { return gather_arrivals(world); }};
}

}  // namespace weft::run
