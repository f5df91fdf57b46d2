// SPDX-License-Identifier: BSD-3-Clause
// fit_ranks.cpp - the ranks that `weft fit` measures, and their processors.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "tools/cli/fit.hpp"

namespace weft::tools {

namespace {

/// Returns the host with the most ranks per processor. Hosts are identified by name. Collective.
HostLoad largest_load(Team world, const std::vector<cpu_set_t>& allowed) {
    using Name = std::array<char, 64>;
    Name own{};
    ::gethostname(own.data(), own.size() - 1);
    std::vector<Name> names(allowed.size());
    world.allgather(own.data(), names.data()->data(), own.size(), Type::uint8);
    HostLoad most;
    for (std::size_t rank = 0; rank < names.size(); ++rank) {
        const auto own_name = names.begin() + static_cast<std::ptrdiff_t>(rank);
        if (std::find(names.begin(), own_name, *own_name) != own_name) continue;  // counted before
        HostLoad load{.ranks = 0};
        cpu_set_t all;
        CPU_ZERO(&all);
        for (std::size_t peer = rank; peer < names.size(); ++peer) {
            if (names[peer] != names[rank]) continue;
            ++load.ranks;
            CPU_OR(&all, &all, &allowed[peer]);
        }
        load.processors = std::max(1, CPU_COUNT(&all));
        if (load.ranks * most.processors >= most.ranks * load.processors) most = load;
    }
    return most;
}

int first_of(const cpu_set_t& set) {
    int processor = 0;
    while (!CPU_ISSET(processor, &set)) ++processor;
    return processor;
}

/// Binds the calling process to the processor during the object's life.
class OnProcessor {
  public:
    explicit OnProcessor(int processor) {
        CPU_ZERO(&before_);
        if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        moved_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
    }
    OnProcessor(const OnProcessor&) = delete;
    OnProcessor& operator=(const OnProcessor&) = delete;
    ~OnProcessor() {
        if (moved_) ::sched_setaffinity(0, sizeof before_, &before_);
    }

  private:
    cpu_set_t before_;
    bool moved_ = false;
};

}  // namespace

RankProcessors::RankProcessors(Team world) : allowed_(static_cast<std::size_t>(world.size())) {
    cpu_set_t own;
    CPU_ZERO(&own);
    if (::sched_getaffinity(0, sizeof own, &own) != 0) CPU_ZERO(&own);
    world.allgather(&own, allowed_.data(), sizeof own, Type::uint8);
    host_load_ = largest_load(world, allowed_);
}

std::optional<int> RankProcessors::common(Rank a, Rank b) const {
    cpu_set_t both;
    CPU_AND(&both, &of(a), &of(b));
    if (CPU_COUNT(&both) == 0) return std::nullopt;
    return first_of(both);
}

std::optional<int> RankProcessors::separate(Rank rank, Rank other) const {
    const Rank first = std::min(rank, other);
    const Rank second = std::max(rank, other);
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &of(first))) continue;
        cpu_set_t rest = of(second);
        CPU_CLR(processor, &rest);
        if (CPU_COUNT(&rest) == 0) continue;
        return rank == first ? processor : first_of(rest);
    }
    return std::nullopt;
}

FitRanks::FitRanks(Team world)
    : world_(world),
      memory_(world_, sizeof(std::uint64_t)),
      wake_(static_cast<std::uint64_t*>(memory_.data())),
      processors_(world_) {
    *wake_ = 0;
    world_.barrier();
    find_peers();
}

void FitRanks::while_others_sleep(const std::vector<Rank>& peers, const std::function<void()>& work,
                                  std::optional<int> shared) {
    constexpr std::chrono::milliseconds kInterval{2};
    ++phase_;
    const auto works = [&](Rank rank) {
        return rank == 0 || std::ranges::find(peers, rank) != peers.end();
    };
    if (works(world_.rank())) {
        // Binds two ranks to separate processors: ranks that yield to each other might share one
        // and leave the other idle.
        std::optional<int> own = shared;
        const Rank other = world_.rank() == 0 && !peers.empty() ? peers.front() : 0;
        if (!own && peers.size() == 1) own = processors_.separate(world_.rank(), other);
        std::optional<OnProcessor> binding;
        if (own) binding.emplace(*own);
        work();
    } else {
        while (!world_.test_until(wake_, Compare::ge, phase_))
            std::this_thread::sleep_for(kInterval);
    }
    if (world_.rank() == 0)
        for (Rank rank = 1; rank < world_.size(); ++rank)
            if (!works(rank)) world_.put(wake_, &phase_, sizeof phase_, rank);
    // Ranks that slept have not counted the exchanges.
    exchange_ = world_.allreduce<std::uint64_t>(exchange_, Op::max);
    world_.barrier();
}

void FitRanks::with_pair(std::optional<Rank> peer, const std::function<void(Team)>& work) {
    const bool takes_part = peer && (world_.rank() == 0 || world_.rank() == *peer);
    Team part = *world_.split(takes_part ? 0 : 1, world_.rank());
    while_others_sleep(peer ? std::vector<Rank>{*peer} : std::vector<Rank>{}, [&] {
        if (peer) work(part);
    });
    part.free();
    world_.barrier();
}

void FitRanks::pause(double seconds) {
    while_others_sleep(
        {}, [seconds] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); });
}

void FitRanks::find_peers() {
    constexpr std::size_t kPeersMax = 8;
    Team node = world_.split_by_node();
    Rank leader = world_.rank();
    node.broadcast(&leader, 1, Type::int32, 0);
    std::vector<Rank> leaders(static_cast<std::size_t>(world_.size()));
    world_.allgather(&leader, leaders.data(), 1, Type::int32);
    node.free();
    std::vector<Rank> further;
    for (Rank rank = 1; rank < world_.size(); ++rank) {
        const Rank leader_of_rank = leaders[static_cast<std::size_t>(rank)];
        if (leader_of_rank == leaders.front())
            local_peers_.push_back(rank);
        else
            (leader_of_rank == rank ? remote_peers_ : further).push_back(rank);
    }
    remote_peers_.insert(remote_peers_.end(), further.begin(), further.end());
    for (auto* peers : {&local_peers_, &remote_peers_})
        peers->resize(std::min(peers->size(), kPeersMax));
}

}  // namespace weft::tools
