// SPDX-License-Identifier: BSD-3-Clause
// disagree.cpp - all ranks make equal calls, except the last rank, which makes another one.
//
// usage: weft_disagree CASE   (a name in call() below)
//
// Exit status: 40 if a rank gets an Error about its arguments, as expected; 41 after another kind
// of Error; 0 without an Error. The text of the Error is on stderr.
#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "weft/stencil.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

/// Makes the call of the case `what`. On the last rank, `differs` is true.
void call(Team& world, std::string_view what, bool differs) {
    std::vector<double> in(64, 1.0);
    std::vector<double> out(64);
    if (what == "count") {
        world.allreduce(in.data(), out.data(), differs ? 3 : 4, Type::float64, Op::sum);
    } else if (what == "large-count") {
        in.resize(100'000);
        out.resize(100'000);
        world.allreduce(in.data(), out.data(), differs ? 99'999 : 100'000, Type::float64, Op::sum);
    } else if (what == "operation") {
        world.allreduce(in.data(), out.data(), 4, Type::float64, differs ? Op::max : Op::sum);
    } else if (what == "type") {
        world.allreduce(in.data(), out.data(), 4, differs ? Type::int64 : Type::float64, Op::sum);
    } else if (what == "root") {
        world.broadcast(in.data(), 4, Type::float64, differs ? 1 : 0);
    } else if (what == "collective") {
        if (differs) {
            world.barrier();
        } else {
            world.allreduce(in.data(), out.data(), 4, Type::float64, Op::sum);
        }
    } else if (what == "root-continues") {
        // The root does not wait in a broadcast: it is already in the barrier when the other ranks
        // ask for its call.
        world.broadcast(in.data(), differs ? 5 : 4, Type::float64, world.size() - 1);
        world.barrier();
    } else if (what == "started") {
        Request request = world.start(
            Call::allreduce(in.data(), out.data(), differs ? 3 : 4, Type::float64, Op::sum));
        world.start(Call::barrier()).wait();
        request.wait();
    } else if (what == "stencil") {
        Stencil ring(world, std::vector<Rank>{world.size()}, {true});
        ring.alltoall(in.data(), out.data(), differs ? 3 : 4, Type::float64);
    } else if (what == "stencil-way") {
        Stencil ring(world, std::vector<Rank>{world.size()}, {true});
        ring.set_way(differs ? Stencil::Way::combined : Stencil::Way::direct);
        ring.allgather(in.data(), out.data(), 4, Type::float64);
    } else if (what == "stencil-grid") {
        const Rank rows = differs ? 2 : 1;
        Stencil box(world, std::vector<Rank>{rows, world.size() / rows}, {true, true});
        box.set_way(Stencil::Way::direct);
        box.alltoall(in.data(), out.data(), 4, Type::float64);
    } else if (what == "alloc") {
        if (differs) {
            const Memory memory(world, 64);
        } else {
            world.allreduce(in.data(), out.data(), 4, Type::float64, Op::sum);
        }
    } else if (what == "finalize") {
        // The last rank calls only finalize().
        if (!differs) world.allreduce(in.data(), out.data(), 4, Type::float64, Op::sum);
    } else if (what == "after-broadcasts") {
        // Between nodes the library inserts barriers between these calls.
        for (int i = 0; i < 700; ++i) world.broadcast(in.data(), 1, Type::float64, 0);
        world.allreduce(in.data(), out.data(), differs ? 3 : 4, Type::float64, Op::sum);
    } else {
        throw Error(Status::unsupported, "unknown case");
    }
}

int run(std::string_view what) {
    Runtime runtime;
    Team world = runtime.world();
    // The call that differs must not be the first one.
    for (int i = 0; i < 10; ++i) world.barrier();
    try {
        call(world, what, world.rank() == world.size() - 1);
        runtime.finalize();
    } catch (const Error& error) {
        fmt::print(stderr, "caught: {}\n", error.what());
        return error.status() == Status::argument ? 40 : 41;
    }
    return 0;
}

}  // namespace
}  // namespace weft::test

int main(int count, char** arguments) {
    try {
        return weft::test::run(count > 1 ? arguments[1] : "");
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 41;
    }
}
