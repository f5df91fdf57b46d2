// SPDX-License-Identifier: BSD-3-Clause
#include "run/observe/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// Adds rows as lines with aligned columns: the first `left` columns to the left, others to the
/// right.
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

/// Returns this rank's row of the table of ranks, without the rank itself.
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

void add_ranks(std::vector<std::string>& lines, const std::vector<Row>& ranks) {
    std::vector<Row> rows{{"rank", "calls", "in_calls_ms", "waited_ms", "most_for_rank",
                           "for_it_ms", "own_puts_ms", "put", "in_place", "by_kernel", "far"}};
    for (const Row& cells : ranks) {
        rows.push_back({std::to_string(rows.size() - 1)});
        rows.back().insert(rows.back().end(), cells.begin(), cells.end());
        rows.back().resize(rows.front().size());
    }
    lines.push_back(
        "ranks: time in calls, waits for other ranks, longest wait for a rank, waits for own puts; "
        "bytes put, read and written in place, copied by the kernel, sent over the network");
    add_aligned(lines, rows, 0);
}

void add_memory(std::vector<std::string>& lines, const std::vector<std::string>& ranks,
                std::span<const MemoryCount> columns) {
    std::vector<Row> rows{{""}, {"rank"}};
    for (const MemoryCount& column : columns)
        for (const std::size_t line : {0, 1}) rows[line].emplace_back(column.head[line]);
    std::vector<std::uint64_t> sums(columns.size());
    for (const std::string& counts : ranks) {
        std::istringstream text(counts);
        rows.push_back({std::to_string(rows.size() - 2)});
        for (std::uint64_t& sum : sums) {
            std::uint64_t count = 0;
            text >> count;
            sum += count;
            rows.back().push_back(std::to_string(count));
        }
    }
    rows.push_back({"all"});
    for (const std::uint64_t sum : sums) rows.back().push_back(std::to_string(sum));
    lines.push_back("memory of local peers: bytes read and written, buffers exposed");
    add_aligned(lines, rows, 0);
}

}  // namespace

std::string packed_counts(const Recorder& recorder, const MappedBytes& moved,
                          std::span<const MemoryCount> memory) {
    std::string text = cells_of(recorder, moved) + "\n";
    for (const MemoryCount& column : memory) text += fmt::format("{} ", column.count);
    text += "\n";
    for (const CallSums& sums : recorder.sums()) {
        if (sums.calls == 0) continue;
        text += fmt::format("{} {} {} {} {} {}\t{}\t{}\n", sums.bytes_class, sums.calls,
                            sums.time_ns, sums.waited_ns, sums.put_bytes, sums.far_bytes,
                            sums.collective, sums.algorithm);
    }
    return text;
}

std::vector<std::string> tables_of(const std::vector<std::string>& ranks,
                                   std::span<const MemoryCount> memory) {
    std::map<CallKind, KindSums> kinds;
    std::vector<Row> cells;
    std::vector<std::string> counts;
    for (const std::string& text : ranks) {
        std::istringstream lines(text);
        std::string first;
        std::getline(lines, first);
        std::istringstream words(first);
        cells.emplace_back(std::istream_iterator<std::string>(words),
                           std::istream_iterator<std::string>());
        std::getline(lines, counts.emplace_back());
        CallSums line;
        while (lines >> line.bytes_class >> line.calls >> line.time_ns >> line.waited_ns >>
               line.put_bytes >> line.far_bytes) {
            lines.ignore();  // the tab character
            std::getline(lines, line.collective, '\t');
            std::getline(lines, line.algorithm);
            KindSums& sums = kinds[{line.collective, line.bytes_class, line.algorithm}];
            ++sums.ranks;
            sums.calls_most = std::max(sums.calls_most, line.calls);
            add(sums.all, line);
        }
    }
    std::vector<std::string> tables;
    add_kinds(tables, kinds);
    add_ranks(tables, cells);
    add_memory(tables, counts, memory);
    return tables;
}

Reports::Reports(const base::Settings& settings, const base::Log& log, Rank ranks)
    : settings_(settings), log_(log) {
    if (!settings.stats && settings.trace.empty()) return;
    const std::uint64_t events =
        std::min(settings.trace_events, kTraceEventsOfJob / static_cast<std::uint64_t>(ranks));
    recorder_.emplace(ranks, settings.trace.empty() ? 0 : events);
}

base::Result<void> Reports::begin(const JobExchange& job) {
    if (settings_.trace.empty()) return {};
    auto clocks = compare_clocks(job.gather_arrivals);
    if (!clocks) return clocks.failure().within("WEFT_TRACE");
    clocks_ = *std::move(clocks);
    return {};
}

base::Result<void> Reports::write(const JobExchange& job, const MappedBytes& moved,
                                  std::span<const MemoryCount> memory, TraceContext context) {
    if (settings_.stats) WEFT_TRY(print_tables(job, moved, memory));
    return clocks_ ? write_trace(job, std::move(context)) : base::Result<void>();
}

base::Result<void> Reports::print_tables(const JobExchange& job, const MappedBytes& moved,
                                         std::span<const MemoryCount> memory) {
    const auto counts = WEFT_TRY(job.gather_texts(packed_counts(*recorder_, moved, memory)));
    if (job.rank != 0) return {};
    for (const std::string& line : tables_of(counts, memory)) base::write_line("weft: " + line);
    return {};
}

base::Result<void> Reports::write_trace(const JobExchange& job, TraceContext context) {
    auto clocks = WEFT_TRY(compare_clocks(job.gather_arrivals));
    context.clocks = {*clocks_, clocks};
    const auto traces = WEFT_TRY(job.gather_texts(packed_trace(*recorder_)));
    if (job.rank != 0) return {};
    const auto written = run::write_trace(settings_.trace, traces, context);
    log_.warn(written.ok() ? *written : written.failure().text);
    return {};
}

}  // namespace weft::run
