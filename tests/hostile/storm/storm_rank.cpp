// SPDX-License-Identifier: BSD-3-Clause
// storm_rank.cpp - a rank that makes all kinds of calls until storm.py ends it.
//
// Usage: storm_rank [SEED [CALLS]]. All ranks draw the same calls, forms and sizes. They finalize
// after CALLS calls; by default, they make calls forever. An exception ends a rank with status 3.
// SIGUSR1 makes a rank exit with status 5, SIGUSR2 with status 0, even in the middle of a call.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <vector>

#include "weft/neighbors.hpp"
#include "weft/weft.hpp"

namespace {

using weft::Op;
using weft::Rank;
using weft::Type;

constexpr std::size_t kCountMax = 20'000;  ///< elements

constexpr unsigned kCollectives = 18;  ///< values of `kind` in Storm::call_of()
constexpr unsigned kForms = 3;         ///< values of `form` in Storm::collective()
constexpr unsigned kOneSided = 8;      ///< values of `kind` in Storm::one_sided()

/// Buffers and calls of a rank.
struct Storm {
    weft::Team team;
    std::vector<double> in;
    std::vector<double> out;
    double* shared;        ///< symmetric, kCountMax elements
    std::uint64_t* words;  ///< symmetric: [0] target of atomic operations, [1] signal
    weft::Neighbors ring;  ///< receives from the previous rank, sends to the next
    std::uint64_t signals = 0;
    std::vector<std::size_t> counts = {};          ///< counts of the current call, by member
    std::vector<std::size_t> receive_counts = {};  ///< of alltoallv: each is this rank's count

