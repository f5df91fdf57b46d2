// SPDX-License-Identifier: BSD-3-Clause
#include "run/observe/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <tuple>
#include <utility>

#include "base/units.hpp"

namespace weft::run {

namespace {

using Row = std::vector<std::string>;

/// Sums over the calls of a kind on all ranks.
struct KindSums {
    std::size_t ranks = 0;         ///< number of ranks that made calls of this kind
    std::uint64_t calls_most = 0;  ///< largest number of calls of a rank
    CallSums all;
};
/// Key of a table line: collective, bytes_class, algorithm.
using CallKind = std::tuple<std::string, std::uint64_t, std::string>;

void add(CallSums& sums, const CallSums& more) {
    sums.calls += more.calls;
    sums.time_ns += more.time_ns;
    sums.waited_ns += more.waited_ns;
    sums.put_bytes += more.put_bytes;
    sums.far_bytes += more.far_bytes;
}

/// Adds rows as lines with aligned columns: the first `left` to the left, others to the right.
void add_aligned(std::vector<std::string>& lines, const std::vector<Row>& rows, std::size_t left) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const Row& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += i < left ? fmt::format("  {:<{}}", row[i], widths[i])
                             : fmt::format("  {:>{}}", row[i], widths[i]);
        lines.push_back(line);
    }
}

std::string microseconds(std::uint64_t ns, std::uint64_t calls) {
    return fmt::format(
        "{:.2f}", calls == 0 ? 0.0 : static_cast<double>(ns) * 1e-3 / static_cast<double>(calls));
}
std::string milliseconds(std::uint64_t ns) {
    return fmt::format("{:.2f}", static_cast<double>(ns) * 1e-6);
}

std::string cells_of(const Recorder& recorder, const MappedBytes& moved) {
    CallSums sums;
    for (const CallSums& of_kind : recorder.sums()) add(sums, of_kind);
    const std::vector<std::uint64_t>& waited = recorder.waited_ns();
    const auto longest = std::ranges::max_element(waited);
    const bool waits = longest != waited.end() && *longest != 0;
    std::uint64_t in_place = 0;
    std::uint64_t by_kernel = 0;
    for (const auto& counts : {moved.read, moved.written}) {
        in_place += base::in_place(counts);
        by_kernel += counts[static_cast<std::size_t>(base::AccessMethod::copied)];
    }
    return fmt::format(
        "{} {} {} {} {} {} {} {} {} {}", sums.calls, milliseconds(sums.time_ns),
        milliseconds(std::accumulate(waited.begin(), waited.end(), std::uint64_t{0})),
        waits ? std::to_string(longest - waited.begin()) : "-", milliseconds(waits ? *longest : 0),
        milliseconds(recorder.flushed_ns()), sums.put_bytes, in_place, by_kernel, sums.far_bytes);
}

void add_kinds(std::vector<std::string>& lines, const std::map<CallKind, KindSums>& kinds) {
    std::vector<Row> rows{
        {"call", "bytes", "algorithm", "ranks", "calls", "mean_us", "waited_us", "put", "far"}};
    for (const auto& [kind, sums] : kinds) {
        const auto& [collective, bytes, algorithm] = kind;
        rows.push_back({collective, bytes == 0 ? "0" : base::format_bytes(bytes), algorithm,
                        std::to_string(sums.ranks), std::to_string(sums.calls_most),
                        microseconds(sums.all.time_ns, sums.all.calls),
                        microseconds(sums.all.waited_ns, sums.all.calls),
                        std::to_string(sums.all.put_bytes), std::to_string(sums.all.far_bytes)});
    }
    lines.push_back(
        "calls by kind: bytes of the buffer, rounded down to a power of two; mean times of a call "
        "on a rank; bytes that all ranks put to local peers and to remote ranks");
    add_aligned(lines, rows, 3);
}

void add_ranks(std::vector<std::string>& lines, std::span<const RankReport> ranks) {
    std::vector<Row> rows{{"rank", "calls", "in_calls_ms", "waited_ms", "most_for_rank",
                           "for_it_ms", "own_puts_ms", "put", "in_place", "by_kernel", "far"}};
    for (const RankReport& rank : ranks) {
        rows.push_back({std::to_string(rows.size() - 1)});
        rows.back().insert(rows.back().end(), rank.cells.begin(), rank.cells.end());
        rows.back().resize(rows.front().size());
    }
    lines.push_back(
        "ranks: time in calls, waits for other ranks, longest wait for a rank, waits for own puts; "
        "bytes put, read and written in place, copied by the kernel, sent over the network");
    add_aligned(lines, rows, 0);
}

void add_memory(std::vector<std::string>& lines, std::span<const RankReport> ranks,
                std::span<const MemoryCount> columns) {
    std::vector<Row> rows{{""}, {"rank"}};
    for (const MemoryCount& column : columns)
        for (const std::size_t line : {0, 1}) rows[line].emplace_back(column.head[line]);
    std::vector<std::uint64_t> sums(columns.size());
    const auto add_row = [&](std::string head, const std::vector<std::uint64_t>& counts) {
        Row& row = rows.emplace_back(Row{std::move(head)});
        for (const std::uint64_t count : counts) row.push_back(std::to_string(count));
        row.resize(rows.front().size());
    };
    for (const RankReport& rank : ranks) {
        add_row(std::to_string(rows.size() - 2), rank.memory);
        std::ranges::transform(sums, rank.memory, sums.begin(), std::plus());
    }
    add_row("all", sums);
    lines.push_back("memory of local peers: bytes read and written, buffers exposed");
    add_aligned(lines, rows, 0);
}

