// SPDX-License-Identifier: BSD-3-Clause
// overlap.cpp - what a progress thread costs and what it gains: run it with either WEFT_PROGRESS.
//
// Idea     Per size: the time of a blocking allreduce (what the thread costs), then of a started
//          one after which the rank computes for as long before it waits. `hidden` is the part of
//          the communication that the computation covered: (blocking + computing - both) /
//          blocking. Usage, for the two modes in turn:
//              weft run -n 2 --nodes 2 -x WEFT_PROGRESS=thread -- perf_overlap [OPTIONS]
// Holds    Medians over rounds; of each round the slowest rank counts. The computation is a loop
//          that makes no call, and sleeping stands for one that leaves its processor free (an
//          accelerator).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/clock.hpp"
#include "lab/measure/statistics.hpp"
#include "lab/program/command_line.hpp"
#include "lab/program/json.hpp"
#include "weft/weft.hpp"

namespace {

using weft::base::monotonic_ns;
using weft::lab::Json;

constexpr std::array<std::size_t, 3> kCounts{1, 8192, 131072};  // doubles

double us_since(std::uint64_t start_ns) {
    return static_cast<double>(monotonic_ns() - start_ns) / 1000.0;
}

void compute_for(double us, bool asleep) {
    const auto ns = static_cast<std::uint64_t>(us * 1000.0);
    if (asleep) {
        const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                            static_cast<long>(ns % 1'000'000'000)};
        nanosleep(&time, nullptr);
        return;
    }
    for (const std::uint64_t end = monotonic_ns() + ns; monotonic_ns() < end;) {
    }
}

class Bench {
  public:
    Bench(weft::Team team, std::size_t count, int rounds)
        : team_(team), rounds_(rounds), data_(count, 1.0), out_(count) {}

    double blocking() {
        return median_of([&] { team_.allreduce<double>(data_, out_, weft::Op::sum); });
    }
    double with_computing(double us, bool asleep) {
        return median_of([&] {
            weft::Request request = team_.start(weft::Call::allreduce(
                data_.data(), out_.data(), data_.size(), weft::Type::float64, weft::Op::sum));
            compute_for(us, asleep);
            request.wait();
        });
    }

  private:
    template <class Body>
    double median_of(Body body) {
        std::vector<double> times;
        for (int round = 0; round < rounds_; ++round) {
            team_.barrier();
            const std::uint64_t start = monotonic_ns();
            body();
            times.push_back(team_.allreduce(us_since(start), weft::Op::max));
        }
        return weft::lab::median(times);
    }

    weft::Team team_;
    int rounds_;
    std::vector<double> data_;
    std::vector<double> out_;
};

struct Figures {
    std::size_t bytes = 0;
    double alone_us = 0;
    double computing_us = 0;
    double sleeping_us = 0;

    /// The part of a blocking call that was hidden by the computation.
    [[nodiscard]] double hidden(double both_us) const {
        return (2 * alone_us - both_us) / alone_us;
    }
};

Figures measure(weft::Team world, std::size_t count, int rounds) {
    Bench bench(world, count, rounds);
    bench.blocking();  // warm
    const double alone = bench.blocking();
    return {count * sizeof(double), alone, bench.with_computing(alone, false),
            bench.with_computing(alone, true)};
}

void print_line(const Figures& found) {
    // Where both together take longer than one after the other, nothing is hidden.
    const auto hidden = [&](double both_us) {
        const double part = found.hidden(both_us);
        return part < 0 ? std::string("none") : fmt::format("{:.0f} %", 100 * part);
    };
    fmt::print("{:>9} {:>12.1f} {:>12.1f} {:>8} {:>12.1f} {:>8}\n", found.bytes, found.alone_us,
               found.computing_us, hidden(found.computing_us), found.sleeping_us,
               hidden(found.sleeping_us));
}

Json to_json(const Figures& found) {
    return {{"bytes", found.bytes},
            {"blocking_us", found.alone_us},
            {"computing_us", found.computing_us},
            {"hidden_computing", found.hidden(found.computing_us)},
            {"sleeping_us", found.sleeping_us},
            {"hidden_sleeping", found.hidden(found.sleeping_us)}};
}

int run(int rounds, bool json) {
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    const char* set = std::getenv("WEFT_PROGRESS");
    const char* mode = set == nullptr ? "calls" : set;
    const bool prints = world.rank() == 0 && !json;
    if (prints)
        fmt::print("WEFT_PROGRESS={}, {} ranks, {} nodes\n{:>9} {:>12} {:>12} {:>8} {:>12} {:>8}\n",
                   mode, world.size(), runtime.nodes(), "bytes", "blocking us", "computing us",
                   "hidden", "sleeping us", "hidden");
    Json object{{"progress", mode},         {"ranks", world.size()},
                {"nodes", runtime.nodes()}, {"provider", runtime.provider()},
                {"rounds", rounds},         {"rows", Json::array()}};
    for (const std::size_t count : kCounts) {
        const Figures found = measure(world, count, rounds);
        if (prints) print_line(found);
        object["rows"].push_back(to_json(found));
    }
    if (world.rank() == 0 && json) weft::lab::print_json(object);
    runtime.finalize();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    int rounds = 100;
    bool json = false;
    weft::lab::CommandLine line{"overlap", "What a progress thread costs and gains."};
    line.option("--rounds", rounds, "how often each call is timed")
        .within(1, 1'000'000)
        .shows_default();
    line.flag("--json", json, "one JSON object on stdout");
    if (const auto status = line.read(argc, argv)) return *status;
    return run(rounds, json);
}
