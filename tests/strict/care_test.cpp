// SPDX-License-Identifier: BSD-3-Clause
// Goal: a port does what a provider may demand: registered sources, its keys, contexts that are
// left alone until completion, receives for writes with immediates, regions bound to enabled
// endpoints.
// Method: a few ports in one process over a provider that demands it all, delivers late and in any
// order, and writes down each violation; random puts of every kind, each checked when it must be
// there.
#include <gtest/gtest.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <array>
#include <chrono>

#include "link/fabric/port.hpp"
#include "tests/strict/strict_fabric.hpp"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;
using link::FabricPut;
using link::PutKind;

constexpr Rank kRanks = 3;
constexpr std::uint32_t kSlots = 24;  ///< of one sender at one target
constexpr std::size_t kSlotBytes = std::size_t{96} << 10;
constexpr std::size_t kSenderBytes = kSlots * kSlotBytes;
constexpr std::size_t kSourcesAt = kRanks * kSenderBytes;  ///< sources inside the segment
constexpr std::size_t kMemoryBytes = 2 * kSourcesAt;

link::Profile willing_profile() {
    link::Profile profile;
    profile.provider = "strict";
    profile.cells = profile.delivery = profile.fence = {true, "it is made so"};
    profile.writes_empty = true;
    profile.small_keys = true;
    return profile;
}

/// Everything of one put that its check needs.
struct Slot {
    bool busy = false;
    bool landed = false;  ///< with an immediate: it has been checked
    std::uint32_t use = 0;
    PutKind kind = PutKind::with_immediate;
    std::size_t bytes = 0;
    std::uint32_t pending = 0;
    std::vector<std::byte> outside;  ///< its source, if that is not in the segment
};

std::byte pattern(Rank from, Rank to, std::uint32_t slot, std::uint32_t use, std::size_t at) {
    return static_cast<std::byte>((static_cast<std::size_t>(from) * 31 +
                                   static_cast<std::size_t>(to) * 17 + slot * 7 + use * 131 +
                                   at * 13 + (at >> 8)) &
                                  0xFF);
}

class Traffic {
  public:
    Traffic(const Demands& demands, const link::Profile& profile,
            void (*change)(link::Grant&) = nullptr)
        : strict_(demands), random_(demands.seed) {
        for (Rank rank = 0; rank < kRanks; ++rank) {
            memory_.emplace_back(kMemoryBytes);
            link::FabricOptions options;
            options.rank = rank;
            options.size = kRanks;
            options.puts_in_flight = 24;
            options.puts_in_flight_per_peer = 12;
            link::Info info = strict_.offer();
            const auto grant = link::accept_offer(*info);
            if (!grant) throw std::runtime_error(grant.failure().text);
            link::Found found{std::move(info), *grant, profile, {}};
            found.grant.delivery = true;
            if (change != nullptr) change(found.grant);
            auto port = link::Port::open({memory_.back().data(), kMemoryBytes}, options, found);
            if (!port) throw std::runtime_error(port.failure().text);
            ports_.push_back(std::move(port).value());
        }
        for (Rank rank = 0; rank < kRanks; ++rank) {
            for (Rank peer = 0; peer < kRanks; ++peer) {
                if (peer != rank)
                    ports_[index(rank)]->set_peer(peer, ports_[index(peer)]->address());
            }
        }
    }

    /// Sends `count` puts in all; returns what went wrong.
    std::string run(int count) {
        const auto deadline = Clock::now() + std::chrono::seconds(20);
        while ((count > 0 || busy_ > 0) && problem_.empty() && strict_.violations().empty()) {
            if (Clock::now() > deadline) return fmt::format("late: {} puts are busy", busy_);
            const auto from = static_cast<Rank>(random_() % kRanks);
            if (count > 0 && try_send(from)) --count;
            poll(static_cast<Rank>(random_() % kRanks));
            if (ports_[index(from)]->failure() != nullptr) break;
        }
        for (const auto& port : ports_) {
            if (port->failure() != nullptr) problem_ += port->failure()->text;
        }
        ports_.clear();
        if (strict_.open != 0) problem_ += fmt::format("{} objects were left open\n", strict_.open);
        return problem_ + strict_.violations();
    }
    [[nodiscard]] const StrictFabric& strict() const { return strict_; }