std::vector<std::string> tables_of(std::span<const RankReport> ranks,
                                   std::span<const MemoryCount> memory) {
    std::map<CallKind, KindSums> kinds;
    for (const RankReport& rank : ranks) {
        for (const CallSums& line : rank.sums) {
            if (line.calls == 0) continue;
            KindSums& sums = kinds[{line.collective, line.bytes_class, line.algorithm}];
            ++sums.ranks;
            sums.calls_most = std::max(sums.calls_most, line.calls);
            add(sums.all, line);
        }
    }
    std::vector<std::string> tables;
    add_kinds(tables, kinds);
    add_ranks(tables, ranks);
    add_memory(tables, ranks, memory);
    return tables;
}

/// Returns true if an event that another rank sent has valid values.
bool is_valid(const RecordedEvent& event, const RankReport& report) {
    const auto far = *reinterpret_cast<const unsigned char*>(&event.far);
    return static_cast<std::size_t>(event.kind) < kEventKinds && far <= 1 &&
           (!is_call(event) || event.step < report.names.size());
}

}  // namespace

/// The format: lines of words, a line for each of the sums and names, and the bytes of the events.
std::string packed_report(const Recorder& recorder, const MappedBytes& moved,
                          std::span<const MemoryCount> memory) {
    std::string text = cells_of(recorder, moved) + "\n";
    for (const MemoryCount& column : memory) text += fmt::format("{} ", column.count);
    const std::vector<RecordedEvent> events = recorder.events();
    text += fmt::format("\n{} {} {} {}\n", recorder.sums().size(), recorder.names().size(),
                        events.size(), recorder.lost());
    for (const CallSums& sums : recorder.sums())
        text += fmt::format("{} {} {} {} {} {}\t{}\t{}\n", sums.bytes_class, sums.calls,
                            sums.time_ns, sums.waited_ns, sums.put_bytes, sums.far_bytes,
                            sums.collective, sums.algorithm);
    for (const std::string& name : recorder.names()) text += name + "\n";
    return text.append(reinterpret_cast<const char*>(events.data()),
                       events.size() * sizeof(RecordedEvent));
}

std::optional<RankReport> unpacked_report(const std::string& packed) {
    std::istringstream text(packed);
    const auto words_of_line = [&]<class Word>(std::vector<Word>& words) {
        std::string line;
        std::getline(text, line);
        std::istringstream in(line);
        words.assign(std::istream_iterator<Word>(in), std::istream_iterator<Word>());
    };
    RankReport report;
    words_of_line(report.cells);
    words_of_line(report.memory);
    std::vector<std::uint64_t> counts;  // of sums, names, kept events and dropped events
    words_of_line(counts);
    if (!text || counts.size() != 4) return std::nullopt;
    for (std::uint64_t i = 0; i < counts[0] && text; ++i) {
        CallSums& sums = report.sums.emplace_back();
        text >> sums.bytes_class >> sums.calls >> sums.time_ns >> sums.waited_ns >>
            sums.put_bytes >> sums.far_bytes;
        text.ignore();  // the tab character
        std::getline(text, sums.collective, '\t');
        std::getline(text, sums.algorithm);
    }
    for (std::uint64_t i = 0; i < counts[1] && text; ++i)
        std::getline(text, report.names.emplace_back());
    if (!text || text.eof()) return std::nullopt;
    const std::size_t bytes = packed.size() - static_cast<std::size_t>(text.tellg());
    if (bytes % sizeof(RecordedEvent) != 0 || bytes / sizeof(RecordedEvent) != counts[2])
        return std::nullopt;
    report.lost = counts[3];
    report.events.resize(counts[2]);
    if (bytes != 0) std::memcpy(report.events.data(), packed.data() + packed.size() - bytes, bytes);
    const bool valid = std::ranges::all_of(
        report.events, [&](const RecordedEvent& event) { return is_valid(event, report); });
    return valid ? std::optional(std::move(report)) : std::nullopt;
}

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

std::optional<Recorder> recorder_for(const base::Settings& settings, Rank ranks) {
    if (settings.trace.empty())
        return settings.stats ? std::optional(Recorder(ranks, 0)) : std::nullopt;
    return Recorder(ranks, std::min(settings.trace_events,
                                    kTraceEventsOfJob / static_cast<std::uint64_t>(ranks)));
}

base::Result<void> write_reports(const std::vector<std::string>& packed,
                                 std::span<const MemoryCount> memory, const TraceContext& context,
                                 const base::Settings& settings, const base::Log& log) {
    std::vector<RankReport> ranks;
    for (const std::string& text : packed) {
        auto report = unpacked_report(text);
        if (!report)
            return base::fail(Status::peer, "rank {} sent an invalid report", ranks.size());
        ranks.push_back(*std::move(report));
    }
    if (settings.stats)
        for (const std::string& line : tables_of(ranks, memory)) base::write_line("weft: " + line);
    if (context.clocks.front().ahead_ns.empty()) return {};  // no trace
    const auto written = write_trace(settings.trace, std::move(ranks), context);
    log.warn(written.ok() ? *written : written.failure().text);
    return {};
}

}  // namespace weft::run
