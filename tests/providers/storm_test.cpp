// SPDX-License-Identifier: BSD-3-Clause
// Goal: nothing is lost, and nothing grows without bound, when a target polls rarely or dies.
// Method: forked ranks on this host; one sends as fast as it can, the other is slow, or kills
// itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "tests/providers/fabric_job.hpp"

namespace weft::tests {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMemoryBytes = std::size_t{4} << 20;
constexpr std::size_t kLargeBytes = std::size_t{32} << 10;
constexpr std::uint32_t kTinyLimit = 2'000'000;

void burn(std::chrono::microseconds time) {
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
    }
}

/// Posts until the port has said `again` for a while although it was driven; returns how many fit.
std::uint32_t fill_up(Member& me, std::uint32_t first, std::size_t bytes, std::uint32_t& pending) {
    std::uint32_t next = first;
    auto refused_since = Clock::now();
    while (Clock::now() - refused_since < std::chrono::milliseconds(50) && next < kTinyLimit) {
        const auto posted = me.port->try_put(1, me.memory.data(), bytes, 64, next, &pending);
        if (posted == base::Post::posted) {
            ++next;
            refused_since = Clock::now();
        } else {
            me.drive();
        }
    }
    return next;
}

void send_storm(Member& me, std::size_t bytes) {
    std::uint32_t pending = 0;
    // Stage 0: the target does not poll at all. The port must refuse sooner or later.
    const std::uint32_t fitted = fill_up(me, 0, bytes, pending);
    expect(fitted < kTinyLimit, [&] { return fmt::format("{} puts were accepted", fitted); });
    // Stage 1: it polls rarely.
    me.meeting.stage.store(1, std::memory_order_release);
    const std::uint32_t total = fitted + 2000;
    for (std::uint32_t next = fitted; next < total; ++next) {
        me.put(1, me.memory.first(bytes), 64, next, pending);
    }
    me.meeting.stage.store(total, std::memory_order_release);
    me.until([&] { return pending == 0 && me.port->in_flight() == 0; }, "local completions");
}

void take_storm(Member& me) {
    std::vector<bool> seen;
    std::uint32_t arrivals = 0;
    me.on_arrival = [&](std::uint32_t immediate) {
        if (immediate >= seen.size()) seen.resize(immediate + 1);
        expect(!seen[immediate], [&] { return fmt::format("{} arrived twice", immediate); });
        seen[immediate] = true;
        ++arrivals;
    };
    const auto deadline = Clock::now() + kWaitLimit;
    while (me.meeting.stage.load(std::memory_order_acquire) == 0) {
        expect(Clock::now() < deadline, [] { return std::string("the storm did not stall"); });
        ::sched_yield();
    }
    me.until(
        [&] {
            burn(std::chrono::microseconds(100));
            const std::uint32_t total = me.meeting.stage.load(std::memory_order_acquire);
            return total > 1 && arrivals == total;
        },
        "all of the storm");
}

void storm(std::size_t bytes) {
    const std::string problems = run_job(2, [bytes](Member& me) {
        me.open(link::load_port, {}, kMemoryBytes);
        me.warm_all();
        if (me.rank == 0) {
            send_storm(me, bytes);
        } else {
            take_storm(me);
        }
        me.meet();
    });
    EXPECT_EQ(problems, "");
}

TEST(Storm, TinyPutsToATargetThatRarelyPollsAreRefusedInTimeAndAllArrive) {
    storm(8);
}
TEST(Storm, LargePutsToATargetThatRarelyPollsAreRefusedInTimeAndAllArrive) {
    storm(kLargeBytes);
}

TEST(Storm, ADeadPeerNeitherBlocksNorCrashesAndClosingEnds) {
    const std::string problems = run_job(
        3,
        [](Member& me) {
            me.open(link::load_port, {}, kMemoryBytes);
            me.on_arrival = [](std::uint32_t) {};
            me.warm_all();
            if (me.rank == 1) ::kill(::getpid(), SIGKILL);
            // Put at the dead one until the failure is said, or for a while: both are allowed.
            std::uint32_t pending = 0;
            const auto end = Clock::now() + std::chrono::milliseconds(300);
            while (Clock::now() < end && me.port->failure() == nullptr) {
                static_cast<void>(
                    me.port->try_put(1, me.memory.data(), kLargeBytes, 64, 7, &pending));
                static_cast<void>(me.port->try_put(1, me.memory.data(), 8, 64, 7, &pending));
                me.drive();
            }
            if (const auto* failure = me.port->failure()) {
                expect(failure->text.find("rank 1") != std::string::npos ||
                           failure->text.find("connection") != std::string::npos,
                       [&] { return "no peer in: " + failure->text; });
            }
            const auto start = Clock::now();
            me.port.reset();
            expect(Clock::now() - start < std::chrono::seconds(4),
                   [] { return std::string("closing took too long"); });
        },
        1);
    EXPECT_EQ(problems, "");
}

}  // namespace
}  // namespace weft::tests