    [[nodiscard]] weft::Call call_of(unsigned kind, std::size_t count, Rank root);
    void collective(unsigned kind, unsigned form, std::size_t count, Rank root);
    void use_subteam(std::size_t count);
    void one_sided(unsigned kind, std::size_t count);
};

weft::Call Storm::call_of(unsigned kind, std::size_t count, Rank root) {
    using weft::Call;
    const double* const from = in.data();
    double* const to = out.data();
    counts.clear();
    for (Rank member = 0; member < team.size(); ++member)
        counts.push_back(count / static_cast<std::size_t>(1 + (member + root) % 3));
    const std::size_t mine = counts[static_cast<std::size_t>(team.rank())];
    const weft::Blocks blocks{counts, {}};
    switch (kind) {
        case 0:
            return Call::barrier();
        case 1:
            return Call::broadcast(to, count, Type::float64, root);
        case 2:
            return Call::reduce(from, to, count, Type::float64, Op::sum, root);
        case 3:
            return Call::allreduce(from, to, count, Type::float64, Op::max);
        case 4:
            return Call::gather(from, to, count, Type::float64, root);
        case 5:
            return Call::scatter(from, to, count, Type::float64, root);
        case 6:
            return Call::allgather(from, to, count, Type::float64);
        case 7:
            return Call::alltoall(from, to, count, Type::float64);
        case 8:
            return Call::reduce_scatter(from, to, count, Type::float64, Op::sum);
        case 9:
            return Call::scan(from, to, count, Type::float64, Op::sum);
        case 10:
            return Call::exscan(from, to, count, Type::float64, Op::sum);
        case 11:
            return Call::gatherv(from, mine, to, blocks, Type::float64, root);
        case 12:
            return Call::scatterv(from, blocks, to, mine, Type::float64, root);
        case 13:
            return Call::allgatherv(from, to, blocks, Type::float64);
        case 14:
            receive_counts.assign(counts.size(), mine);
            return Call::alltoallv(from, blocks, to, {receive_counts, {}}, Type::float64);
        case 15:
            return Call::reduce_scatterv(from, to, counts, Type::float64, Op::sum);
        case 16:
            return ring.allgather(from, to, count, Type::float64);
        default:
            return ring.alltoall(from, to, count, Type::float64);
    }
}

/// Makes a call in one of its forms: blocking, started while a barrier is in flight, or persistent
/// and started twice.
void Storm::collective(unsigned kind, unsigned form, std::size_t count, Rank root) {
    const weft::Call call = call_of(kind, count, root);
    if (form == 0) return team.run(call);
    if (form == 1) {
        weft::Request barrier = team.start(weft::Call::barrier());
        weft::Request request = team.start(call);
        request.wait();
        return barrier.wait();
    }
    weft::PersistentRequest request = team.prepare(call);
    for (int times = 0; times < 2; ++times) {
        request.start();
        request.wait();
    }
}

/// Splits the team by parity, reduces in the half and frees it.
void Storm::use_subteam(std::size_t count) {
    auto half = team.split(team.rank() % 2, team.rank());
    half->allreduce(in.data(), out.data(), count, Type::float64, Op::sum);
    half->free();
}

void Storm::one_sided(unsigned kind, std::size_t count) {
    const Rank next = (team.rank() + 1) % team.size();
    switch (kind) {
        case 0:
            team.put(shared, in.data(), count * sizeof(double), next);
            return team.quiet();
        case 1:
            return team.get(out.data(), shared, count * sizeof(double), next);
        case 2:
            static_cast<void>(team.fetch_add(words, 1, next));
            return;
        case 3:
            static_cast<void>(team.swap(words, count, next));
            return;
        case 4:
            static_cast<void>(team.compare_swap(words, count, count + 1, next));
            return;
        case 5: {
            const std::size_t blocks = count / 2;
            team.put_strided(shared, 2 * sizeof(double), in.data(), sizeof(double), sizeof(double),
                             blocks, next);
            team.get_strided(out.data(), sizeof(double), shared, 2 * sizeof(double), sizeof(double),
                             blocks, next);
            return team.quiet();
        }
        case 6: {
            // `registered` is not an address: it names the peer's range in one-sided calls.
            void* const registered = team.register_memory(out.data(), count * sizeof(double));
            team.put(registered, in.data(), count * sizeof(double), next);
            team.quiet();
            return team.unregister_memory(registered);
        }
        default:
            team.put_signal(shared, in.data(), count * sizeof(double), words + 1, 1,
                            weft::SignalOp::add, next);
            team.wait_until(words + 1, weft::Compare::ge, ++signals);
            return team.quiet();
    }
}

int run(unsigned seed, long calls) {
    std::signal(SIGUSR1, [](int) { ::_exit(5); });
    std::signal(SIGUSR2, [](int) { ::_exit(0); });
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    const auto size = static_cast<std::size_t>(world.size());
    Storm storm{world,
                std::vector<double>(kCountMax * size, 1),
                std::vector<double>(kCountMax * size),
                static_cast<double*>(world.allocate(kCountMax * sizeof(double))),
                static_cast<std::uint64_t*>(world.allocate(2 * sizeof(std::uint64_t))),
                weft::Neighbors(world.size(), {(world.rank() + world.size() - 1) % world.size()},
                                {(world.rank() + 1) % world.size()})};
    storm.words[0] = storm.words[1] = 0;
    world.barrier();
    fmt::print("running\n");
    std::fflush(stdout);
    std::mt19937 random(seed);
    for (; calls != 0; --calls) {
        const auto kind = static_cast<unsigned>(random() % (kCollectives + 1 + kOneSided));
        const auto form = static_cast<unsigned>(random() % kForms);
        const std::size_t count = random() % 4 == 0 ? random() % kCountMax + 1 : random() % 64 + 1;
        const auto root = static_cast<Rank>(random() % size);
        if (kind < kCollectives) {
            storm.collective(kind, form, count, root);
        } else if (kind == kCollectives) {
            storm.use_subteam(count);
        } else {
            storm.one_sided(kind - kCollectives - 1, count);
            world.barrier();
        }
    }
    runtime.finalize();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1,
                   argc > 2 ? std::atol(argv[2]) : -1);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
}
