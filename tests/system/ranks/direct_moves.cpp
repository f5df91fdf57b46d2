// SPDX-License-Identifier: BSD-3-Clause
// direct_moves.cpp - repeats a collective with buffers in the symmetric heap or in memory of the
// program. direct_test.cpp reads from the log (WEFT_LOG=info) how many bytes the ranks have moved
// between buffers of local peers.
//
// usage: weft_direct_moves broadcast|allgather|scatter|allreduce DOUBLES CALLS heap|own
//
// DOUBLES is the size of a block or, for collectives without blocks, of the buffer.
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

int run(const std::string& collective, std::size_t count, int calls, bool in_heap) {
    Runtime runtime;
    Team world = runtime.world();
    const std::size_t elements = count * static_cast<std::size_t>(world.size());
    Memory symmetric(world, 2 * elements * sizeof(double));
    std::vector<double> own(2 * elements, 1.0);
    double* const in = in_heap ? symmetric.as<double>().data() : own.data();
    std::memset(in, 0, 2 * elements * sizeof(double));
    for (int i = 0; i < calls; ++i) call(world, collective, in, in + elements, count);
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
