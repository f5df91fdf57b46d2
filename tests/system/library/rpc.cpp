// SPDX-License-Identifier: BSD-3-Clause
// rpc.cpp - ranks call functions on each other by weft::Rpc: results may be read in any order, and
// an exception in a called function fails the call at the caller.
#include "weft/rpc.hpp"

#include <cstdio>
#include <stdexcept>

#include "check.hpp"

namespace {

using weft::test::check;

struct Point {
    double x, y;
};

int my_rank = 0;
long reported = 0;  // sum of the numbers that all ranks have reported to this rank

int add(int a, long b) {
    return a + static_cast<int>(b);
}
Point swapped_and_scaled(Point point, int factor) {
    return {point.y * factor, point.x * factor};
}
void report(long number) {
    reported += number;
}
int rank_of_callee() {
    return my_rank;
}
int throw_above_three(int value) {
    if (value > 3) throw std::runtime_error("more than three");
    return value;
}

weft::Team* team_of_functions = nullptr;

/// Returns true if a collective is refused within a called function, which must not wait.
bool refuses_barrier() {
    try {
        team_of_functions->barrier();
        return false;
    } catch (const weft::Error& error) {
        return error.status() == weft::Status::argument;
    }
}

}  // namespace

constexpr int kNoHandler = 3;

int main() {
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    my_rank = world.rank();
    team_of_functions = &world;
    {
        weft::Rpc rpc(runtime);
        std::vector<weft::Future<int>> sums;
        for (int i = 0; i < 300; ++i) sums.push_back(rpc.call<add>(i % world.size(), i, 1000));
        for (int i = 299; i >= 0; --i)
            check(sums[static_cast<std::size_t>(i)].get() == i + 1000, "the result of add()");
        for (weft::Rank peer = 0; peer < world.size(); ++peer) {
            auto callee = rpc.call<rank_of_callee>(peer);
            const Point point = rpc.call<swapped_and_scaled>(peer, Point{1.5, -2}, 3).get();
            check(point.x == -6 && point.y == 4.5, "the result of swapped_and_scaled()");
            while (!callee.ready()) continue;
            check(callee.get() == peer, "the result of rank_of_callee()");
            rpc.call<report>(peer, my_rank + 1).get();
        }
        check(rpc.call<throw_above_three>(0, 2).get() == 2,
              "a function that may throw returns a value");
        try {
            static_cast<void>(rpc.call<throw_above_three>(0, 4).get());
            check(false, "an exception in the called function is not reported");
        } catch (const weft::Error& error) {
            check(error.status() == weft::Status::argument, error.what());
        }
        check(rpc.call<refuses_barrier>(0).get(), "a barrier in a called function");
        world.barrier();
        const long size = world.size();
        check(reported == size * (size + 1) / 2, "the reported sum");
        world.barrier();
    }
    // Replies that arrive after the end of an Rpc, and messages that no handler takes.
    for (int round = 0; round < 20; ++round) {
        {
            weft::Rpc rpc(runtime);
            for (int i = 0; i < 3; ++i)
                static_cast<void>(rpc.call<add>((my_rank + 1) % world.size(), i, 1));
            check(rpc.call<add>(my_rank, round, 1).get() == round + 1, "the result of a later Rpc");
            world.barrier();
        }
        world.barrier();
    }
    for (int i = 0; i < 30; ++i) world.send((my_rank + 1) % world.size(), kNoHandler, &i, sizeof i);
    const int ranks = world.size();
    runtime.finalize();
    if (my_rank == 0 && weft::test::wrong == 0)
        std::printf("%d ranks: all functions are right\n", ranks);
    return weft::test::wrong == 0 ? 0 : 1;
}
