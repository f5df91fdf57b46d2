// SPDX-License-Identifier: BSD-3-Clause
// direct_refused.cpp - between two calls, a kernel starts to refuse one rank's process_vm copies.
// The next call must fail on all ranks, with a message that names the rank.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "forbid.hpp"
#include "weft/weft.hpp"

namespace {

constexpr weft::Rank kRefusedRank = 1;

/// Returns the message with which the call failed, or an empty string.
std::string failure_of_a_call(const weft::Team& team) {
    std::vector<double> in(100'000, 1.0), out(in.size());
    try {
        weft::Team(team).allreduce<double>(in, out, weft::Op::sum);
        return "";
    } catch (const weft::Error& error) {
        return error.what();
    }
}

int run() {
    weft::Runtime runtime;
    const weft::Team world = runtime.world();
    const auto complain = [&](const std::string& what) {
        fmt::print(stderr, "rank {}: {}\n", world.rank(), what);
        return 1;
    };
    if (const std::string why = failure_of_a_call(world); !why.empty()) return complain(why);
    if (world.rank() == kRefusedRank && !weft::test::forbid("process_vm"))
        return complain("cannot install the filter");
    const auto before = std::chrono::steady_clock::now();
    const std::string why = failure_of_a_call(world);
    if (std::chrono::steady_clock::now() - before > std::chrono::seconds(10))
        return complain("the call took more than 10 s");
    const std::string text =
        fmt::format("rank {} cannot read or write memory of rank ", kRefusedRank);
    if (why.find(text) == std::string::npos)
        return complain(fmt::format("\"{}\" is not in: {}", text, why));
    if (world.rank() == 0) fmt::print("all ranks name the refused rank\n");
    try {
        runtime.finalize();
        return complain("finalize() succeeds after a failed call");
    } catch (const weft::Error&) {
        return 0;
    }
}

}  // namespace

int main() {
    return run();
}
