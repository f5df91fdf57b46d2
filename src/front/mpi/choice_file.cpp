// SPDX-License-Identifier: BSD-3-Clause
#include "front/mpi/choice_file.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

namespace weft::mpi {

namespace {

constexpr std::string_view kHead = "# weft: who is quicker: MPI, ranks, collective, from bytes\n";

struct Line {
    std::string mpi;
    int ranks = 0;
    Choices::Place place = 0;
    Choices::Way way = Choices::Way::untried;
};

std::optional<Line> read_line(const std::string& text) {
    std::istringstream words(text);
    Line line;
    std::string collective;
    std::string quicker;
    std::size_t bytes = 0;
    if (!(words >> line.mpi >> line.ranks >> collective >> bytes >> quicker) || line.ranks < 2)
        return std::nullopt;
    const auto* const kind = std::ranges::find(kKindNames, collective);
    if (kind == kKindNames.end() || (quicker != "weft" && quicker != "host")) return std::nullopt;
    line.place = Choices::place_of(static_cast<Kind>(kind - kKindNames.begin()), bytes);
    line.way = quicker == "weft" ? Choices::Way::ours : Choices::Way::hosts;
    return line;
}

/// Calls act(line as text, Line or nothing) for each line that is not empty and no remark.
template <class Act>
void for_each_line(std::string_view text, Act act) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);)
        if (!line.empty() && line.front() != '#') act(line, read_line(line));
}

std::string text_of(std::string_view mpi, int ranks, Choices::Place place, Choices::Way way) {
    const std::size_t bits = place % Choices::kSizes;
    const std::size_t bytes = bits == 0 ? 0 : std::size_t{1} << (bits - 1);
    std::ostringstream line;
    line << mpi << ' ' << ranks << ' ' << kKindNames[place / Choices::kSizes] << ' ' << bytes << ' '
         << (way == Choices::Way::ours ? "weft" : "host") << '\n';
    return line.str();
}

}  // namespace

KnownWays read_ways(std::string_view text, std::string_view mpi, std::string& complaint) {
    KnownWays known;
    for_each_line(text, [&](const std::string& words, const std::optional<Line>& line) {
        if (!line && complaint.empty()) complaint = words;
        if (line && line->mpi == mpi) known[line->ranks][line->place] = line->way;
    });
    return known;
}

std::string write_ways(std::string_view text, std::string_view mpi, const KnownWays& known) {
    std::string written(kHead);
    for_each_line(text, [&](const std::string& words, const std::optional<Line>& line) {
        if (line && line->mpi != mpi) written += words + '\n';
    });
    for (const auto& [ranks, ways] : known)
        for (std::size_t place = 0; place < ways.size(); ++place)
            if (ways[place] >= Choices::Way::ours)
                written += text_of(mpi, ranks, place, ways[place]);
    return written;
}

}  // namespace weft::mpi
