// SPDX-License-Identifier: BSD-3-Clause
// Bug: the destructor of weft::Memory waited for an allocation of another thread, which waits for
// other ranks. Method: rank 1 allocates only after rank 0 has destroyed other memory, while another
// thread of rank 0 allocates. Without the fix, both ranks hang. Then checks that the memory is
// freed: the heap does not hold all blocks that the ranks abandon.
#include <atomic>
#include <optional>
#include <thread>

#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;

int run() {
    Runtime runtime;
    Team world = runtime.world();
    Team both = *world.split(0, 0);
    Memory signal(world, sizeof(std::uint64_t));
    auto* const word = static_cast<std::uint64_t*>(signal.data());
    *word = 0;
    std::optional<Memory> other(std::in_place, world, kBytes);
    world.barrier();
    if (world.rank() == 0) {
        std::atomic<bool> begins{false};
        std::thread allocating([&] {
            begins = true;
            const Memory memory(both, kBytes);
        });
        while (!begins) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        other.reset();
        world.add(word, std::uint64_t{1}, 1);
        allocating.join();
    } else {
        world.wait_until(word, Compare::eq, std::uint64_t{1});
        other.reset();
        const Memory memory(both, kBytes);
    }
    for (int round = 0; round < 100; ++round) const Memory memory(world, kBytes);
    runtime.finalize();
    return 0;
}

}  // namespace
}  // namespace weft::test

int main() {
    return weft::test::run();
}
