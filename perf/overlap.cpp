// SPDX-License-Identifier: BSD-3-Clause
// overlap.cpp - what a progress thread costs and what it gains: run it with either WEFT_PROGRESS.
//
// Idea     Per size: the time of a blocking allreduce (what the thread costs), then of a started one
//          behind which the rank computes for as long before it waits. `hidden` is the part of the
//          communication that the computation covered: (blocking + computing - both) / blocking.
//          Usage, for the two modes in turn:
//              weft run -n 2 --nodes 2 -x WEFT_PROGRESS=thread -- perf_overlap [rounds]
// Holds    Medians over rounds; of each round the slowest rank counts. The computation is a loop that
//          makes no call, and sleeping stands for one that leaves its processor free (an accelerator).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/clock.hpp"
#include "base/statistics.hpp"
#include "weft/weft.hpp"

namespace {

using weft::base::monotonic_ns;

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
            weft::Request request = team_.start_allreduce(data_.data(), out_.data(), data_.size(),
                                                          weft::Type::float64, weft::Op::sum);
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
        return weft::base::median(times);
    }

    weft::Team team_;
    int rounds_;
    std::vector<double> data_;
    std::vector<double> out_;
};

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 100;
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    const char* mode = std::getenv("WEFT_PROGRESS");
    if (world.rank() == 0)
        fmt::print("WEFT_PROGRESS={}, {} ranks, {} nodes\n{:>9} {:>12} {:>12} {:>8} {:>12} {:>8}\n",
                   mode == nullptr ? "calls" : mode, world.size(), runtime.nodes(), "bytes",
                   "blocking us", "computing us", "hidden", "sleeping us", "hidden");
    for (const std::size_t count : kCounts) {
        Bench bench(world, count, rounds);
        bench.blocking();  // warm
        const double alone = bench.blocking();
        const double computing = bench.with_computing(alone, false);
        const double sleeping = bench.with_computing(alone, true);
        const auto hidden = [&](double both) { return 100.0 * (2 * alone - both) / alone; };
        if (world.rank() == 0)
            fmt::print("{:>9} {:>12.1f} {:>12.1f} {:>6.0f} % {:>12.1f} {:>6.0f} %\n",
                       count * sizeof(double), alone, computing, hidden(computing), sleeping,
                       hidden(sleeping));
    }
    runtime.finalize();
}
