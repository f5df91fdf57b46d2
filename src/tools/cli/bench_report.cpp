// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/bench_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/units.hpp"

namespace weft::tools {

namespace {

// Limits of the width of the column `algorithm`, in characters.
constexpr std::size_t kNameWidthMin = 24;
constexpr std::size_t kNameWidthMax = 48;
/// Interval of progress lines if stderr is not a terminal.
constexpr std::uint64_t kProgressIntervalNs = 60'000'000'000;

/// Factors from --bytes to bandwidths, as nccl-tests defines them. The algorithm bandwidth counts
/// the bytes of the whole buffer once, the bus bandwidth the minimum that a link must carry.
/// https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md has the reasons.
struct BandwidthFactors {
    double algorithm = 0;  ///< 0: the call has no data
    double bus = 0;
};

BandwidthFactors bandwidth_factors(const collectives::CollectiveTraits& traits, Rank ranks) {
    const double n = ranks;
    const double share_of_others = (n - 1) / n;
    if (!traits.has_data()) return {};
    if (traits.collective == Collective::allreduce) return {1, 2 * share_of_others};
    if (traits.blocks())
        return {n, n * share_of_others};  // --bytes is (the mean of) one of n blocks
    return {1, 1};
}

void print_histogram(const Json& calls, const Json& bins) {
    constexpr std::size_t kWidth = 50;
    const auto count_of = [](const Json& bin) { return bin["calls"].get<std::size_t>(); };
    const std::size_t most = count_of(*std::ranges::max_element(bins, {}, count_of));
    const auto us = [&](const char* name) { return calls[name].get<double>(); };
    fmt::print("    {} calls one by one: median {:.3f}, p90 {:.3f}, p99 {:.3f}, p99.9 {:.3f} us\n",
               calls["count"].get<std::size_t>(), us("median_us"), us("p90_us"), us("p99_us"),
               us("p999_us"));
    for (const Json& bin : bins) {
        const std::size_t bar = (count_of(bin) * kWidth + most - 1) / most;
        fmt::print("    {:>12.3f} us {:>8} {}\n", bin["from_us"].get<double>(), count_of(bin),
                   std::string(bar, '#'));
    }
}

std::vector<Column> columns_for(const BenchPlan& plan, std::size_t widest) {
    const auto us = [](const char* title, const char* key) {
        return Column{.title = title, .key = key, .digits = 3};
    };
    const auto gigabytes = [](const char* title, const char* key, int width) {
        return Column{.title = title, .key = key, .width = width, .digits = 3, .scale = 1e-9};
    };
    const Column median = us("median_us", "median_us");
    if (plan.request.osu) {
        constexpr int kWidth = 24;
        Column value{"Latency (us)", "median_us", kWidth, 2};
        if (plan.name == "put-rate") value = {"Messages/s", "rate_per_s", kWidth, 2};
        if (plan.name.starts_with("put-bandwidth"))
            value = {"Bandwidth (MB/s)", "bandwidth_bytes_per_s", kWidth, 2, 1e-6};
        return {{"# Size", "bytes", -10}, value};
    }
    if (plan.traits == nullptr)
        return {{"bytes", "bytes"},
                {"puts", "iterations"},
                us("min_us", "min_us"),
                median,
                us("p99_us", "p99_us"),
                us("stddev_us", "stddev_us"),
                {"puts/s", "rate_per_s", 14, 0},
                gigabytes("GB/s", "bandwidth_bytes_per_s", 10),
                verdict()};
    return {
        {"bytes", "bytes"},
        {"algorithm", "algorithm",
         -static_cast<int>(std::clamp<std::size_t>(widest, kNameWidthMin, kNameWidthMax))},
        {"iterations", "iterations"},
        us("min_us", "rank_min_us"),
        us("avg_us", "rank_avg_us"),
        us("max_us", "rank_max_us"),
        median,
        us("p99_us", "p99_us"),
        us("stddev_us", "stddev_us"),
        gigabytes("alg_GB/s", "algorithm_bandwidth_bytes_per_s", 9),
        gigabytes("bus_GB/s", "bus_bandwidth_bytes_per_s", 9),
        verdict(),
        {.title = "", .key = "quickest", .width = -8, .words = {"", "quickest"}, .missing = ""}};
}

std::string title_of(const BenchPlan& plan, const Json& head) {
    const BenchRequest& request = plan.request;
    std::string title = fmt::format(
        "{}{} on {}, {}, provider {}, {} loop, {} buffers, {} counts, calibrator {:.0f} ns",
        request.osu ? "# weft " : "", plan.name, counted(head["ranks"].get<Rank>(), "rank"),
        counted(head["nodes"].get<int>(), "node"), json_text(head["provider"]), request.loop,
        request.buffers, request.counts, head["calibrator_ns"].get<double>());
    if (request.osu) return title;
    if (plan.traits == nullptr)
        return title + ", " + counted(static_cast<Rank>(request.pairs), "pair");
    return title +
           "\nmin, avg, max: of the ranks' mean times; median, p99, stddev: of batches of the "
           "slowest rank";
}

}  // namespace

void mark_quickest(std::span<BenchRow> rows) {
    if (rows.empty()) return;
    std::ranges::min_element(rows, {}, [](const BenchRow& row) {
        return row.facts["median_us"].get<double>();
    })->facts["quickest"] = true;
}

BenchReport::BenchReport(const BenchPlan& plan, Runtime& runtime, double calibrator_ns,
                         std::size_t widest)
    : plan_(plan),
      head_{{"collective", plan.name},
            {"ranks", runtime.world().size()},
            {"nodes", runtime.nodes()},
            {"provider", runtime.provider()},
            {"notify", runtime.notify()},
            {"type", plan.type},
            {"op", plan.reduces() ? plan.request.op : "none"},
            {"loop", plan.request.loop},
            {"buffers", plan.request.buffers},
            {"counts", plan.request.counts},
            {"delay_ns", plan.request.delay_ns},
            {"calibrator_ns", calibrator_ns}},
      columns_(columns_for(plan, widest)),
      rows_(runtime.world().rank() == 0, plan.request.json, head_, title_of(plan, head_),
            columns_) {}

Json BenchReport::facts_of(const Timed& timed) const {
    const lab::Summary& call = timed.measurement.call_us;
    const double rate = 1e6 / call.median;
    const double bytes_per_s = rate * static_cast<double>(timed.bytes);
    Json facts{{"algorithm", timed.algorithm},
               {"bytes", timed.bytes},
               {"iterations", timed.measurement.iterations},
               {"min_us", call.min},
               {"median_us", call.median},
               {"p99_us", call.p99},
               {"max_us", call.max},
               {"stddev_us", call.deviation},
               {"checked", timed.measurement.checked}};
    if (!timed.is_put_bench) {
        const lab::OverRanks& ranks = timed.measurement.ranks_us;
        facts["rank_min_us"] = ranks.min;
        facts["rank_avg_us"] = ranks.mean;
        facts["rank_max_us"] = ranks.max;
        const BandwidthFactors factors =
            timed.algorithm == kMemcpyName
                ? BandwidthFactors{1, 1}
                : bandwidth_factors(*plan_.traits, head_["ranks"].get<Rank>());
        if (factors.algorithm != 0 && timed.bytes != 0) {
            facts["algorithm_bandwidth_bytes_per_s"] = bytes_per_s * factors.algorithm;
            facts["bus_bandwidth_bytes_per_s"] = bytes_per_s * factors.bus;
        }
    } else {
        facts["rate_per_s"] = rate;
        facts["bandwidth_bytes_per_s"] = bytes_per_s;
    }
    if (timed.single_calls_us.empty()) return facts;
    const std::vector<double>& calls_us = timed.single_calls_us;
    const lab::Summary single = lab::summarize(calls_us);
    facts["calls"] = {{"count", single.count},      {"min_us", single.min},
                      {"median_us", single.median}, {"p90_us", lab::percentile(calls_us, 90)},
                      {"p99_us", single.p99},       {"p999_us", lab::percentile(calls_us, 99.9)},
                      {"max_us", single.max}};
    facts["histogram"] = Json::array();
    for (const lab::Bin& bin : lab::histogram(calls_us))
        facts["histogram"].push_back(
            {{"from_us", bin.from}, {"to_us", bin.to}, {"calls", bin.count}});
    return facts;
}

/// Prints the row. With --osu no column has the algorithm: a comment line names it if it changes.
void BenchReport::add(const BenchRow& row) {
    const bool osu = plan_.request.osu;
    const std::string algorithm = json_text(row.facts["algorithm"]);
    if (rows_.shows_rows() && osu && algorithm != shown_)
        fmt::print("# Algorithm: {}{}\n", algorithm,
                   row.facts.contains("quickest") ? " (the quickest)" : "");
    shown_ = algorithm;
    rows_.add(row.facts);
    if (rows_.shows_rows() && !osu && row.facts.contains("histogram"))
        print_histogram(row.facts["calls"], row.facts["histogram"]);
}

BenchProgress::BenchProgress(bool prints, std::size_t rows)
    : prints_(prints),
      overwrites_(prints && ::isatty(STDERR_FILENO) == 1),
      began_ns_(base::monotonic_ns()),
      next_ns_(began_ns_ + kProgressIntervalNs),
      rows_(rows) {}

void BenchProgress::begin(std::string_view algorithm, std::uint64_t bytes) {
    ++begun_;
    if (overwrites_) {
        fmt::print(stderr, "\r\033[K{} of {}: {}, {} bytes", begun_, rows_, algorithm,
                   base::format_bytes(bytes));
        std::fflush(stderr);
        return;
    }
    const std::uint64_t now = base::monotonic_ns();
    if (!prints_ || now < next_ns_) return;
    next_ns_ = now + kProgressIntervalNs;
    fmt::print(stderr, "weft bench: {} of {} after {} s: {}, {} bytes\n", begun_, rows_,
               (now - began_ns_) / 1'000'000'000, algorithm, base::format_bytes(bytes));
}

void BenchProgress::clear() const {
    if (!overwrites_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
}

}  // namespace weft::tools
