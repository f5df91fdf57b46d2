// SPDX-License-Identifier: BSD-3-Clause
// storm_rank.cpp - a rank that calls everything, until it is ended from
// outside.
//
// Usage: storm_rank SEED [CALLS]. All ranks draw the same calls and sizes; after so many of them
// they finalize, or never. SIGUSR1
// makes a rank exit with status 5, SIGUSR2 with status 0, both in the middle of
// what it does.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "weft/weft.hpp"

namespace {

using weft::Op;
using weft::Rank;
using weft::Type;

constexpr std::size_t kCountMax = 20'000;

struct Storm {
    weft::Team team;
    std::vector<double> in;
    std::vector<double> out;
    double* shared;        ///< symmetric, kCountMax elements
    std::uint64_t* words;  ///< symmetric: a counter and a signal
    std::uint64_t signals = 0;

    void collective(unsigned which, std::size_t count, Rank root);
    void one_sided(unsigned which, std::size_t count);
};

void Storm::collective(unsigned which, std::size_t count, Rank root) {
    const double* const from = in.data();
    double* const to = out.data();
    switch (which) {
        case 0:
            return team.barrier();
        case 1:
            return team.broadcast(to, count, Type::float64, root);
        case 2:
            return team.reduce(from, to, count, Type::float64, Op::sum, root);
        case 3:
            return team.allreduce(from, to, count, Type::float64, Op::max);
        case 4:
            return team.gather(from, to, count, Type::float64, root);
        case 5:
            return team.scatter(from, to, count, Type::float64, root);
        case 6:
            return team.allgather(from, to, count, Type::float64);
        case 7:
            return team.alltoall(from, to, count, Type::float64);
        case 8:
            return team.reduce_scatter(from, to, count, Type::float64, Op::sum);
        case 9:
            return team.scan(from, to, count, Type::float64, Op::sum);
        case 10:
            return team.exscan(from, to, count, Type::float64, Op::sum);
        default: {
            auto half = team.split(team.rank() % 2, team.rank());
            half->allreduce(from, to, count, Type::float64, Op::sum);
            return half->free();
        }
    }
}

void Storm::one_sided(unsigned which, std::size_t count) {
    const Rank next = (team.rank() + 1) % team.size();
    switch (which) {
        case 0:
            team.put(shared, in.data(), count * sizeof(double), next);
            return team.quiet();
        case 1:
            return team.get(out.data(), shared, count * sizeof(double), next);
        case 2:
            static_cast<void>(team.fetch_add(words, 1, next));
            return;
        default:
            team.put_signal(shared, in.data(), count * sizeof(double), words + 1, 1,
                            weft::SignalOp::add, next);
            team.wait_until(words + 1, weft::Compare::ge, ++signals);
            return team.quiet();
    }
}

int run(unsigned seed, long calls) {
    std::signal(SIGUSR1, [](int) { ::_exit(5); });
    std::signal(SIGUSR2, [](int) { ::_exit(0); });
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    const auto size = static_cast<std::size_t>(world.size());
    Storm storm{world, std::vector<double>(kCountMax * size, 1),
                std::vector<double>(kCountMax * size),
                static_cast<double*>(world.allocate(kCountMax * sizeof(double))),
                static_cast<std::uint64_t*>(world.allocate(2 * sizeof(std::uint64_t)))};
    storm.words[0] = storm.words[1] = 0;
    world.barrier();
    fmt::print("running\n");
    std::fflush(stdout);
    std::mt19937 random(seed);
    for (; calls != 0; --calls) {
        const unsigned which = random() % 16;
        const std::size_t count = random() % 4 == 0 ? random() % kCountMax + 1 : random() % 64 + 1;
        const auto root = static_cast<Rank>(random() % size);
        if (which < 12) {
            storm.collective(which, count, root);
        } else {
            storm.one_sided(which - 12, count);
            world.barrier();
        }
    }
    runtime.finalize();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1,
                   argc > 2 ? std::atol(argv[2]) : -1);
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
}
