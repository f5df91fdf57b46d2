// SPDX-License-Identifier: BSD-3-Clause
// exact_sums.cpp - times of sums that do not depend on the number of ranks, beside plain sums.
//
// Idea     The ranks call four forms of an allreduce of doubles alternately: the plain sum, the
//          exact sum, a gather with a sum in ascending order, and a binned sum. Rank 0 prints
//          medians. Then it times local sums of an array.
//          Usage: weft run -n 2 -- perf_exact_sums [--rounds R] [--values V]
// Holds    Values have random signs and magnitudes from 2^-20 to 2^-4. The binned sum rounds values
//          to multiples of three powers of two below the largest magnitude, whose sums are exact.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "tools/lab/program/command_line.hpp"
#include "tools/measure/statistics.hpp"
#include "weft/exact_sum.hpp"
#include "weft/weft.hpp"

namespace {

using weft::Team;

double drawn(std::uint64_t number) {
    const std::uint64_t bits = weft::base::mix(number);
    const double fraction = 1 + static_cast<double>(bits >> 12) * 0x1p-52;
    return std::ldexp(bits % 2 == 0 ? fraction : -fraction, -static_cast<int>(bits >> 3 & 15) - 5);
}

/// Gathers all values. Each rank adds each column in ascending order.
void sum_sorted(Team team, const std::vector<double>& in, std::vector<double>& out) {
    const auto ranks = static_cast<std::size_t>(team.size());
    std::vector<double> all(in.size() * ranks);
    team.allgather(in.data(), all.data(), in.size(), weft::Type::float64);
    std::vector<double> column(ranks);
    for (std::size_t i = 0; i < in.size(); ++i) {
        for (std::size_t rank = 0; rank < ranks; ++rank) column[rank] = all[rank * in.size() + i];
        std::ranges::sort(column);
        out[i] = 0;
        for (const double value : column) out[i] += value;
    }
}

/// Agrees on the largest magnitude, cuts each value into three bins of 2^30 units, and sums bins.
void sum_binned(Team team, const std::vector<double>& in, std::vector<double>& out) {
    constexpr int kBins = 3;
    constexpr int kBinBits = 30;
    double largest = 0;
    for (const double value : in) largest = std::max(largest, std::abs(value));
    largest = team.allreduce(largest, weft::Op::max);
    int exponent;
    std::frexp(largest, &exponent);
    std::vector<double> bins(in.size() * kBins);
    for (std::size_t i = 0; i < in.size(); ++i) {
        double rest = in[i];
        for (int bin = 0; bin < kBins; ++bin) {
            const double anchor = std::ldexp(1.5, exponent - kBinBits * (bin + 1) + 52);
            const double part = (rest + anchor) - anchor;
            bins[i * kBins + static_cast<std::size_t>(bin)] = part;
            rest -= part;
        }
    }
    team.allreduce<double>(bins, weft::Op::sum);
    for (std::size_t i = 0; i < in.size(); ++i)
        out[i] = bins[i * kBins] + (bins[i * kBins + 1] + bins[i * kBins + 2]);
}

double seconds_of(const std::function<void()>& body) {
    const auto begin = weft::base::monotonic_ns();
    body();
    return static_cast<double>(weft::base::monotonic_ns() - begin) * 1e-9;
}

/// Prints medians of the bodies in microseconds, and their ratios to the first.
void print_medians(bool prints, const std::string& name, int rounds,
                   const std::vector<std::function<void()>>& bodies) {
    std::vector<std::vector<double>> samples(bodies.size());
    for (int round = -rounds / 10 - 1; round < rounds; ++round)  // rounds below 0 warm up
        for (std::size_t i = 0; i < bodies.size(); ++i) {
            const double seconds = seconds_of(bodies[i]);
            if (round >= 0) samples[i].push_back(seconds * 1e6);
        }
    if (!prints) return;
    std::string line = fmt::format("{:>10}", name);
    const double first = weft::lab::median(samples[0]);
    for (const auto& sample : samples) {
        const double median = weft::lab::median(sample);
        line += fmt::format("  {:>10.2f} us {:>6.2f}", median, median / first);
    }
    fmt::print("{}\n", line);
}

/// Adds in 32 sums, which a compiler can vectorise.
double sum_in_loop(const std::vector<double>& values) {
    double sums[32] = {};
    const std::size_t whole = values.size() / 32 * 32;
    for (std::size_t i = 0; i < whole; i += 32)
        for (std::size_t lane = 0; lane < 32; ++lane) sums[lane] += values[i + lane];
    double sum = 0;
    for (const double lane : sums) sum += lane;
    for (std::size_t i = whole; i < values.size(); ++i) sum += values[i];
    return sum;
}

void measure(Team team, int rounds, std::size_t values) {
    const bool prints = team.rank() == 0;
    if (prints) fmt::print("   doubles  plain, exact, gather and sorted sum, binned sum\n");
    for (const std::size_t count : {1, 128, 1024, 8192, 131072}) {
        std::vector<double> in(count);
        std::vector<double> out(count);
        for (std::size_t i = 0; i < count; ++i)
            in[i] = drawn(i * 64 + static_cast<std::uint64_t>(team.rank()));
        const auto reduce = [&](weft::Op op) {
            team.allreduce(in.data(), out.data(), count, weft::Type::float64, op);
        };
        print_medians(prints, std::to_string(count), count > 8192 ? rounds / 20 + 1 : rounds,
                      {[&] { reduce(weft::Op::sum); }, [&] { reduce(weft::Op::exact_sum); },
                       [&] { sum_sorted(team, in, out); }, [&] { sum_binned(team, in, out); }});
    }
    if (!prints) return;
    volatile double kept = 0;
    for (const bool wide : {false, true}) {  // wide: exponents from about -1000 to 1000
        std::vector<double> array(values);
        for (std::size_t i = 0; i < values; ++i)
            array[i] = std::ldexp(drawn(i), wide ? static_cast<int>(i * 7 % 1990) - 990 : 0);
        print_medians(prints, wide ? "wide array" : "array", 9,
                      {[&] { kept = sum_in_loop(array); },
                       [&] {
                           weft::ExactSum sum;
                           sum.add<double>(array);
                           kept = sum.value();
                       }});
    }
}

}  // namespace

int main(int argc, char** argv) {
    weft::Runtime runtime;
    int rounds = 1000;
    std::uint64_t values = 10'000'000;
    weft::lab::CommandLine line{"exact_sums", "Times exact sums beside plain sums."};
    line.option("--rounds", rounds, "Timed rounds of calls").within(1, 1'000'000);
    line.option("--values", values, "Values of the local array").within(1, 1'000'000'000);
    if (const auto status = line.read(argc, argv)) return *status;
    measure(runtime.world(), rounds, values);
    runtime.finalize();
    return 0;
}
