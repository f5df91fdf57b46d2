// SPDX-License-Identifier: BSD-3-Clause
#include "run/observe/reports.hpp"

#include <algorithm>
#include <utility>

#include "run/observe/call_tables.hpp"

namespace weft::run {

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
                                  const Statistics& statistics, TraceAbout about) {
    if (settings_.stats) {
        if (auto printed = print_tables(job, moved, statistics); !printed) return printed;
    }
    return clocks_ ? write_trace(job, std::move(about)) : base::Result<void>();
}

base::Result<void> Reports::print_tables(const JobExchange& job, const MappedBytes& moved,
                                         const Statistics& statistics) {
    const auto calls = job.gather_texts(packed_calls(*recorder_, moved));
    if (!calls) return calls.failure();
    const auto counts = job.gather_texts(packed(statistics));
    if (!counts) return counts.failure();
    if (job.rank != 0) return {};
    const auto table = table_of(*counts);
    if (!table) return table.failure();
    for (const auto& lines : {call_tables(*calls), *table})
        for (const std::string& line : lines) base::write_line("weft: " + line);
    return {};
}

base::Result<void> Reports::write_trace(const JobExchange& job, TraceAbout about) {
    auto clocks = compare_clocks(job.gather_arrivals);
    if (!clocks) return clocks.failure();
    about.clocks = {*clocks_, *clocks};
    const auto traces = job.gather_texts(packed_trace(*recorder_));
    if (!traces) return traces.failure();
    if (job.rank != 0) return {};
    const auto written = run::write_trace(settings_.trace, *traces, about);
    log_.warn(written.ok() ? *written : written.failure().text);
    return {};
}

}  // namespace weft::run
