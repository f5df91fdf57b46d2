// SPDX-License-Identifier: BSD-3-Clause
// Bugs: if one rank had no scratch memory for an exact sum, it failed alone and the others waited
// forever. Each exact sum also made the plan of a plain sum, which no rank runs. Method: rank 1
// limits its address space before two calls, then removes the limit and repeats them. Without the
// fix, rank 1 aborts, and the log has the plan of a plain sum.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace weft::test {
namespace {

/// Limits the address space of this process to `more` bytes more than it has.
void limit_memory(rlim_t more) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = more == RLIM_INFINITY ? limit.rlim_max : pages * ::getpagesize() + more;
    ::setrlimit(RLIMIT_AS, &limit);
}

/// Returns the text of the Error of the call; empty if it succeeds.
std::string failure_of(Team world, const Call& call) {
    try {
        world.run(call);
    } catch (const Error& error) {
        return error.status() == Status::memory ? error.what() : "another status";
    }
    return {};
}

int run() {
    Runtime runtime;
    Team world = runtime.world();
    constexpr std::size_t kShort = 60'000;               // scratch memory that the team keeps
    constexpr std::size_t kLong = std::size_t{1} << 20;  // larger scratch memory
    std::vector<double> in(kLong * static_cast<std::size_t>(world.size()), world.rank() + 1.0);
    std::vector<double> out(kLong);
    const Call calls[] = {
        Call::allreduce(in.data(), out.data(), kShort, Type::float64, Op::exact_sum),
        Call::reduce_scatter(in.data(), out.data(), kLong, Type::float64, Op::exact_sum)};
    for (const Call& call : calls) {
        world.barrier();
        if (world.rank() == 1) limit_memory(rlim_t{1} << 20);
        const std::string text = failure_of(world, call);
        if (world.rank() == 1) limit_memory(RLIM_INFINITY);
        if (text.find("rank 1 cannot allocate up to ") == std::string::npos) {
            fmt::print(stderr, "rank {}: {}\n", world.rank(), text);
            return 1;
        }
        constexpr double kSum = 1 + 2 + 3;  // of three ranks
        if (!failure_of(world, call).empty() || out[0] != kSum || out[call.count - 1] != kSum)
            return 2;
    }
    runtime.finalize();
    return 0;
}

}  // namespace
}  // namespace weft::test

int main() {
    return weft::test::run();
}
