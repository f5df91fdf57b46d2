// SPDX-License-Identifier: BSD-3-Clause
// owners.cpp - tests the owning handles of the C++ interface: destructors free teams, memory and
// requests, and handles of freed objects are refused.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "check.hpp"

namespace weft::test {
namespace {

/// Makes more teams and memory than can exist at once, one after another. Destructors free them;
/// free() is never called. Ranks free at different times: the last rank keeps the ten newest
/// objects.
void release_without_free(Runtime& runtime) {
    Team world = runtime.world();
    std::vector<std::shared_ptr<OwnedTeam>> kept;
    for (int i = 0; i < 300; ++i) {
        auto team = std::make_shared<OwnedTeam>(*world.split(world.rank() % 2, -world.rank()));
        check(team->allreduce(1, Op::sum) == team->size(), "the sum over an owned team");
        if (world.rank() == world.size() - 1) kept.push_back(team);
        if (kept.size() > 10) kept.erase(kept.begin());
    }
    kept.clear();
    std::vector<std::shared_ptr<Memory>> blocks;
    for (int i = 0; i < 300; ++i) {
        auto memory = std::make_shared<Memory>(world, std::size_t{8} << 20);
        memory->as<int>()[0] = i;
        if (world.rank() == world.size() - 1) blocks.push_back(memory);
        if (blocks.size() > 10) blocks.erase(blocks.begin());
    }
}

/// A member that leaves a scope by an exception does not block the other members.
void leave_by_exception(Runtime& runtime) {
    Team world = runtime.world();
    try {
        const OwnedTeam team(*world.split(0, 0));
        const Memory memory(team, 1000);
        if (world.rank() == 0) throw std::runtime_error("thrown by rank 0 only");
    } catch (const std::runtime_error&) {
    }
    world.barrier();
}

/// Accesses symmetric memory of local peers by stores, and asks for addresses.
void share_memory(Runtime& runtime) {
    Team world = runtime.world();
    Team node = world.split_by_node();
    Memory memory(node, 100 * sizeof(std::uint64_t), 4096);
    check(reinterpret_cast<std::uintptr_t>(memory.data()) % 4096 == 0, "the memory is aligned");
    for (Rank peer = 0; peer < node.size(); ++peer)
        memory.on<std::uint64_t>(peer)[static_cast<std::size_t>(node.rank())] =
            static_cast<std::uint64_t>(peer);
    node.barrier();
    for (Rank peer = 0; peer < node.size(); ++peer)
        check(memory.as<std::uint64_t>()[static_cast<std::size_t>(peer)] ==
                  static_cast<std::uint64_t>(node.rank()),
              "the store of a local peer is visible");
    Memory of_world(world, 8);
    check(of_world.on<int>(world.rank()).data() == of_world.data(), "the address of own memory");
    of_world.free();
    refused("a peer above the last rank", Status::argument, "peer",
            [&] { (void)node.ptr(memory.data(), node.size()); });
    int on_stack = 0;
    check(node.ptr(&on_stack, 0) == nullptr, "no address for memory outside the heap");
    memory.free();
    node.free();
}

/// Starts persistent requests repeatedly, and refuses requests that cannot start.
void persistent_calls(Runtime& runtime) {
    Team world = runtime.world();
    double value = 0;
    PersistentRequest sum =
        world.prepare(Call::allreduce(&value, &value, 1, Type::float64, Op::sum));
    PersistentRequest barrier = world.prepare(Call::barrier());
    for (int i = 1; i < 100; ++i) {
        value = i;
        sum.start();
        barrier.start();
        if (world.size() > 1 && i == 1)
            refused("a second start", Status::argument, "in flight", [&] { sum.start(); });
        barrier.wait();
        while (!sum.test()) continue;
        check(value == i * static_cast<double>(world.size()), "the sum of a persistent allreduce");
    }
    PersistentRequest empty;
    empty.wait();
    refused("starting an empty request", Status::argument, "prepared", [&] { empty.start(); });
    refused("a wrong root", Status::argument, "root",
            [&] { (void)world.prepare(Call::broadcast(&value, 1, Type::float64, -1)); });
    Team half = *world.split(0, 0);
    PersistentRequest of_half = half.prepare(Call::barrier());
    half.free();
    refused("a call of a freed team", Status::argument, "freed", [&] { of_half.start(); });
}

/// Runs the cases above while other objects exist. Then finalizes and destroys the runtime: each
/// handle that remains must be refused with the reason.
void run() {
    auto runtime = std::make_unique<Runtime>();
    Team world = runtime->world();
    Team team = *world.split(0, 0);
    Team copy = team;
    team.free();
    refused("a copy of a freed team", Status::argument, "freed", [&] { copy.barrier(); });
    refused("an empty team", Status::argument, "team", [] { Team().barrier(); });
    Team other = *world.split(0, 0);
    Request request = world.start(Call::barrier());
    Memory memory(other, 100);
    release_without_free(*runtime);
    leave_by_exception(*runtime);
    share_memory(*runtime);
    persistent_calls(*runtime);
    runtime->finalize();
    refused("a world after finalize()", Status::argument, "finalized", [&] { world.barrier(); });
    refused("an allocation after finalize()", Status::argument, "finalized",
            [&] { (void)other.allocate(8); });
    refused("a split after finalize()", Status::argument, "finalized",
            [&] { (void)world.split(0, 0); });
    request.wait();  // finalize() has completed the barrier
    runtime.reset();
    refused("a world whose runtime is destroyed", Status::argument, "has ended",
            [&] { world.barrier(); });
    refused("a team whose runtime is destroyed", Status::argument, "has ended",
            [&] { (void)other.size(); });
}

}  // namespace
}  // namespace weft::test

int main() {
    try {
        weft::test::run();
    } catch (const std::exception& problem) {
        fmt::print(stderr, "{}\n", problem.what());
        return 1;
    }
    return weft::test::wrong == 0 ? 0 : 1;
}