  private:
    static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }
    Slot& slot(Rank from, Rank to, std::uint32_t which) {
        return slots_[(index(from) * kRanks + index(to)) * kSlots + which];
    }
    std::byte* target(Rank from, Rank to, std::uint32_t which) {
        return memory_[index(to)].data() + index(from) * kSenderBytes + which * kSlotBytes;
    }

    std::size_t some_bytes(PutKind kind) {
        switch (random_() % 4) {
            case 0:
                return random_() % 17 + (kind == PutKind::with_immediate ? 0 : 1);
            case 1:
                return 1 + random_() % 200;
            case 2:
                return 1 + random_() % 5000;
            default:
                return 1 + random_() % kSlotBytes;
        }
    }

    bool try_send(Rank from) {
        const auto to = static_cast<Rank>((index(from) + 1 + random_() % (kRanks - 1)) % kRanks);
        const auto which = static_cast<std::uint32_t>(random_() % kSlots);
        Slot& put = slot(from, to, which);
        if (put.busy || put.pending != 0) return false;
        put.kind = std::array{PutKind::with_immediate, PutKind::delivered,
                              PutKind::fenced}[random_() % (fences() ? 3 : 2)];
        put.bytes = std::min(some_bytes(put.kind), ports_[index(from)]->facts().message_bytes_max);
        std::byte* source =
            memory_[index(from)].data() + kSourcesAt + (index(to) * kSlots + which) * kSlotBytes;
        if (random_() % 2 == 0) {
            put.outside.resize(put.bytes);
            put.outside.shrink_to_fit();
            source = put.outside.data();
        }
        for (std::size_t i = 0; i < put.bytes; ++i)
            source[i] = pattern(from, to, which, put.use, i);
        FabricPut message;
        message.peer = to;
        message.data = source;
        message.bytes = put.bytes;
        message.target = index(from) * kSenderBytes + which * kSlotBytes;
        message.kind = put.kind;
        message.immediate = static_cast<std::uint32_t>(index(from)) << 24 | which | 0x800000U;
        message.pending = &put.pending;
        if (ports_[index(from)]->try_put(message) != base::Post::posted) return false;
        put.busy = true;
        put.landed = false;
        ++busy_;
        // Untouched means that the source was copied at once; then it may go at once.
        if (put.pending == 0 && put.kind == PutKind::with_immediate) spoil(put, source);
        return true;
    }

    static void spoil(Slot& put, std::byte* source) {
        std::fill(source, source + put.bytes, std::byte{0xEE});
        std::vector<std::byte>().swap(put.outside);
    }

    void poll(Rank rank) {
        std::array<std::uint64_t, 8> immediates{};
        const std::size_t got = ports_[index(rank)]->poll(immediates);
        for (std::size_t i = 0; i < got; ++i) {
            const auto from = static_cast<Rank>(immediates[i] >> 24);
            Slot& put = slot(from, rank, immediates[i] & 0xFFFF);
            if (!put.busy || put.kind != PutKind::with_immediate || put.landed)
                problem_ += "an immediate without its put\n";
            put.landed = true;
            check(from, rank, immediates[i] & 0xFFFF);
        }
        // Local completions of this rank's puts.
        for (Rank to = 0; to < kRanks; ++to) {
            for (std::uint32_t which = 0; which < kSlots; ++which) {
                Slot& put = slot(rank, to, which);
                if (!put.busy || put.pending != 0) continue;
                if (put.kind == PutKind::with_immediate && !put.landed) continue;
                if (put.kind != PutKind::with_immediate) check(rank, to, which);
                std::vector<std::byte>().swap(put.outside);
                put.busy = false;
                ++put.use;
                --busy_;
            }
        }
    }

    void check(Rank from, Rank to, std::uint32_t which) {
        const Slot& put = slot(from, to, which);
        const std::byte* at = target(from, to, which);
        for (std::size_t i = 0; i < put.bytes; ++i) {
            if (at[i] == pattern(from, to, which, put.use, i)) continue;
            problem_ += fmt::format("put of {} bytes, kind {}: byte {} is not there\n", put.bytes,
                                    static_cast<int>(put.kind), i);
            return;
        }
    }
    [[nodiscard]] bool fences() const { return (strict_.demands.caps & FI_FENCE) != 0; }

    StrictFabric strict_;
    std::mt19937_64 random_;
    std::vector<std::vector<std::byte>> memory_;
    std::array<Slot, std::size_t{kRanks} * kRanks * kSlots> slots_{};
    std::vector<std::unique_ptr<link::Port>> ports_;  // after what they read
    int busy_ = 0;
    std::string problem_;
};

