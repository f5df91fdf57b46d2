// SPDX-License-Identifier: BSD-3-Clause
// Goal: a steady-state call makes one write for each message of its schedule, and no other
// libfabric call that moves data, if the provider grants two targets in a write or puts are small.
// Method: four ranks in one process have the real engine, wire and port, on the strict provider,
// which counts writes and reads. A separate write for a flag, or a credit in each call, would raise
// the count. The last test has one target in a write, so a flag needs its own write.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>

#include "collectives/registry.hpp"
#include "link/fabric/port.hpp"
#include "run/bind/bind.hpp"
#include "run/job/real_engine.hpp"
#include "tests/virtual/strict/strict_fabric.hpp"

namespace weft::test {
namespace {

constexpr Rank kRanks = 4;
constexpr std::size_t kSegmentBytes = std::size_t{4} << 20;
constexpr std::uint64_t kRegion = std::uint64_t{64} << 10;
constexpr base::RegionShape kShape{.cells = 32,
                                   .banks = 128,
                                   .bulk_banks = 4,
                                   .bulk_bytes = std::uint64_t{64} << 10,
                                   .small = {{{.banks = 64, .bytes = 16 << 10}}}};
constexpr std::size_t kLongElements = 128;  ///< elements of the longer calls: 1 KiB of doubles

/// Returns a profile with immediates and, if the provider grants them, two targets in a write.
link::Profile immediate_profile() {
    link::Profile profile;
    profile.provider = "strict";
    profile.small_keys = true;
    profile.writes_empty = true;
    profile.writes_two_places = true;
    return profile;
}

/// A call, bound for each rank.
struct BoundCall {
    std::deque<run::BoundProgram> programs;
    run::Reducer reducer;
};

BoundCall bind_call(std::string_view collective, const char* algorithm, std::size_t elements) {
    BoundCall call;
    const auto spec = *collectives::parse_spec(algorithm);
    for (Rank rank = 0; rank < kRanks; ++rank) {
        auto program =
            collectives::generate(collective, spec,
                                  {.rank = rank,
                                   .size = kRanks,
                                   .root = collectives::is_rooted(collective) ? 0 : plan::kNoRank,
                                   .elements = elements,
                                   .element_bytes = sizeof(double)});
        if (!program) throw std::runtime_error(program.failure().text);
        auto bound = run::bind(*std::move(program), {.elements = elements,
                                                     .element_bytes = sizeof(double),
                                                     .call_hash = 1,
                                                     .description = algorithm,
                                                     .shape = kShape});
        if (!bound) throw std::runtime_error(bound.failure().text);
        call.programs.push_back(*std::move(bound));
    }
    call.reducer = run::select_isa("auto").value().reducer(Type::float64, Op::max);
    return call;
}

/// Four ranks, each on its own node.
class StrictJob {
  public:
    StrictJob(const Demands& demands, const link::Profile& profile)
        : strict_(demands), barrier_(bind_call("barrier", "dissemination", 0)) {
        std::deque<std::unique_ptr<link::Port>> ports;
        for (Rank rank = 0; rank < kRanks; ++rank) {
            memory_.emplace_back(kSegmentBytes);
            buffers_.emplace_back(kLongElements, 1.0 + rank);
            ports.push_back(open(demands, profile, rank));
        }
        for (Rank rank = 0; rank < kRanks; ++rank) {
            for (Rank peer = 0; peer < kRanks; ++peer)
                if (peer != rank) ports[at(rank)]->set_peer(peer, ports[at(peer)]->address());
        }
        for (Rank rank = 0; rank < kRanks; ++rank) add_rank(rank, std::move(ports[at(rank)]));
    }

    /// Makes the call `times` times on all ranks.
    void call(const BoundCall& call, int times) {
        for (int i = 0; i < times; ++i) {
            std::vector<run::Operation*> operations;
            for (Rank rank = 0; rank < kRanks; ++rank) {
                auto* const data = reinterpret_cast<std::byte*>(buffers_[at(rank)].data());
                operations.push_back(&engines_[at(rank)].start(
                    *teams_[at(rank)], call.programs[at(rank)], {data, data}, call.reducer));
            }
            await(operations);
        }
    }
    /// Returns the writes of each rank for one call, averaged over `times` calls.
    std::vector<double> writes_of(const BoundCall& bound, int times) {
        std::vector<double> writes;
        for (Rank rank = 0; rank < kRanks; ++rank) writes.push_back(-written_by(rank));
        call(bound, times);
        for (Rank rank = 0; rank < kRanks; ++rank)
            writes[at(rank)] = (writes[at(rank)] + written_by(rank)) / times;
        return writes;
    }
    /// Returns the last element of a rank's buffer, which only calls of kLongElements change.
    [[nodiscard]] double value(Rank rank) const { return buffers_[at(rank)].back(); }
    [[nodiscard]] std::string violations() const { return strict_.violations(); }
    [[nodiscard]] std::size_t reads() const {
        std::size_t reads = 0;
        for (Rank rank = 0; rank < kRanks; ++rank) reads += strict_.reads_of(at(rank));
        return reads;
    }

  private:
    using Clock = std::chrono::steady_clock;

    static std::size_t at(Rank rank) { return static_cast<std::size_t>(rank); }
    [[nodiscard]] double written_by(Rank rank) const {
        return static_cast<double>(strict_.writes_of(at(rank)));
    }

