// SPDX-License-Identifier: BSD-3-Clause
// watched_job.cpp - ranks that detect changes of their memory: they check each result and, at the
// end, that symmetric memory still has the pattern that they wrote at the start.
//
// Usage: watched_job SECONDS. The ranks make calls for this time. They sleep for 1.5 s before they
// join, so that the test can attack before the join.
#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <thread>
#include <vector>

#include "weft/weft.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kWords = 1 << 16;
constexpr std::uint64_t kPattern = 0x5757'5757'5757'5757;

/// Prints the stack of a rank that an attack kills.
void print_stack(int signal) {
    std::array<void*, 50> frames{};
    const int count = ::backtrace(frames.data(), frames.size());
    ::backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

int run(double seconds) {
    fmt::print("started, not joined\n");
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    const std::span kept(
        static_cast<std::uint64_t*>(world.allocate(kWords * sizeof(std::uint64_t))), kWords);
    std::ranges::fill(kept, kPattern);
    world.barrier();
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    std::vector<double> in(1000);
    std::vector<double> out(1000);
    for (int i = 0;; ++i) {
        std::ranges::fill(in, world.rank() + i);
        world.allreduce(std::span<const double>(in), std::span<double>(out), weft::Op::sum);
        const double size = world.size();
        const double expected = size * (size - 1) / 2 + size * i;
        for (const double each : out) {
            if (each == expected) continue;
            fmt::print(stderr, "rank {}: a sum is {}, expected {}\n", world.rank(), each, expected);
            return 9;
        }
        const int over = Clock::now() > end ? 1 : 0;
        if (world.allreduce(over, weft::Op::max) != 0) break;
    }
    for (const std::uint64_t each : kept) {
        if (each == kPattern) continue;
        fmt::print(stderr, "rank {}: a word is {:#x}, expected {:#x}\n", world.rank(), each,
                   kPattern);
        return 8;
    }
    const bool is_rank_0 = world.rank() == 0;
    runtime.finalize();
    if (is_rank_0) fmt::print("untouched\n");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    ::signal(SIGSEGV, print_stack);
    ::signal(SIGBUS, print_stack);
    try {
        return run(argc > 1 ? std::atof(argv[1]) : 1);
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 7;
    }
}