struct Kind {
    const char* name;
    Demands demands;
};

Kind kinds[] = {
    {"undemanding", {}},
    {"verbs_like",
     {.mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_LOCAL,
      .mode = FI_CONTEXT,
      .immediate_bytes = 4,
      .key_bytes = 4}},
    {"cxi_like",
     {.mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED,
      .caps = FI_RMA | FI_FENCE,
      .key_bytes = 4,
      .inject_bytes = 192}},
    {"opx_like", {.mode = FI_CONTEXT2, .immediate_bytes = 4, .inject_bytes = 16}},
    {"one_byte_keys_no_inject", {.mode = FI_CONTEXT2, .key_bytes = 1, .inject_bytes = 0}},
    {"everything",
     {.mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_LOCAL | FI_MR_ENDPOINT,
      .mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA,
      .caps = FI_RMA | FI_MSG | FI_RECV | FI_FENCE,
      .immediate_bytes = 4,
      .key_bytes = 4,
      .inject_bytes = 32,
      .message_bytes_max = 50000}},
};

class Care : public testing::TestWithParam<Kind> {};

TEST_P(Care, NoDemandIsViolatedAndAllDataArrives) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        Demands demands = GetParam().demands;
        demands.seed = seed;
        Traffic traffic(demands, willing_profile());
        EXPECT_EQ(traffic.run(2000), "") << "seed " << seed;
    }
}

/// Controls: a port that does not know of a duty is caught.
struct Forgotten {
    const char* what;
    void (*change)(link::Grant&);
};
class ForgottenDuty : public testing::TestWithParam<Forgotten> {};

TEST_P(ForgottenDuty, IsNoticed) {
    std::string problem;
    try {
        Traffic traffic(kinds[std::size(kinds) - 1].demands, willing_profile(), GetParam().change);
        problem = traffic.run(400);
    } catch (const std::exception& refusal) {
        problem = refusal.what();
    }
    EXPECT_NE(problem, "");
}

INSTANTIATE_TEST_SUITE_P(
    Controls, ForgottenDuty,
    testing::Values(
        Forgotten{"registered_sources", [](link::Grant& g) { g.local_registration = false; }},
        Forgotten{"receives", [](link::Grant& g) { g.consumes_receives = false; }},
        Forgotten{"bound_regions", [](link::Grant& g) { g.endpoint_registration = false; }},
        Forgotten{"addresses", [](link::Grant& g) { g.virtual_addresses = false; }},
        Forgotten{"inject_size", [](link::Grant& g) { g.inject_bytes = 64; }},
        Forgotten{"message_size", [](link::Grant& g) { g.message_bytes_max = 1U << 20; }}),
    [](const auto& chosen) { return std::string(chosen.param.what); });

INSTANTIATE_TEST_SUITE_P(Providers, Care, testing::ValuesIn(kinds),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

}  // namespace
}  // namespace weft::test
