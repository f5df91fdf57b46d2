// SPDX-License-Identifier: BSD-3-Clause
#include "front/cli/bench_report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/units.hpp"

namespace weft::front {

namespace {

double rate_per_s(const BenchRow& row) {
    return 1e6 / row.measurement.call_us.median;
}

/// A bar for each bin; the longest one fills the width.
void print_histogram(const std::vector<double>& calls_us) {
    constexpr std::size_t kWidth = 50;
    const std::vector<lab::Bin> bins = lab::histogram(calls_us);
    const std::size_t most = std::ranges::max_element(bins, {}, &lab::Bin::count)->count;
    const lab::Summary summary = lab::summarize(calls_us);
    fmt::print("    {} calls one by one: median {:.3f}, p90 {:.3f}, p99 {:.3f}, p99.9 {:.3f} us\n",
               summary.count, summary.median, lab::percentile(calls_us, 90), summary.p99,
               lab::percentile(calls_us, 99.9));
    for (const lab::Bin& bin : bins) {
        const std::size_t bar = (bin.count * kWidth + most - 1) / most;
        fmt::print("    {:>12.3f} us {:>8} {}\n", bin.from, bin.count, std::string(bar, '#'));
    }
}

}  // namespace

Json to_json(const BenchRow& row) {
    const lab::Summary& call = row.measurement.call_us;
    Json object{{"algorithm", row.algorithm},
                {"bytes", row.bytes},
                {"iterations", row.measurement.iterations},
                {"min_us", call.min},
                {"median_us", call.median},
                {"p99_us", call.p99},
                {"max_us", call.max},
                {"checked", row.measurement.checked}};
    if (row.puts_per_call != 0) {
        object["rate_per_s"] = rate_per_s(row);
        object["bandwidth_bytes_per_s"] = rate_per_s(row) * static_cast<double>(row.bytes);
    }
    if (row.single_calls_us.empty()) return object;
    const std::vector<double>& calls_us = row.single_calls_us;
    const lab::Summary single = lab::summarize(calls_us);
    object["calls"] = {{"count", single.count},      {"min_us", single.min},
                       {"median_us", single.median}, {"p90_us", lab::percentile(calls_us, 90)},
                       {"p99_us", single.p99},       {"p999_us", lab::percentile(calls_us, 99.9)},
                       {"max_us", single.max}};
    object["histogram"] = Json::array();
    for (const lab::Bin& bin : lab::histogram(calls_us))
        object["histogram"].push_back(
            {{"from_us", bin.from}, {"to_us", bin.to}, {"calls", bin.count}});
    return object;
}

void BenchPrinter::print_head() const {
    const std::string what = fmt::format(
        "{} on {} ranks, {} node{}, provider {}, {} loop, {} buffers, {} counts, calibrator {:.0f} "
        "ns",
        head_.collective, head_.ranks, head_.nodes, head_.nodes == 1 ? "" : "s", head_.provider,
        head_.loop, head_.buffers, head_.counts, head_.calibrator_ns);
    if (osu_) {
        const std::string_view unit = head_.collective == "put-bandwidth" ? "Bandwidth (MB/s)"
                                      : head_.collective == "put-rate"    ? "Messages/s"
                                                                          : "Latency (us)";
        fmt::print("# weft {}\n{:<10}{:>25}\n", what, "# Size", unit);
    } else {
        fmt::print("{}\n{:>10}  {:<24} {:>10} {:>10} {:>10} {:>10} {:>10}\n", what, "bytes",
                   "algorithm", "iterations", "min_us", "median_us", "p99_us", "max_us");
    }
    std::fflush(stdout);
}

void BenchPrinter::print(const BenchRow& row) const {
    const lab::Summary& call = row.measurement.call_us;
    if (osu_) {
        double value = call.median;
        if (head_.collective == "put-rate") value = rate_per_s(row);
        if (head_.collective == "put-bandwidth")
            value = rate_per_s(row) * static_cast<double>(row.bytes) * 1e-6;
        fmt::print("{:<10}{:>25.2f}\n", row.bytes, value);
    } else {
        fmt::print("{:>10}  {:<24} {:>10} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f}  {}\n", row.bytes,
                   row.algorithm, row.measurement.iterations, call.min, call.median, call.p99,
                   call.max, row.measurement.checked ? "right" : "WRONG");
        if (!row.single_calls_us.empty()) print_histogram(row.single_calls_us);
    }
    std::fflush(stdout);
}

BenchProgress::BenchProgress(bool speaks, std::size_t rows)
    : shown_(speaks && ::isatty(STDERR_FILENO) == 1), rows_(rows) {}

void BenchProgress::begin(std::string_view algorithm, std::uint64_t bytes) {
    ++begun_;
    if (!shown_) return;
    fmt::print(stderr, "\r\033[K{} of {}: {}, {} bytes", begun_, rows_, algorithm,
               base::format_bytes(bytes));
    std::fflush(stderr);
}

void BenchProgress::clear() const {
    if (!shown_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
}

}  // namespace weft::front
