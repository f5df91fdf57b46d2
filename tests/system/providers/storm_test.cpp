// SPDX-License-Identifier: BSD-3-Clause
// Goal: a port refuses puts instead of queueing them without limit for a target that polls rarely,
// and each accepted put arrives once. Puts to a dead target neither block nor crash.
// Method: forked ranks on this host. Rank 0 puts as fast as its port accepts. Rank 1 does not poll,
// then polls rarely; or it kills itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include "tests/system/providers/provider_test.hpp"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMemoryBytes = std::size_t{4} << 20;
constexpr std::size_t kLargeBytes = std::size_t{32} << 10;
/// A port that accepts this number of puts without a refusal is assumed to have no limit.
constexpr std::uint32_t kPutsMax = 2'000'000;

void spin(std::chrono::microseconds time) {
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
    }
}

using Send = std::function<base::Post(std::uint32_t)>;

/// Puts until the port, although polled, refuses for 50 ms. Returns the number of accepted puts.
std::uint32_t fill_up(Member& me, const Send& send) {
    std::uint32_t next = 0;
    auto refused_since = Clock::now();
    while (Clock::now() - refused_since < std::chrono::milliseconds(50) && next < kPutsMax) {
        if (send(next) == base::Post::posted) {
            ++next;
            refused_since = Clock::now();
            expect(me.port->in_flight() <= link::FabricOptions{}.puts_in_flight_per_peer,
                   "too many puts in flight to one peer");
        } else {
            me.drive();
        }
    }
    return next;
}

/// Body of rank 0. SharedState::test_word has the stage, 0 or 1, and at the end the number of puts.
void send_storm(Member& me, const Send& send, std::uint32_t more) {
    // Stage 0: the target does not poll. The port must refuse puts at some time.
    const std::uint32_t fitted = fill_up(me, send);
    expect(fitted < kPutsMax, "{} puts were accepted and none refused", fitted);
    // Stage 1: the target polls rarely. `more` puts follow.
    me.shared.test_word.store(1, std::memory_order_release);
    const std::uint32_t total = fitted + more;
    for (std::uint32_t next = fitted; next < total; ++next) {
        me.until([&] { return send(next) == base::Post::posted; }, "a put to be accepted");
    }
    me.shared.test_word.store(total, std::memory_order_release);
    me.until([&] { return me.port->in_flight() == 0; }, "local completions");
}

/// Body of rank 1: waits for stage 1, then for all puts. Calls check(number) for each one.
void receive_storm(Member& me, const std::function<void(std::uint32_t)>& check) {
    std::vector<bool> seen;
    std::uint32_t arrivals = 0;
    me.on_arrival = [&](std::uint32_t immediate) {
        if (immediate >= seen.size()) seen.resize(immediate + 1);
        expect(!seen[immediate], "{} arrived twice", immediate);
        seen[immediate] = true;
        ++arrivals;
        check(immediate);
    };
    const auto deadline = Clock::now() + kWaitLimit;
    while (me.shared.test_word.load(std::memory_order_acquire) == 0) {
        expect(Clock::now() < deadline, "the port of rank 0 has refused no put");
        ::sched_yield();
    }
    me.until(
        [&] {
            spin(std::chrono::microseconds(100));
            const std::uint32_t total = me.shared.test_word.load(std::memory_order_acquire);
            return total > 1 && arrivals == total;
        },
        "all puts");
    me.on_arrival = nullptr;
}

void storm(const std::string& provider, std::size_t bytes, const PortOpener& opener) {
    expect_job(provider, 2, [&](Member& me) {
        me.open(opener, {}, kMemoryBytes);
        me.warm_all();
        if (me.rank == 0) {
            std::uint32_t pending = 0;
            const base::PutPart source{me.memory.data(), bytes};
            const Send send = [&](std::uint32_t number) {
                return me.try_put({.peer = 1,
                                   .kind = base::PutKind::with_immediate,
                                   .parts = {&source, 1},
                                   .bytes = bytes,
                                   .target = 64,
                                   .immediate = number,
                                   .pending = &pending});
            };
            send_storm(me, send, 2000);
            expect(pending == 0, "pending is {}", pending);
        } else {
            receive_storm(me, [](std::uint32_t) {});
        }
        me.synchronize();
    });
}

