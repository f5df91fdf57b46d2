// SPDX-License-Identifier: BSD-3-Clause
// steady_state.cpp - counts the allocations and system calls of short and long collective calls.
//
// Idea     Each rank reads the counters before and after blocks of calls. The counts are summed
//          over the ranks, and rank 0 prints one JSON object. As a control, the counters first
//          count one allocation and one system call.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tests/system/ranks/allocation_counter.hpp"
#include "tests/system/ranks/system_call_counter.hpp"
#include "tools/lab/program/json.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr std::size_t kBlocks = 100;
constexpr int kShortCalls = 1000;         ///< number of short calls in each block
constexpr int kLongCalls = 50;            ///< number of long calls in each block
constexpr std::size_t kLongCount = 8192;  ///< number of doubles in each long call

/// Returns the counts that are not 0, by number of the system call.
lab::Json by_number(const std::vector<std::int64_t>& counts) {
    auto found = lab::Json::object();
    for (std::size_t number = 0; number < counts.size(); ++number) {
        if (counts[number] != 0) found[std::to_string(number)] = counts[number];
    }
    return found;
}

class Measurement {
  public:
    explicit Measurement(Team world) : world_(world) {}

    /// Returns why a rank cannot count, or an empty text if all ranks can.
    std::string skip_reason() {
        const std::string own =
            can_count_allocations()
                ? system_calls_.reason()
                : "allocations cannot be counted with this C library or sanitizer";
        const auto unable = world_.allreduce(std::int32_t{own.empty() ? 0 : 1}, Op::sum);
        if (unable == 0) return {};
        return own.empty() ? "another rank cannot count" : own;
    }

    /// Returns the counts for one allocation and one system call.
    lab::Json control() {
        const std::uint64_t allocations_before = allocations();
        const std::uint64_t system_calls_before = system_calls_.counts()[SYS_getppid];
        system_calls_.start();
        void* const memory = ::operator new(8);
        const pid_t parent = ::getppid();
        system_calls_.stop();
        const std::uint64_t counted = allocations() - allocations_before;
        ::operator delete(memory);
        return {{"allocations", counted},
                {"system_calls", system_calls_.counts()[SYS_getppid] - system_calls_before},
                // The counter must return the result of the call that it intercepts.
                {"getppid_result_is_right", parent == ::getppid()}};
    }

    /// Makes kBlocks blocks of `calls` calls after a warm-up. Returns the numbers of allocations
    /// and system calls, summed over all ranks.
    template <class Call>
    lab::Json measure(int calls, Call call) {
        for (int i = 0; i < 2 * calls; ++i) call();
        const SystemCallCounter::Counts before = system_calls_.counts();
        std::vector<std::int64_t> system_calls_by_block(kBlocks);
        std::vector<std::int64_t> allocations_by_block(kBlocks);
        for (std::size_t block = 0; block < kBlocks; ++block) {
            const std::uint64_t system_calls_before = system_calls_.total();
            const std::uint64_t allocations_before = allocations();
            system_calls_.start();
            for (int i = 0; i < calls; ++i) call();
            system_calls_.stop();
            allocations_by_block[block] =
                static_cast<std::int64_t>(allocations() - allocations_before);
            system_calls_by_block[block] =
                static_cast<std::int64_t>(system_calls_.total() - system_calls_before);
        }
        std::vector<std::int64_t> counts_by_number(before.size());
        for (std::size_t i = 0; i < counts_by_number.size(); ++i)
            counts_by_number[i] = static_cast<std::int64_t>(system_calls_.counts()[i] - before[i]);
        return summary(calls, system_calls_by_block, allocations_by_block, counts_by_number);
    }

  private:
    /// Sums the counts over all ranks and returns them as JSON.
    lab::Json summary(int calls, std::vector<std::int64_t> system_calls_by_block,
                      std::vector<std::int64_t> allocations_by_block,
                      std::vector<std::int64_t> counts_by_number) {
        world_.allreduce<std::int64_t>(system_calls_by_block, Op::sum);
        world_.allreduce<std::int64_t>(allocations_by_block, Op::sum);
        world_.allreduce<std::int64_t>(counts_by_number, Op::sum);
        std::int64_t blocks_without_system_calls = 0;
        std::int64_t allocation_count = 0;
        for (std::size_t block = 0; block < kBlocks; ++block) {
            blocks_without_system_calls += system_calls_by_block[block] == 0 ? 1 : 0;
            allocation_count += allocations_by_block[block];
        }
        return {{"blocks", kBlocks},
                {"calls_per_block", calls},
                {"blocks_without_system_calls", blocks_without_system_calls},
                {"allocations", allocation_count},
                {"system_calls", by_number(counts_by_number)}};
    }

    Team world_;
    SystemCallCounter system_calls_;
};

int run() {
    Runtime runtime;
    Team world = runtime.world();
    lab::Json report;
    Measurement measurement(world);
    bool correct = true;
    if (const std::string reason = measurement.skip_reason(); !reason.empty()) {
        report["skipped"] = reason;
    } else {
        report["control"] = measurement.control();
        report["allreduce"] = measurement.measure(kShortCalls, [&] {
            correct = world.allreduce(0.5, Op::sum) == 0.5 * world.size() && correct;
        });
        report["barrier"] = measurement.measure(kShortCalls, [&] { world.barrier(); });
        Memory memory(world, 2 * kLongCount * sizeof(double));
        const std::span<double> in = memory.as<double>().first(kLongCount);
        const std::span<double> out = memory.as<double>().last(kLongCount);
        std::ranges::fill(in, 0.5);
        const auto is_sum = [&] {
            return std::ranges::all_of(out, [&](double x) { return x == 0.5 * world.size(); });
        };
        report["long_allreduce"] = measurement.measure(kLongCalls, [&] {
            world.allreduce(in.data(), out.data(), kLongCount, Type::float64, Op::sum);
        });
        correct = is_sum() && correct;
        if (world.rank() != 0) std::ranges::fill(out, 0);
        report["long_broadcast"] = measurement.measure(
            kLongCalls, [&] { world.broadcast(out.data(), kLongCount, Type::float64, 0); });
        correct = is_sum() && correct;
    }
    report["right"] = correct;
    if (world.rank() == 0) lab::print_json(report);
    runtime.finalize();
    return correct ? 0 : 1;
}

}  // namespace
}  // namespace weft::test

int main() {
    try {
        return weft::test::run();
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;  // weft reported an error; 1: wrong results
    }
}