    std::unique_ptr<link::Port> open(const Demands& demands, const link::Profile& profile,
                                     Rank rank) {
        link::Info info = strict_.offer();
        auto grant = link::accept_offer(*info);
        if (!grant) throw std::runtime_error(grant.failure().text);
        grant->delivery = true;
        grant->fence = (demands.caps & FI_FENCE) != 0;
        const link::Found found{std::move(info), *grant, profile, {}};
        auto port = link::open_port({memory_.back().data(), kSegmentBytes},
                                    {.rank = rank, .size = kRanks}, found);
        if (!port) throw std::runtime_error(port.failure().text);
        return *std::move(port);
    }

    void add_rank(Rank rank, std::unique_ptr<link::Port> port) {
        std::vector<std::byte*> near(kRanks, nullptr);
        near[at(rank)] = memory_[at(rank)].data();
        wires_.emplace_back(
            std::move(near), std::move(port),
            link::WireOptions{
                .rank = rank, .segment_bytes = kSegmentBytes, .cells_end = kSegmentBytes});
        run::EngineOptions options;
        options.watchdog.report = [](const std::string&) {};
        run::RealEngine& engine = engines_.emplace_back(wires_.back(), rank, options);
        teams_.push_back(&engine.add_team({.rank = rank,
                                           .job_ranks = {0, 1, 2, 3},
                                           .region = kRegion,
                                           .shape = kShape,
                                           .barrier = &barrier_.programs[at(rank)]}));
    }

    void await(const std::vector<run::Operation*>& operations) {
        const auto deadline = Clock::now() + std::chrono::seconds(10);
        bool done = false;
        while (!done) {
            done = true;
            for (Rank rank = 0; rank < kRanks; ++rank) {
                static_cast<void>(engines_[at(rank)].poll());
                done = done && operations[at(rank)]->ended();
            }
            if (Clock::now() > deadline)
                throw std::runtime_error("a call takes more than 10 s: " + violations());
        }
        for (Rank rank = 0; rank < kRanks; ++rank) {
            if (operations[at(rank)]->state != run::Operation::State::complete)
                throw std::runtime_error(operations[at(rank)]->failure.text);
            engines_[at(rank)].release(*operations[at(rank)]);
        }
    }

    StrictFabric strict_;
    BoundCall barrier_;
    std::deque<std::vector<std::byte>> memory_;
    std::deque<std::vector<double>> buffers_;
    std::deque<link::Wire> wires_;
    std::deque<run::RealEngine> engines_;
    std::vector<run::TeamState*> teams_;
};

constexpr int kWarmUp = 100;  // first calls also connect ranks and send credits
constexpr int kAllreduces = 200;
constexpr int kBroadcasts = 16;  // too few for the bank rule to insert a barrier

using Writes = std::vector<double>;

TEST(StrictWrites, AllreduceTakesTwoWritesPerRankAndBroadcastOnePerEdge) {
    StrictJob job({.inject_bytes = 128, .iov_limit = 4}, immediate_profile());
    const BoundCall allreduce = bind_call("allreduce", "a2,a2", 1);
    const BoundCall larger = bind_call("allreduce", "a2,a2", kLongElements);
    const BoundCall broadcast = bind_call("broadcast", "binomial", kLongElements);
    job.call(allreduce, kWarmUp);
    EXPECT_EQ(job.value(0), 1);  // only the first element is combined
    EXPECT_EQ(job.writes_of(allreduce, kAllreduces), (Writes{2, 2, 2, 2}));
    job.call(larger, 8);
    EXPECT_EQ(job.writes_of(broadcast, kBroadcasts), (Writes{2, 0, 1, 0}));
    for (Rank rank = 0; rank < kRanks; ++rank) EXPECT_EQ(job.value(rank), 4) << "rank " << rank;
    EXPECT_EQ(job.reads(), 0U);
    EXPECT_EQ(job.violations(), "");
}

TEST(StrictWrites, SmallPutsTakeOneWriteWithoutImmediates) {
    Demands demands{.mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED,
                    .caps = FI_RMA | FI_FENCE,
                    .immediate_bytes = 0,
                    .key_bytes = 4,
                    .inject_bytes = 192};
    StrictJob job(demands, link::profile_of("cxi"));
    for (const std::size_t elements : {1, 6}) {
        const BoundCall allreduce = bind_call("allreduce", "a2,a2", elements);
        job.call(allreduce, kWarmUp);
        EXPECT_EQ(job.writes_of(allreduce, kAllreduces), (Writes{2, 2, 2, 2}))
            << elements << " elements";
    }
    EXPECT_EQ(job.violations(), "");
}

TEST(StrictMemory, AFailureToPinNamesTheLimit) {
    try {
        StrictJob job({.registered_bytes_max = kSegmentBytes - 1}, immediate_profile());
        FAIL() << "the segment was registered";
    } catch (const std::runtime_error& refusal) {
        const std::string text = refusal.what();
        EXPECT_NE(text.find(fmt::format("fi_mr_reg of {} bytes", kSegmentBytes)), std::string::npos)
            << text;
        EXPECT_NE(text.find("RLIMIT_MEMLOCK"), std::string::npos) << text;
    }
}

TEST(StrictWrites, TheFlagTakesAWriteOfItsOwnWithOneTarget) {
    StrictJob job({.inject_bytes = 128, .iov_limit = 1}, immediate_profile());
    job.call(bind_call("allreduce", "a2,a2", kLongElements), kWarmUp);
    EXPECT_EQ(job.writes_of(bind_call("broadcast", "binomial", kLongElements), kBroadcasts),
              (Writes{4, 0, 2, 0}));
    EXPECT_EQ(job.violations(), "");
}

}  // namespace
}  // namespace weft::test