class Storm : public ProviderTest {};

TEST_P(Storm, TinyPutsToASlowTargetAreRefusedInTimeAndAllArrive) {
    storm(GetParam(), 8, link::load_port);
}
TEST_P(Storm, UnsignaledTinyPutsAreRefusedInTimeAndAllArrive) {
    storm(GetParam(), 8, open_with(make_unsignaled));
}
TEST_P(Storm, LargePutsToASlowTargetAreRefusedInTimeAndAllArrive) {
    storm(GetParam(), kLargeBytes, link::load_port);
}

TEST_P(Storm, StagedSourcesMayBeOverwrittenWhileTheTargetIsIdle) {
    constexpr std::uint32_t kSlots = 2000;
    expect_job(GetParam(), 2, [](Member& me) {
        me.open(open_with(require_local_registration), {}, kSlots * kLargeBytes);
        me.warm_all();
        if (me.rank == 0) {
            std::vector<std::byte> source(kLargeBytes);
            const base::PutPart part{source.data(), source.size()};
            const Send send = [&](std::uint32_t number) {
                expect(number < kSlots, "too many puts were accepted");
                fill(source, number);
                const auto posted = me.try_put({.peer = 1,
                                                .kind = base::PutKind::with_immediate,
                                                .parts = {&part, 1},
                                                .bytes = part.bytes,
                                                .target = number * kLargeBytes,
                                                .immediate = number});
                fill(source, ~std::uint64_t{0});
                return posted;
            };
            send_storm(me, send, 100);
        } else {
            receive_storm(me, [&](std::uint32_t number) {
                expect(filled(me.memory.subspan(number * kLargeBytes, kLargeBytes), number),
                       "put {}: wrong data", number);
            });
        }
        me.synchronize();
    });
}

/// Rank 1 kills itself. The other ranks put to it for 300 ms, or until the port reports a failure;
/// both outcomes are allowed. The other ranks must then close their ports without delay.
void put_to_dead_peer(const std::string& provider, std::span<const std::size_t> sizes) {
    const auto body = [sizes](Member& me) {
        me.open(link::load_port, {}, kMemoryBytes);
        me.on_arrival = [](std::uint32_t) {};
        me.warm_all();
        if (me.rank == 1) ::kill(::getpid(), SIGKILL);
        std::uint32_t pending = 0;
        const auto end = Clock::now() + std::chrono::milliseconds(300);
        while (Clock::now() < end && me.port->failure() == nullptr) {
            for (const std::size_t bytes : sizes) {
                const base::PutPart source{me.memory.data(), bytes};
                static_cast<void>(me.try_put({.peer = 1,
                                              .kind = base::PutKind::with_immediate,
                                              .parts = {&source, 1},
                                              .bytes = bytes,
                                              .target = 64,
                                              .immediate = 7,
                                              .pending = &pending}));
            }
            me.drive();
        }
        if (const auto* failure = me.port->failure()) {
            expect(failure->text.find("rank 1") != std::string::npos ||
                       failure->text.find("connection") != std::string::npos,
                   "no peer in: {}", failure->text);
        }
        const auto start = Clock::now();
        me.port.reset();
        expect(Clock::now() - start < std::chrono::seconds(4), "closing took too long");
    };
    expect_job(provider, 3, body, 1);
}

TEST_P(Storm, TinyPutsToADeadPeerNeitherBlockNorCrash) {
    put_to_dead_peer(GetParam(), std::array{std::size_t{8}});
}
TEST_P(Storm, LargeAndTinyPutsToADeadPeerNeitherBlockNorCrash) {
    put_to_dead_peer(GetParam(), std::array{kLargeBytes, std::size_t{8}});
}

WEFT_FOR_EACH_PROVIDER(Storm);

}  // namespace
}  // namespace weft::test
