// SPDX-License-Identifier: BSD-3-Clause
// roots_continue.cpp - the root of broadcasts returns before its peers enter the calls.
//
// Idea     The root broadcasts from buffers that it has not used before, and overwrites them as
//          soon as its call has returned. The other ranks make their calls only after the root's
//          signal that its calls are complete, so a root that waited for them would deadlock.
// Why      Peers read copies of buffers that are used for the first time
//          (docs/decisions/0014-remapped-memory.md).
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "check.hpp"

namespace weft::test {
namespace {

using Words = std::span<std::uint64_t>;

constexpr std::size_t kWords = 8192;  // 64 KiB
constexpr std::size_t kCalls = 3;     // calls of a round: the root makes all before its peers
constexpr std::uint64_t kRounds = 40;

/// Memory at addresses that no earlier object had: the destructor leaves the range mapped without
/// access.
class NewWords {
  public:
    explicit NewWords(std::size_t words) {
        void* const at = mmap(nullptr, words * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) std::abort();
        words_ = {static_cast<std::uint64_t*>(at), words};
    }
    NewWords(const NewWords&) = delete;
    NewWords& operator=(const NewWords&) = delete;
    ~NewWords() { mprotect(words_.data(), words_.size_bytes(), PROT_NONE); }

    [[nodiscard]] Words get() const { return words_; }

  private:
    Words words_;
};

std::uint64_t value(std::uint64_t round, std::size_t call, std::size_t at) {
    return round * 1'000'003 + call * 101 + at;
}

/// Broadcasts from a new buffer, then overwrites it and removes access to it at once.
void broadcast(Team& team, std::uint64_t round, std::size_t number) {
    const NewWords memory(kWords);
    const Words words = memory.get();
    if (team.rank() == 0)
        for (std::size_t i = 0; i < kWords; ++i) words[i] = value(round, number, i);
    team.broadcast(words, 0);
    bool right = true;
    for (std::size_t i = 0; i < kWords && right; ++i) right = words[i] == value(round, number, i);
    check(right,
          fmt::format("the data of rank {} in round {}, call {}", team.rank(), round, number));
    std::ranges::fill(words, ~std::uint64_t{0});
}

int run() {
    Runtime runtime;
    Team world = runtime.world();
    auto* const ready = static_cast<std::uint64_t*>(world.allocate(sizeof(std::uint64_t)));
    *ready = 0;
    world.barrier();
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
        Team team = *world.split(0, world.rank());
        if (world.rank() != 0) world.wait_until(ready, Compare::ge, round);
        for (std::size_t number = 0; number < kCalls; ++number) broadcast(team, round, number);
        for (Rank peer = 1; world.rank() == 0 && peer < world.size(); ++peer)
            world.put_signal(nullptr, nullptr, 0, ready, round, SignalOp::set, peer);
        team.free();  // by the root, while its peers still read
    }
    if (world.rank() == 0 && wrong == 0) fmt::print("{} ranks: the root continued\n", world.size());
    runtime.finalize();
    return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft::test

int main() {
    return weft::test::run();
}
