// SPDX-License-Identifier: BSD-3-Clause
// reduce_passes.cpp - times reduce_many() against a bare loop with constant numbers of operands and
// targets.
//
// Idea     One thread sums 2 to 8 operands into 1 to 8 targets, repeatedly in the same buffers. The
//          bare loop has the numbers of operands and targets as constants, and is compiled with the
//          flags of the kernels. reduce_many() gets lists of operands and targets. Both are timed
//          alternately, and the best round counts.
//          Usage: perf_reduce_passes [--rounds R]
// Holds    GB/s count each byte of an operand and of a target once.
// Next     src/run/reduce/kernels.cpp for the kernels.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "run/reduce/reduce.hpp"
#include "tools/lab/program/command_line.hpp"
#include "weft/elements.hpp"

namespace {

constexpr std::array<std::size_t, 4> kSizes{std::size_t{64} << 10, std::size_t{1} << 20,
                                            std::size_t{4} << 20, std::size_t{64} << 20};
constexpr std::size_t kListMax = 8;
constexpr std::size_t kRoundBytes = std::size_t{32} << 20;  ///< bytes that a round processes

/// Buffers for the longest list. Their starts differ modulo the page size, so that they do not
/// compete for the same cache sets.
class Buffers {
  public:
    Buffers() {
        for (std::size_t i = 0; i < kListMax; ++i) {
            memory_.emplace_back(kSizes.back() + kListMax * kSpread);
            pointers_[i] = memory_.back().data() + i * kSpread;
        }
    }
    [[nodiscard]] std::span<std::byte* const> first(std::size_t count) const {
        return std::span<std::byte* const>(pointers_).first(count);
    }

  private:
    static constexpr std::size_t kSpread = 4096 + 5 * 64;
    std::vector<std::vector<std::byte>> memory_;
    std::array<std::byte*, kListMax> pointers_{};
};

template <class T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// Sums operands[kOperands]... into targets[kTargets]...; its only loop is over elements.
template <class T, std::size_t... kOperands, std::size_t... kTargets>
[[gnu::noinline]] void bare_sum(std::byte* const* targets, std::byte* const* operands,
                                std::size_t elements, std::index_sequence<kOperands...>,
                                std::index_sequence<kTargets...>) {
    const std::tuple from((static_cast<void>(kOperands), operands[kOperands])...);
    const std::tuple to((static_cast<void>(kTargets), targets[kTargets])...);
#if !defined(__clang__)
#pragma GCC ivdep
#endif
    for (std::size_t i = 0; i < elements; ++i) {
        const std::size_t at = i * sizeof(T);
        const T sum = (... + load<T>(std::get<kOperands>(from) + at));
        (std::memcpy(std::get<kTargets>(to) + at, &sum, sizeof sum), ...);
    }
}

template <class Body>
double seconds_of(std::size_t repetitions, Body body) {
    const auto begin = weft::base::monotonic_ns();
    for (std::size_t i = 0; i < repetitions; ++i) body();
    return static_cast<double>(weft::base::monotonic_ns() - begin) * 1e-9 /
           static_cast<double>(repetitions);
}

struct Rates {
    double weft_gbs = 0;
    double bare_gbs = 0;
};

template <class T, std::size_t kOperands, std::size_t kTargets>
Rates measure(const Buffers& in, const Buffers& out, std::size_t bytes, int rounds) {
    const auto reducer =
        weft::run::select_isa("auto").value().reducer(weft::type_of<T>(), weft::Op::sum);
    const auto targets = out.first(kTargets);
    const auto operands = in.first(kOperands);
    std::array<const std::byte*, kOperands> from;
    std::copy(operands.begin(), operands.end(), from.begin());
    const std::size_t processed = (kOperands + kTargets) * bytes;
    const std::size_t repetitions = std::max<std::size_t>(1, kRoundBytes / processed);
    double weft_seconds = std::numeric_limits<double>::infinity();
    double bare_seconds = weft_seconds;
    for (int round = 0; round < rounds; ++round) {
        const auto by_weft = [&] {
            weft::run::reduce_many(reducer, targets, from, bytes / sizeof(T));
        };
        const auto by_bare_loop = [&] {
            bare_sum<T>(targets.data(), operands.data(), bytes / sizeof(T),
                        std::make_index_sequence<kOperands>(),
                        std::make_index_sequence<kTargets>());
        };
        weft_seconds = std::min(weft_seconds, seconds_of(repetitions, by_weft));
        bare_seconds = std::min(bare_seconds, seconds_of(repetitions, by_bare_loop));
    }
    const auto gigabytes = static_cast<double>(processed) * 1e-9;
    return {gigabytes / weft_seconds, gigabytes / bare_seconds};
}

template <class T, std::size_t kOperands, std::size_t kTargets>
void print_row(std::string_view type, const Buffers& in, const Buffers& out, int rounds) {
    fmt::print("{:<7} {:>8} {:>7}", type, kOperands, kTargets);
    for (const std::size_t bytes : kSizes) {
        const Rates rates = measure<T, kOperands, kTargets>(in, out, bytes, rounds);
        fmt::print("  {:>6.1f} {:>6.1f} {:>5.2f}", rates.weft_gbs, rates.bare_gbs,
                   rates.weft_gbs / rates.bare_gbs);
    }
    fmt::print("\n");
    std::fflush(stdout);
}

template <class T, std::size_t kOperands>
void print_rows(std::string_view type, const Buffers& in, const Buffers& out, int rounds) {
    print_row<T, kOperands, 1>(type, in, out, rounds);
    print_row<T, kOperands, 2>(type, in, out, rounds);
    print_row<T, kOperands, 4>(type, in, out, rounds);
    print_row<T, kOperands, 8>(type, in, out, rounds);
}

template <class T>
void print_type(std::string_view type, const Buffers& in, const Buffers& out, int rounds) {
    print_rows<T, 2>(type, in, out, rounds);
    print_rows<T, 3>(type, in, out, rounds);
    print_rows<T, 4>(type, in, out, rounds);
    print_rows<T, 8>(type, in, out, rounds);
}

}  // namespace

int main(int argc, char** argv) {
    int rounds = 7;
    weft::lab::CommandLine line{
        "reduce_passes", "Sums of several operands into several targets, against a bare loop."};
    line.option("--rounds", rounds, "Rounds of each cell; the best one counts").within(1, 1000);
    if (const auto status = line.read(argc, argv)) return *status;
    fmt::print("GB/s of reduce_many ({}), of a bare loop, and their ratio\n",
               weft::run::select_isa("auto").value().name());
    fmt::print("type    operands targets");
    for (const std::size_t bytes : kSizes)
        fmt::print("  {:>19}", fmt::format("{} KiB", bytes >> 10));
    fmt::print("\n");
    const Buffers in;
    const Buffers out;
    print_type<double>("double", in, out, rounds);
    print_type<float>("float", in, out, rounds);
    print_type<std::int64_t>("int64", in, out, rounds);
}
