// SPDX-License-Identifier: BSD-3-Clause
// freed.cpp - three ranks: puts to memory that is freed do not change its next contents.
//
// usage: weft_freed free|release|destructor|team|team_destructor
//        (how the memory is freed; with WEFT_ALLREDUCE and WEFT_BARRIER set)
//
// Idea     Rank 1 starts a long put to rank 2, and all ranks free the memory at once. They allocate
//          again and get the same address. Rank 2 clears this memory, and checks it after all puts
//          of rank 1 are delivered. Calls use a star around rank 0: a message from rank 1 to rank 2
//          could be delivered only after the put, and so hide the fault.
// Holds    Prints a line to stderr and exits with status 1 if a byte has changed, or if the second
//          memory is at another address.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/weft.hpp"

namespace {

constexpr std::size_t kBytes = std::size_t{48} << 20;
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
        void* const place = put_into(memory.data());
        memory.free();
        return place;
    }
    if (method == "release") {
        void* const place = put_into(world.allocate(kBytes));
        world.release(place);
        return place;
    }
    if (method == "destructor") return put_into(weft::Memory(world, kBytes).data());
    weft::OwnedTeam team(*world.split(0, world.rank()));
    void* const place = put_into(team.allocate(kBytes));
    if (method == "team") team.free();
    return place;
}

int run(std::string_view method) {
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    const weft::Memory flag_memory(world, sizeof(std::uint64_t));
    auto* const flag = flag_memory.as<std::uint64_t>().data();
    *flag = 0;
    const std::vector<char> source(kBytes, 'x');
    world.barrier();

    void* const before = put_and_free(world, method, source);
    if (method == "team_destructor") (void)world.split(-1, 0);  // frees released objects
    const weft::Memory memory(world, kBytes);
    int wrong = 0;
    if (memory.data() != before) {
        fmt::print(stderr, "rank {}: the new memory has another address, so nothing was tested\n",
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
