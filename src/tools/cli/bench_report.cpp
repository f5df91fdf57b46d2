// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/bench_report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace weft::tools {

namespace {

// Width of the column of algorithms, in characters.
constexpr std::size_t kNameLeast = 24;
constexpr std::size_t kNameMost = 48;
/// Interval of progress lines if stderr is not a terminal.
constexpr std::uint64_t kQuietNs = 60'000'000'000;

double rate_per_s(const BenchRow& row) {
    return 1e6 / row.measurement.call_us.median;
}

struct Bandwidths {
    double algorithm = 0;  ///< bytes per second
    double bus = 0;
};
Bandwidths bandwidths_of(const BenchRow& row, const BandwidthFactors& factors) {
    const double bytes = static_cast<double>(row.bytes);
    // A copy by rank 0 alone copies exactly the bytes in its row.
    const BandwidthFactors own = row.algorithm == kMemcpyName ? BandwidthFactors{1, 1} : factors;
    const double rate = rate_per_s(row);
    return {rate * bytes * own.algorithm, rate * bytes * own.bus};
}

std::string gigabytes(double bytes_per_s) {
    return bytes_per_s == 0 ? "-" : fmt::format("{:.3f}", bytes_per_s * 1e-9);
}

/// Prints a bar for each bin; the longest one fills the width.
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

void mark_quickest(std::span<BenchRow> rows) {
    if (rows.empty()) return;
    std::ranges::min_element(rows, {}, [](const BenchRow& row) {
        return row.measurement.call_us.median;
    })->quickest = true;
}

/// Returns the factors.
/// https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md has the reasons.
BandwidthFactors bandwidth_factors(std::string_view collective, Rank ranks) {
    const double n = ranks;
    const double others = (n - 1) / n;
    // v-variants as the calls that they are like; --bytes is a block of each rank there.
    const bool has_v = collective.ends_with('v');
    const std::string_view name = has_v ? collective.substr(0, collective.size() - 1) : collective;
    if (name == "allreduce") return {1, 2 * others};
    if (name == "barrier") return {};
    for (const std::string_view blocks :
         {"allgather", "alltoall", "reduce_scatter", "gather", "scatter"})
        if (name == blocks) return {n, n * others};
    return {1, 1};  // broadcast, reduce, scan, exscan, puts
}

Json to_json(const BenchRow& row, const BandwidthFactors& factors) {
    const lab::Summary& call = row.measurement.call_us;
    Json object{{"algorithm", row.algorithm},
                {"bytes", row.bytes},
                {"iterations", row.measurement.iterations},
                {"min_us", call.min},
                {"median_us", call.median},
                {"p99_us", call.p99},
                {"max_us", call.max},
                {"checked", row.measurement.checked}};
    if (row.quickest) object["quickest"] = true;
    if (row.puts_per_call == 0) {
        const lab::OverRanks& ranks = row.measurement.ranks_us;
        object["rank_min_us"] = ranks.min;
        object["rank_avg_us"] = ranks.mean;
        object["rank_max_us"] = ranks.max;
        if (const Bandwidths bandwidths = bandwidths_of(row, factors); bandwidths.algorithm != 0) {
            object["algorithm_bandwidth_bytes_per_s"] = bandwidths.algorithm;
            object["bus_bandwidth_bytes_per_s"] = bandwidths.bus;
        }
    } else {
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

BenchPrinter::BenchPrinter(BenchHead head, bool osu, std::size_t widest)
    : head_(std::move(head)),
      osu_(osu),
      name_width_(std::clamp<std::size_t>(widest, kNameLeast, kNameMost)),
      factors_(bandwidth_factors(head_.collective, head_.ranks)) {}

void BenchPrinter::print_head() const {
    const std::string what = fmt::format(
        "{} on {} rank{}, {} node{}, provider {}, {} loop, {} buffers, {} counts, calibrator "
        "{:.0f} "
        "ns",
        head_.collective, head_.ranks, head_.ranks == 1 ? "" : "s", head_.nodes,
        head_.nodes == 1 ? "" : "s", head_.provider, head_.loop, head_.buffers, head_.counts,
        head_.calibrator_ns);
    if (osu_) {
        const bool bandwidth = head_.collective.starts_with("put-bandwidth");
        const std::string_view unit = bandwidth                        ? "Bandwidth (MB/s)"
                                      : head_.collective == "put-rate" ? "Messages/s"
                                                                       : "Latency (us)";
        fmt::print("# weft {}\n{:<10}{:>25}\n", what, "# Size", unit);
    } else if (is_of_puts()) {
        fmt::print("{}, {} pair{}\n{:>10} {:>10} {:>10} {:>10} {:>10} {:>14} {:>10}\n", what,
                   head_.pairs, head_.pairs == 1 ? "" : "s", "bytes", "puts", "min_us", "median_us",
                   "p99_us", "puts/s", "GB/s");
    } else {
        fmt::print(
            "{}\nmin, avg and max over ranks of a rank's mean; median and p99 of batches "
            "of the slowest rank\n"
            "{:>10}  {:<{}} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9}\n",
            what, "bytes", "algorithm", name_width_, "iterations", "min_us", "avg_us", "max_us",
            "median_us", "p99_us", "alg_GB/s", "bus_GB/s");
    }
    std::fflush(stdout);
}

/// Prints size and value. The algorithm is in a comment line, printed when it changes.
void BenchPrinter::print_osu(const BenchRow& row) const {
    double value = row.measurement.call_us.median;
    if (head_.collective == "put-rate") value = rate_per_s(row);
    if (head_.collective.starts_with("put-bandwidth"))
        value = rate_per_s(row) * static_cast<double>(row.bytes) * 1e-6;
    if (row.algorithm != shown_)
        fmt::print("# Algorithm: {}{}\n", row.algorithm, row.quickest ? " (the quickest)" : "");
    shown_ = row.algorithm;
    fmt::print("{:<10}{:>25.2f}\n", row.bytes, value);
}

void BenchPrinter::print(const BenchRow& row) const {
    const lab::Summary& call = row.measurement.call_us;
    const char* const verdict = row.measurement.checked ? "right" : "WRONG";
    if (osu_) {
        print_osu(row);
    } else if (is_of_puts()) {
        fmt::print("{:>10} {:>10} {:>10.3f} {:>10.3f} {:>10.3f} {:>14.0f} {:>10.3f}  {}\n",
                   row.bytes, row.measurement.iterations, call.min, call.median, call.p99,
                   rate_per_s(row), rate_per_s(row) * static_cast<double>(row.bytes) * 1e-9,
                   verdict);
    } else {
        // A long name has a line of its own, so that columns stay columns.
        const bool fits = row.algorithm.size() <= name_width_;
        if (!fits) fmt::print("{:>10}  {}\n", row.bytes, row.algorithm);
        const lab::OverRanks& ranks = row.measurement.ranks_us;
        const Bandwidths bandwidths = bandwidths_of(row, factors_);
        fmt::print(
            "{:>10}  {:<{}} {:>10} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>9} "
            "{:>9}  {}{}\n",
            fits ? fmt::format("{}", row.bytes) : "", fits ? row.algorithm : "", name_width_,
            row.measurement.iterations, ranks.min, ranks.mean, ranks.max, call.median, call.p99,
            gigabytes(bandwidths.algorithm), gigabytes(bandwidths.bus), verdict,
            row.quickest ? "  quickest" : "");
    }
    if (!osu_ && !row.single_calls_us.empty()) print_histogram(row.single_calls_us);
    std::fflush(stdout);
}

BenchProgress::BenchProgress(bool speaks, std::size_t rows)
    : speaks_(speaks),
      shown_(speaks && ::isatty(STDERR_FILENO) == 1),
      began_ns_(base::monotonic_ns()),
      next_ns_(began_ns_ + kQuietNs),
      rows_(rows) {}

void BenchProgress::begin(std::string_view algorithm, std::uint64_t bytes) {
    ++begun_;
    if (shown_) {
        fmt::print(stderr, "\r\033[K{} of {}: {}, {} bytes", begun_, rows_, algorithm,
                   base::format_bytes(bytes));
        std::fflush(stderr);
        return;
    }
    const std::uint64_t now = base::monotonic_ns();
    if (!speaks_ || now < next_ns_) return;
    next_ns_ = now + kQuietNs;
    fmt::print(stderr, "weft bench: {} of {} after {} s: {}, {} bytes\n", begun_, rows_,
               (now - began_ns_) / 1'000'000'000, algorithm, base::format_bytes(bytes));
}

void BenchProgress::clear() const {
    if (!shown_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
}

}  // namespace weft::tools
