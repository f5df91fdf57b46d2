// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/bench_overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "base/clock.hpp"
#include "tools/cli/bench_subjects.hpp"
#include "tools/measure/statistics.hpp"

namespace weft::tools {

namespace {

using base::monotonic_ns;

enum class Beside : std::uint8_t { nothing, computing, sleeping };

double us_since(std::uint64_t start_ns) {
    return static_cast<double>(monotonic_ns() - start_ns) / 1000.0;
}

void work_for(double us, Beside beside) {
    const auto ns = static_cast<std::uint64_t>(us * 1000.0);
    if (beside == Beside::sleeping) {
        const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                            static_cast<long>(ns % 1'000'000'000)};
        nanosleep(&time, nullptr);
        return;
    }
    for (const std::uint64_t end = monotonic_ns() + ns; monotonic_ns() < end;) {
    }
}

/// Rounds of one size.
class Rounds {
  public:
    Rounds(Team world, const BenchOptions& options, std::uint64_t bytes)
        : subject_(world, bytes,
                   {.collective = collectives::find_collective(options.of)->collective,
                    .type = options.element,
                    .op = options.operation,
                    .root = options.root}) {}

    /// Returns the median of `rounds` rounds.
    double median(std::uint64_t rounds, Beside beside, double work_us) {
        std::vector<double> times;
        subject_.prepare(++batch_);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            subject_.align();
            const std::uint64_t start = monotonic_ns();
            if (beside == Beside::nothing) {
                subject_.call();
            } else {
                Request request = subject_.start();
                work_for(work_us, beside);
                request.wait();
            }
            times.push_back(us_since(start));
            subject_.largest({&times.back(), 1});
        }
        double wrong = subject_.check(batch_) ? 0 : 1;
        subject_.largest({&wrong, 1});
        checked_ = checked_ && wrong == 0;
        return lab::median(times);
    }
    [[nodiscard]] bool checked() const { return checked_; }

  private:
    CallSubject subject_;
    std::uint64_t batch_ = 0;
    bool checked_ = true;
};

/// Returns the number of rounds of each kind: as requested, or limited by the time. A round with
/// work takes twice the time.
std::uint64_t rounds_of(const lab::MeasuringOptions& measuring, double blocking_us) {
    constexpr std::uint64_t kLeast = 5;
    constexpr std::uint64_t kMost = 1000;
    if (measuring.iterations != 0) return measuring.iterations;
    const double fitting = measuring.seconds * 1e6 / (5 * std::max(blocking_us, 0.1));
    return std::clamp(static_cast<std::uint64_t>(std::min(fitting, 1e9)), kLeast, kMost);
}

OverlapRow measure_size(Team world, const BenchOptions& options, std::uint64_t bytes) {
    constexpr std::uint64_t kFirstRounds = 3;
    Rounds rounds(world, options, bytes);
    const double first_us = rounds.median(kFirstRounds, Beside::nothing, 0);
    OverlapRow row{.bytes = bytes, .rounds = rounds_of(options.measuring, first_us)};
    row.blocking_us = rounds.median(row.rounds, Beside::nothing, 0);
    row.computing_us = rounds.median(row.rounds, Beside::computing, row.blocking_us);
    row.sleeping_us = rounds.median(row.rounds, Beside::sleeping, row.blocking_us);
    row.checked = rounds.checked();
    return row;
}

std::string progress_mode() {
    const char* const set = std::getenv("WEFT_PROGRESS");
    return set == nullptr ? "calls" : set;
}

void print_head(Runtime& runtime, const BenchOptions& options) {
    fmt::print(
        "overlap of {} on {} ranks, {} node{}, provider {}, progress {}\n"
        "the call alone, and beside as much work; hidden: the part of the call that it covered\n"
        "{:>10} {:>8} {:>12} {:>14} {:>8} {:>14} {:>8}\n",
        options.of, runtime.world().size(), runtime.nodes(), runtime.nodes() == 1 ? "" : "s",
        runtime.provider(), progress_mode(), "bytes", "rounds", "alone_us", "computing_us",
        "hidden", "sleeping_us", "hidden");
    std::fflush(stdout);
}

std::string percent(double part) {
    return part < 0 ? "none" : fmt::format("{:.0f} %", 100 * part);
}

void print_row(const OverlapRow& row) {
    fmt::print("{:>10} {:>8} {:>12.3f} {:>14.3f} {:>8} {:>14.3f} {:>8}  {}\n", row.bytes,
               row.rounds, row.blocking_us, row.computing_us, percent(row.hidden(row.computing_us)),
               row.sleeping_us, percent(row.hidden(row.sleeping_us)),
               row.checked ? "right" : "WRONG");
    std::fflush(stdout);
}

}  // namespace

std::vector<OverlapRow> measure_overlap(Runtime& runtime, const BenchOptions& options,
                                        bool prints) {
    if (prints) print_head(runtime, options);
    std::vector<OverlapRow> rows;
    for (const std::uint64_t bytes : options.bytes) {
        rows.push_back(measure_size(runtime.world(), options, bytes));
        if (prints) print_row(rows.back());
    }
    return rows;
}

Json overlap_object(Runtime& runtime, const BenchOptions& options,
                    const std::vector<OverlapRow>& rows) {
    Json object{{"collective", options.collective},
                {"of", options.of},
                {"progress", progress_mode()},
                {"ranks", runtime.world().size()},
                {"nodes", runtime.nodes()},
                {"provider", runtime.provider()},
                {"type", options.type},
                {"results", Json::array()}};
    for (const OverlapRow& row : rows)
        object["results"].push_back({{"bytes", row.bytes},
                                     {"iterations", row.rounds},
                                     {"blocking_us", row.blocking_us},
                                     {"computing_us", row.computing_us},
                                     {"hidden_computing", row.hidden(row.computing_us)},
                                     {"sleeping_us", row.sleeping_us},
                                     {"hidden_sleeping", row.hidden(row.sleeping_us)},
                                     {"checked", row.checked}});
    return object;
}

}  // namespace weft::tools
