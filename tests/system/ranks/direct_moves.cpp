// SPDX-License-Identifier: BSD-3-Clause
// direct_moves.cpp - ranks that repeat a collective with buffers in the heap or in memory of the
// program. Their log (WEFT_LOG=info) has the number of bytes moved between buffers of local peers.
//
// Arguments: broadcast, allgather, scatter or allreduce; number of doubles in the buffer or a
// block; number of calls; `heap` or `own`.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace weft::test {
namespace {

void call(Team world, const std::string& collective, double* in, double* out, std::size_t count) {
    if (collective == "broadcast") return world.broadcast(out, count, Type::float64, 0);
    if (collective == "allgather") return world.run(Call::allgather(in, out, count, Type::float64));
    if (collective == "scatter") return world.run(Call::scatter(in, out, count, Type::float64, 1));
    world.allreduce(in, out, count, Type::float64, Op::sum);
}

int run(const std::string& collective, std::size_t count, int calls, bool heap) {
    Runtime runtime;
    Team world = runtime.world();
    const std::size_t room = count * static_cast<std::size_t>(world.size());
    Memory symmetric(world, 2 * room * sizeof(double));
    std::vector<double> own(2 * room, 1.0);
    double* const in = heap ? symmetric.as<double>().data() : own.data();
    std::memset(in, 0, 2 * room * sizeof(double));
    for (int i = 0; i < calls; ++i) call(world, collective, in, in + room, count);
    runtime.finalize();
    return 0;
}

}  // namespace
}  // namespace weft::test

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    return weft::test::run(argv[1], std::strtoul(argv[2], nullptr, 10), std::atoi(argv[3]),
                           std::string(argv[4]) == "heap");
}
