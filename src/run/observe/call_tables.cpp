// SPDX-License-Identifier: BSD-3-Clause
#include "run/observe/call_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <tuple>

#include "base/units.hpp"

namespace weft::run {

namespace {

/// Sums of one rank, in the order of the first line of its text.
struct RankSums {
    std::uint64_t calls = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t waited_ns = 0;   ///< time waited for peers
    std::uint64_t flushed_ns = 0;  ///< time waited for its own transfers
    std::int64_t worst = -1;       ///< peer with the longest waits
    std::uint64_t worst_ns = 0;
    std::uint64_t put = 0;
    std::uint64_t in_place = 0;
    std::uint64_t by_kernel = 0;
    std::uint64_t far = 0;
};

struct KindSums {
    std::size_t ranks = 0;
    std::uint64_t calls_most = 0;  ///< of one rank
    std::uint64_t calls = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t waited_ns = 0;
    std::uint64_t put = 0;
    std::uint64_t far = 0;
};
/// Collective, bytes, algorithm.
using Kind = std::tuple<std::string, std::uint64_t, std::string>;

RankSums sums_of(const Recorder& recorder, const MappedBytes& moved) {
    RankSums sums;
    for (const CallSums& line : recorder.lines()) {
        sums.calls += line.calls;
        sums.time_ns += line.time_ns;
        sums.put += line.put_bytes;
        sums.far += line.far_bytes;
    }
    const std::vector<std::uint64_t>& waited = recorder.waited_ns();
    sums.waited_ns = std::accumulate(waited.begin(), waited.end(), std::uint64_t{0});
    sums.flushed_ns = recorder.flushed_ns();
    const auto worst = std::ranges::max_element(waited);
    if (worst != waited.end() && *worst != 0) {
        sums.worst = worst - waited.begin();
        sums.worst_ns = *worst;
    }
    for (const auto& ways : {moved.read, moved.written}) {
        sums.in_place += base::in_place(ways);
        sums.by_kernel += ways[static_cast<std::size_t>(base::AccessMethod::copied)];
    }
    return sums;
}

/// Aligns columns to their widest cells. The first `left` columns contain words.
std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows,
                                 std::size_t left) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::vector<std::string> lines;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += i < left ? fmt::format("  {:<{}}", row[i], widths[i])
                             : fmt::format("  {:>{}}", row[i], widths[i]);
        lines.push_back(line);
    }
    return lines;
}

std::string microseconds(std::uint64_t ns, std::uint64_t calls) {
    return fmt::format(
        "{:.2f}", calls == 0 ? 0.0 : static_cast<double>(ns) * 1e-3 / static_cast<double>(calls));
}
std::string milliseconds(std::uint64_t ns) {
    return fmt::format("{:.2f}", static_cast<double>(ns) * 1e-6);
}

void add_kinds(std::vector<std::string>& lines, const std::map<Kind, KindSums>& kinds) {
    std::vector<std::vector<std::string>> rows{
        {"call", "bytes", "algorithm", "ranks", "calls", "mean_us", "waited_us", "put", "far"}};
    for (const auto& [kind, sums] : kinds) {
        const auto& [collective, bytes, algorithm] = kind;
        rows.push_back({collective, bytes == 0 ? "0" : base::format_bytes(bytes), algorithm,
                        std::to_string(sums.ranks), std::to_string(sums.calls_most),
                        microseconds(sums.time_ns, sums.calls),
                        microseconds(sums.waited_ns, sums.calls), std::to_string(sums.put),
                        std::to_string(sums.far)});
    }
    lines.push_back(
        "calls by kind: bytes of the vector, rounded down to a power of two; means of one call "
        "on one rank; bytes put to local peers, and to remote ones, of all ranks");
    for (std::string& line : aligned(rows, 3)) lines.push_back(std::move(line));
}

void add_ranks(std::vector<std::string>& lines, const std::vector<RankSums>& ranks) {
    std::vector<std::vector<std::string>> rows{{"rank", "calls", "in_calls_ms", "waited_ms",
                                                "most_for_rank", "for_it_ms", "own_puts_ms", "put",
                                                "in_place", "by_kernel", "far"}};
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const RankSums& sums = ranks[rank];
        rows.push_back({std::to_string(rank), std::to_string(sums.calls),
                        milliseconds(sums.time_ns), milliseconds(sums.waited_ns),
                        sums.worst < 0 ? "-" : std::to_string(sums.worst),
                        milliseconds(sums.worst_ns), milliseconds(sums.flushed_ns),
                        std::to_string(sums.put), std::to_string(sums.in_place),
                        std::to_string(sums.by_kernel), std::to_string(sums.far)});
    }
    lines.push_back(
        "ranks: time in calls, waits for others, the longest for one rank, waits for own puts; "
        "bytes put, read and written in place, copied by the kernel, sent over the network");
    for (std::string& line : aligned(rows, 0)) lines.push_back(std::move(line));
}

}  // namespace

std::string packed_calls(const Recorder& recorder, const MappedBytes& moved) {
    const RankSums sums = sums_of(recorder, moved);
    std::string text = fmt::format("{} {} {} {} {} {} {} {} {} {}\n", sums.calls, sums.time_ns,
                                   sums.waited_ns, sums.flushed_ns, sums.worst, sums.worst_ns,
                                   sums.put, sums.in_place, sums.by_kernel, sums.far);
    for (const CallSums& line : recorder.lines()) {
        if (line.calls == 0) continue;
        text += fmt::format("{} {} {} {} {} {}\t{}\t{}\n", line.bytes_class, line.calls,
                            line.time_ns, line.waited_ns, line.put_bytes, line.far_bytes,
                            line.collective, line.algorithm);
    }
    return text;
}

std::vector<std::string> call_tables(const std::vector<std::string>& ranks) {
    std::map<Kind, KindSums> kinds;
    std::vector<RankSums> all;
    for (const std::string& text : ranks) {
        std::istringstream lines(text);
        RankSums& own = all.emplace_back();
        lines >> own.calls >> own.time_ns >> own.waited_ns >> own.flushed_ns >> own.worst >>
            own.worst_ns >> own.put >> own.in_place >> own.by_kernel >> own.far;
        std::uint64_t bytes = 0;
        CallSums line;
        while (lines >> bytes >> line.calls >> line.time_ns >> line.waited_ns >> line.put_bytes >>
               line.far_bytes) {
            lines.ignore();  // skips the tabulator
            std::getline(lines, line.collective, '\t');
            std::getline(lines, line.algorithm);
            KindSums& sums = kinds[{line.collective, bytes, line.algorithm}];
            ++sums.ranks;
            sums.calls_most = std::max(sums.calls_most, line.calls);
            sums.calls += line.calls;
            sums.time_ns += line.time_ns;
            sums.waited_ns += line.waited_ns;
            sums.put += line.put_bytes;
            sums.far += line.far_bytes;
        }
    }
    std::vector<std::string> tables;
    add_kinds(tables, kinds);
    add_ranks(tables, all);
    return tables;
}

}  // namespace weft::run
