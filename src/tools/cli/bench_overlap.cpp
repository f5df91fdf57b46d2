// SPDX-License-Identifier: BSD-3-Clause
// bench_overlap.cpp - `weft bench overlap`: fraction of a call that concurrent work hides.
//
// Why      Sleeping represents work that leaves the rank's processor free (an accelerator). During
//          computation, a call proceeds only in a progress thread that has a spare processor.
// Holds    Medians over rounds; the slowest rank determines a round's time. The last result of each
//          kind of round is checked.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tools/cli/bench_plan.hpp"
#include "tools/cli/table.hpp"
#include "tools/measure/statistics.hpp"

namespace weft::tools {

namespace {

using base::monotonic_ns;

/// Activity of a rank between the start of a call and the wait for it.
enum class OwnWork : std::uint8_t { none, computing, sleeping };

void work_for(double us, OwnWork work) {
    if (work == OwnWork::sleeping) {
        std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
        return;
    }
    const auto ns = static_cast<std::uint64_t>(us * 1000.0);
    for (const std::uint64_t end = monotonic_ns() + ns; monotonic_ns() < end;) {
    }
}

class Rounds {
  public:
    Rounds(Team world, const BenchPlan& plan, std::uint64_t bytes)
        : subject_(world, bytes, plan.call) {}

    /// Returns the median time of a round: a call, with `work_us` of work while it is in flight.
    double median(std::uint64_t rounds, OwnWork work, double work_us) {
        std::vector<double> times;
        subject_.prepare(++batch_);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            subject_.synchronize();
            const std::uint64_t start = monotonic_ns();
            if (work == OwnWork::none) {
                subject_.call();
            } else {
                Request request = subject_.start();
                work_for(work_us, work);
                request.wait();
            }
            times.push_back(static_cast<double>(monotonic_ns() - start) / 1000.0);
            subject_.reduce_max({&times.back(), 1});
        }
        double wrong = subject_.check(batch_) ? 0 : 1;
        subject_.reduce_max({&wrong, 1});
        checked_ = checked_ && wrong == 0;
        return lab::median(times);
    }
    [[nodiscard]] bool checked() const { return checked_; }

  private:
    CallSubject subject_;
    std::uint64_t batch_ = 0;
    bool checked_ = true;
};

/// Returns the number of rounds of each kind: --iterations, or limited by --seconds. A round of
/// each of the three kinds takes five times a call, because the work takes the time of the call.
std::uint64_t rounds_of(const lab::MeasuringOptions& measuring, double blocking_us) {
    constexpr std::uint64_t kRoundsMin = 5;
    constexpr std::uint64_t kRoundsMax = 1000;
    if (measuring.iterations != 0) return measuring.iterations;
    const double fitting = measuring.seconds * 1e6 / (5 * std::max(blocking_us, 0.1));
    return std::clamp(static_cast<std::uint64_t>(std::min(fitting, 1e9)), kRoundsMin, kRoundsMax);
}

Json measure_size(Team world, const BenchPlan& plan, std::uint64_t bytes) {
    constexpr std::uint64_t kFirstRounds = 3;
    Rounds rounds(world, plan, bytes);
    const double first_us = rounds.median(kFirstRounds, OwnWork::none, 0);
    const std::uint64_t count = rounds_of(plan.request.measuring, first_us);
    const double blocking_us = rounds.median(count, OwnWork::none, 0);
    const double computing_us = rounds.median(count, OwnWork::computing, blocking_us);
    const double sleeping_us = rounds.median(count, OwnWork::sleeping, blocking_us);
    // Negative if call and work together take longer than one after the other.
    const auto hidden = [&](double both_us) { return (2 * blocking_us - both_us) / blocking_us; };
    return {{"bytes", bytes},
            {"iterations", count},
            {"blocking_us", blocking_us},
            {"computing_us", computing_us},
            {"hidden_computing", hidden(computing_us)},
            {"sleeping_us", sleeping_us},
            {"hidden_sleeping", hidden(sleeping_us)},
            {"checked", rounds.checked()}};
}

}  // namespace

int bench_overlap(Runtime& runtime, const BenchPlan& plan) {
    Team world = runtime.world();
    world.set_algorithm(plan.algorithms_of, plan.algorithm());
    const char* const set = std::getenv("WEFT_PROGRESS");
    const std::string progress = set == nullptr ? "calls" : set;
    RowReport report(
        world.rank() == 0, plan.request.json,
        {{"collective", plan.name},
         {"of", plan.of},
         {"progress", progress},
         {"ranks", world.size()},
         {"nodes", runtime.nodes()},
         {"provider", runtime.provider()},
         {"type", plan.type}},
        fmt::format("overlap of {} on {} ranks, {}, provider {}, progress {}\n"
                    "the call alone, and with work of the same duration; hidden: the part of the "
                    "call that the work covered",
                    plan.of, world.size(), counted(runtime.nodes(), "node"), runtime.provider(),
                    progress),
        {{"bytes", "bytes"},
         {"rounds", "iterations", 8},
         {"alone_us", "blocking_us", 12, 3},
         {"computing_us", "computing_us", 14, 3},
         {.title = "hidden", .key = "hidden_computing", .width = 8, .is_fraction = true},
         {"sleeping_us", "sleeping_us", 14, 3},
         {.title = "hidden", .key = "hidden_sleeping", .width = 8, .is_fraction = true},
         verdict()});
    for (const std::uint64_t bytes : plan.bytes) report.add(measure_size(world, plan, bytes));
    const int status = report.finish();
    runtime.finalize();
    return status;
}

}  // namespace weft::tools
