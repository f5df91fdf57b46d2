// SPDX-License-Identifier: BSD-3-Clause
// direct_refused.cpp - between two allreduces, the kernel starts to refuse process_vm_readv() and
// process_vm_writev() to one rank. The second allreduce must fail soon on all ranks, with a message
// that names this rank.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "forbid.hpp"
#include "weft/weft.hpp"

namespace {

constexpr weft::Rank kRefusedRank = 1;

/// Makes an allreduce. Returns the message of its failure, or an empty string.
std::string allreduce_error(weft::Team team) {
    std::vector<double> in(100'000, 1.0), out(in.size());
    try {
        team.allreduce<double>(in, out, weft::Op::sum);
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
    if (const std::string error = allreduce_error(world); !error.empty()) return complain(error);
    if (world.rank() == kRefusedRank && !weft::test::forbid("process_vm"))
        return complain("cannot install the seccomp filter");
    const auto before = std::chrono::steady_clock::now();
    const std::string error = allreduce_error(world);
    if (std::chrono::steady_clock::now() - before > std::chrono::seconds(10))
        return complain("the call took more than 10 s");
    const std::string expected =
        fmt::format("rank {} cannot read or write memory of rank ", kRefusedRank);
    if (error.find(expected) == std::string::npos)
        return complain(fmt::format("the error \"{}\" does not contain \"{}\"", error, expected));
    if (world.rank() == 0) fmt::print("all ranks name the refused rank\n");
    try {
        runtime.finalize();
        return complain("finalize() succeeded after a failed call");
    } catch (const weft::Error&) {
        return 0;
    }
}

}  // namespace

int main() {
    return run();
}
