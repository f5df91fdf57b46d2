// SPDX-License-Identifier: BSD-3-Clause
// freed.cpp - three ranks: a put that is in flight when its target is freed does not change the
// next allocation at the same address.
//
// usage: weft_freed free|release|destructor|team|team_destructor
//        The argument selects how the memory is freed: alone, by one of three methods, or with its
//        team. The caller sets WEFT_ALLREDUCE and WEFT_BARRIER to algorithms that use a star.
//
// Idea     Rank 1 starts a long put to rank 2, and all ranks free the memory at once. They allocate
//          again and get the same address. Rank 2 clears this memory, and checks it after all puts
//          of rank 1 are delivered. Collective calls use a star around rank 0, so they send no
//          message from rank 1 to rank 2: such a message would be delivered after the put, and
//          delay rank 2 until the put can do no harm.
// Fails    The program exits with status 1 if a byte has changed, or if the second allocation has
//          another address.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "weft/weft.hpp"

namespace {

constexpr std::size_t kBytes = std::size_t{48} << 20;  ///< long: the put is still in flight
constexpr weft::Rank kWriter = 1;
constexpr weft::Rank kReader = 2;

/// Allocates memory, starts the put, and frees the memory by `method`. Returns its address.
void* put_and_free(weft::Team world, std::string_view method, const std::vector<char>& source) {
    const auto put_into = [&](void* memory) {
        if (world.rank() == kWriter) world.put_nbi(memory, source.data(), kBytes, kReader);
        return memory;
    };
    if (method == "free") {
        weft::Memory memory(world, kBytes);
        void* const address = put_into(memory.data());
        memory.free();
        return address;
    }
    if (method == "release") {
        void* const address = put_into(world.allocate(kBytes));
        world.release(address);
        return address;
    }
    if (method == "destructor") return put_into(weft::Memory(world, kBytes).data());
    weft::OwnedTeam team(*world.split(0, world.rank()));
    void* const address = put_into(team.allocate(kBytes));
    if (method == "team") team.free();
    return address;
}

int run(std::string_view method) {
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    const weft::Memory flag_memory(world, sizeof(std::uint64_t));
    auto* const flag = flag_memory.as<std::uint64_t>().data();
    *flag = 0;
    const std::vector<char> source(kBytes, 'x');
    world.barrier();

    void* const first_address = put_and_free(world, method, source);
    if (method == "team_destructor")
        (void)world.split(-1, 0);  // team calls free objects of destroyed handles
    const weft::Memory memory(world, kBytes);
    int wrong = 0;
    if (memory.data() != first_address) {
        fmt::print(stderr,
                   "rank {}: the second allocation has another address: nothing was tested\n",
                   world.rank());
        wrong = 1;
    }
    std::memset(memory.data(), 0, kBytes);
    world.barrier();
    world.quiet();
    if (world.rank() == kWriter)
        world.put_signal(nullptr, nullptr, 0, flag, 1, weft::SignalOp::set, kReader);
    if (world.rank() == kReader) {
        world.wait_until(flag, weft::Compare::eq, 1);
        const auto bytes = memory.as<char>();
        const auto changed = std::ranges::count_if(bytes, [](char byte) { return byte != 0; });
        if (changed != 0) {
            fmt::print(stderr, "a put into freed memory changed {} bytes of its next owner\n",
                       changed);
            wrong = 1;
        }
    }
    runtime.finalize();
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : "free");
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
}
