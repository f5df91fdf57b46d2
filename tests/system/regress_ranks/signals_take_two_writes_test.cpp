// SPDX-License-Identifier: BSD-3-Clause
// Bug: a put with a signal to the heap took two network writes. The write of the data can carry the
// signal in its immediate, but the heap was at an offset of the segment that did not fit there.
// Method: count the network writes of puts with signals.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kRounds = 20;
constexpr std::uint64_t kOthersMax = 5;  ///< maximum of the library's own writes
constexpr std::size_t kBytes = 1000;

/// Rank 0 and rank 1 signal each other alternately, with the values from `first` on. Returns this
/// rank's number of network writes.
template <class Put>
std::uint64_t writes_of(Runtime& runtime, std::uint64_t* word, std::uint64_t first, Put put) {
    Team world = runtime.world();
    world.barrier();
    const std::uint64_t before = runtime.network_writes();
    for (std::uint64_t round = first; round < first + kRounds; ++round) {
        if (world.rank() == 1) world.wait_until(word, Compare::eq, round);
        put(world, round);
        if (world.rank() == 0) world.wait_until(word, Compare::eq, round);
    }
    return runtime.network_writes() - before;
}

int count_writes(Runtime& runtime) {
    Team world = runtime.world();
    const Memory memory(world, 2 * kBytes);
    auto* const word = static_cast<std::uint64_t*>(memory.data());
    std::byte* const data = static_cast<std::byte*>(memory.data()) + kBytes;
    const std::array<std::byte, kBytes> source{};
    const Rank peer = 1 - world.rank();
    const auto put_signal = [&](Team& team, std::uint64_t round) {
        team.put_signal(data, source.data(), kBytes, word, round, SignalOp::set, peer);
    };
    static_cast<void>(writes_of(runtime, word, 100, put_signal));  // warm-up
    const std::uint64_t signals = writes_of(runtime, word, 1, put_signal);
    const std::uint64_t large_values = writes_of(runtime, word, 1'000'000, put_signal);
    if (std::max(signals, large_values) <= kRounds + kOthersMax) return 0;
    fmt::print(stderr, "network writes of {} signals: {}, with large values {}\n", kRounds, signals,
               large_values);
    return 3;
}

int run_rank(const Words&) {
    Runtime runtime;
    const int status = count_writes(runtime);
    runtime.finalize();
    return status;
}
const RankFunction kRankFunction("signals", run_rank);

TEST(HeapSignals, ASignalInTheHeapTakesOneWrite) {
    const Outcome outcome = run_function({"-n", "2", "--nodes", "2"}, "signals");
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
