// SPDX-License-Identifier: BSD-3-Clause
// team_leaks.cpp - thousands of splits, calls and frees leak no memory.
//
// usage: weft_team_leaks ROUNDS [--leak]
//
// Idea     150 rounds fill the caches. ROUNDS more rounds must leave the table of regions and the
//          symmetric heap unchanged. They may enlarge the C heap and the resident memory by a fixed
//          bound and 10 bytes a round. Each object of a team has more than 100 bytes, so one leaked
//          in each round exceeds the bounds.
// Control  With `--leak` each round leaks 128 bytes, and the program must fail.
#include <fmt/format.h>
#include <malloc.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "run/runtime.hpp"
#include "tests/support/resident_bytes.hpp"

namespace weft::test {
namespace {

/// Bytes that may become resident after the first 150 rounds. The 256 banks of long payloads
/// between nodes are used one after another: at a page each they have 1 MiB, and the bound is twice
/// that.
constexpr std::int64_t kLateResidentBytes = 2 << 20;

/// Resources that this rank uses.
struct InUse {
    std::int64_t heap_bytes = 0;
    std::int64_t resident_bytes = 0;
    std::uint64_t free_regions = 0;  ///< bit set
    link::HeapStatistics symmetric;
};

InUse in_use(run::Runtime& runtime) {
    InUse now;
    now.heap_bytes = static_cast<std::int64_t>(::mallinfo2().uordblks);
    now.resident_bytes = resident_bytes();
    now.free_regions = runtime.teams().free_regions();
    now.symmetric = runtime.heap().statistics();
    return now;
}

/// Rounds of teams, calls and memory.
class Rounds {
  public:
    Rounds(run::Runtime& runtime, bool leak) : runtime_(runtime), leak_(leak) {}

    /// Makes two nested teams with a call and memory each. Returns true if all of it succeeded.
    bool round(int number) {
        run::Team& world = runtime_.world();
        run::Teams& teams = runtime_.teams();
        auto half = teams.split(world, world.rank() * 2 / world.size() + number % 2, -world.rank());
        if (!half || *half == nullptr) return failed(half.ok() ? "no team" : half.failure().text);
        auto inner = number % 3 == 0 ? teams.split_node(**half) : teams.split(**half, 0, 0);
        if (!inner) return failed(inner.failure().text);
        for (run::Team* team : {*half, *inner}) {
            double sum = 1;
            const auto* const failure =
                team->run(Call::allreduce(&sum, &sum, 1, Type::float64, Op::sum));
            if (failure != nullptr || sum != team->size()) return failed("a sum is wrong");
            if (!runtime_.heap().allocate(*team, {1000, 64})) return failed("no memory");
        }
        if (leak_) leaked_.push_back(std::make_unique<std::array<char, 128>>());
        // Frees them in either order: a nested team does not need its parent.
        const auto first = teams.release(number % 5 == 0 ? **half : **inner);
        const auto second = teams.release(number % 5 == 0 ? **inner : **half);
        return first && second ? true : failed("a team could not be freed");
    }

  private:
    static bool failed(const std::string& why) {
        fmt::print(stderr, "round: {}\n", why);
        return false;
    }

    run::Runtime& runtime_;
    bool leak_;
    std::vector<std::unique_ptr<std::array<char, 128>>> leaked_;
};

int run(int rounds, bool leak) {
    auto made = run::Runtime::create(environ);
    if (!made) {
        fmt::print(stderr, "{}\n", made.failure().text);
        return 1;
    }
    run::Runtime& runtime = **made;
    Rounds all(runtime, leak);
    for (int i = 0; i < 150; ++i) {
        if (!all.round(i)) return 1;
    }
    const InUse before = in_use(runtime);
    for (int i = 0; i < rounds; ++i) {
        if (!all.round(i)) return 1;
    }
    const InUse after = in_use(runtime);
    const std::int64_t heap_growth = after.heap_bytes - before.heap_bytes;
    const std::int64_t resident_growth = after.resident_bytes - before.resident_bytes;
    // All regions but the world's are free.
    const bool same_regions =
        after.free_regions == before.free_regions && std::popcount(after.free_regions) == 31;
    const bool same_symmetric = after.symmetric.bytes_used == before.symmetric.bytes_used &&
                                after.symmetric.free_ranges == before.symmetric.free_ranges;
    if (runtime.world().rank() == 0)
        fmt::print("{{\"rounds\": {}, \"heap_growth_bytes\": {}, \"resident_growth_bytes\": {}}}\n",
                   rounds, heap_growth, resident_growth);
    const bool right = same_regions && same_symmetric && heap_growth < 4096 + 10 * rounds &&
                       resident_growth < kLateResidentBytes + 10 * rounds;
    if (!right)
        fmt::print(stderr,
                   "rank {}: heap grew by {} bytes, resident memory by {}; all regions free: {}; "
                   "symmetric heap unchanged: {}\n",
                   runtime.world().rank(), heap_growth, resident_growth, same_regions,
                   same_symmetric);
    const auto finalized = runtime.finalize();
    return right && finalized ? 0 : 1;
}

}  // namespace
}  // namespace weft::test

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    return weft::test::run(std::atoi(argv[1]), argc > 2 && std::strcmp(argv[2], "--leak") == 0);
}
