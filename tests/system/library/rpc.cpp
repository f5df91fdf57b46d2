// SPDX-License-Identifier: BSD-3-Clause
// rpc.cpp - functions that ranks call on each other; results may be read in any order.
#include "weft/rpc.hpp"

#include <cstdio>
#include <stdexcept>

namespace {

struct Point {
    double x, y;
};

int my_rank = 0;
long reported = 0;

int add(int a, long b) {
    return a + static_cast<int>(b);
}
Point mirrored(Point point, int by) {
    return {point.y * by, point.x * by};
}
void report(long number) {
    reported += number;
}
int rank_here() {
    return my_rank;
}
int throws(int value) {
    if (value > 3) throw std::runtime_error("more than three");
    return value;
}

bool check(bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "rank %d: %s\n", my_rank, what);
    return holds;
}

}  // namespace

int main() {
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    my_rank = world.rank();
    bool right = true;
    {
        weft::Rpc rpc(runtime);
        std::vector<weft::Future<int>> sums;
        for (int i = 0; i < 300; ++i) sums.push_back(rpc.call<add>(i % world.size(), i, 1000));
        for (int i = 299; i >= 0; --i)
            right = check(sums[static_cast<std::size_t>(i)].get() == i + 1000, "a sum") && right;
        for (weft::Rank peer = 0; peer < world.size(); ++peer) {
            auto where = rpc.call<rank_here>(peer);
            const Point point = rpc.call<mirrored>(peer, Point{1.5, -2}, 3).get();
            right = check(point.x == -6 && point.y == 4.5, "a point") && right;
            while (!where.ready()) continue;
            right = check(where.get() == peer, "a rank") && right;
            rpc.call<report>(peer, my_rank + 1).get();
        }
        right = check(rpc.call<throws>(0, 2).get() == 2, "no throw") && right;
        try {
            static_cast<void>(rpc.call<throws>(0, 4).get());
            right = check(false, "an exception was lost");
        } catch (const weft::Error& error) {
            right = check(error.status() == weft::Status::argument, error.what()) && right;
        }
        world.barrier();
        const long size = world.size();
        right = check(reported == size * (size + 1) / 2, "the reported sum") && right;
        world.barrier();
    }
    const int ranks = world.size();
    runtime.finalize();
    if (my_rank == 0 && right) std::printf("%d ranks: all functions are right\n", ranks);
    return right ? 0 : 1;
}
