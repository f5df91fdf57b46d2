// SPDX-License-Identifier: BSD-3-Clause
// Goal: a long wait sleeps between polls, but not while peers use the rank. Served requests,
// arrivals and completions end the sleep, even if the awaited event has not happened.
// Method: a port returns the events that the test sets.
#include <gtest/gtest.h>

#include "link/wire/wire.hpp"

namespace weft::link {
namespace {

/// Number of failed polls, more than the number after which a rank with a CPU quota sleeps.
constexpr unsigned kLong = 1000;

/// A port whose events the test sets.
class ScriptedPort final : public FabricPort {
  public:
    struct Events {
        std::size_t immediates = 0;  ///< number at the next poll; each is a write of rank 1
        std::size_t in_flight = 0;   ///< number of puts
    };
    explicit ScriptedPort(Events& events) : events_(events) {
        facts_.notify = {Notify::ordered, Notify::ordered};
    }

    [[nodiscard]] const FabricFacts& facts() const override { return facts_; }
    [[nodiscard]] std::span<const std::byte> address() const override { return {}; }
    void set_peer(Rank, std::span<const std::byte>) override {}
    [[nodiscard]] bool warm(Rank) noexcept override { return true; }
    [[nodiscard]] base::Result<base::RemoteRegion> expose(std::span<std::byte>) override {
        return base::RemoteRegion{};
    }
    void unexpose(const base::RemoteRegion&) noexcept override {}
    [[nodiscard]] base::Post try_put(const base::Put&) noexcept override {
        return base::Post::posted;
    }
    [[nodiscard]] base::Post try_read(const base::Read&) noexcept override {
        return base::Post::posted;
    }
    [[nodiscard]] std::size_t poll(std::span<std::uint64_t> immediates) noexcept override {
        const std::size_t count = std::exchange(events_.immediates, 0);
        constexpr std::uint64_t kWriteOfRank1 =  // the first batch of rank 1
            WriteCounts::kBatches << kArrivalBits | static_cast<std::uint64_t>(Arrival::write);
        for (std::size_t i = 0; i < count; ++i) immediates[i] = kWriteOfRank1;
        return count;
    }
    void lose(Rank) noexcept override {}
    void cancel() noexcept override {}
    [[nodiscard]] std::size_t in_flight() const noexcept override { return events_.in_flight; }
    [[nodiscard]] const base::Failure* failure() const noexcept override { return nullptr; }

  private:
    Events& events_;
    FabricFacts facts_;
};

class SleepTest : public testing::Test {
  protected:
    /// Polls without success, as a wait does, until it may sleep.
    void wait_long() {
        for (unsigned i = 0; i < kLong && !wire_.waiter().sleeps_after(kLong); ++i) {
            wire_.progress();
            wire_.relax(1);
        }
    }

    ScriptedPort::Events events_;
    std::vector<std::byte> segment_ = std::vector<std::byte>(4096);
    Wire wire_{{segment_.data(), nullptr},
               std::make_unique<ScriptedPort>(events_),
               WireOptions{.limited_time = true}};
};

TEST_F(SleepTest, AnIdleWaitSleeps) {
    EXPECT_FALSE(wire_.waiter().sleeps_after(kLong)) << "before the wait";
    wait_long();
    EXPECT_TRUE(wire_.waiter().sleeps_after(kLong));
    EXPECT_FALSE(wire_.waiter().sleeps_after(1)) << "in another wait, which has just begun";
}

TEST_F(SleepTest, AnArrivalEndsTheSleep) {
    wait_long();
    events_.immediates = 1;
    wire_.progress();
    EXPECT_FALSE(wire_.waiter().sleeps_after(kLong));
}

TEST_F(SleepTest, ACompletionEndsTheSleep) {
    wait_long();
    events_.in_flight = 3;
    wire_.progress();
    EXPECT_FALSE(wire_.waiter().sleeps_after(kLong));
    wait_long();
    events_.in_flight = 2;
    wire_.progress();
    EXPECT_FALSE(wire_.waiter().sleeps_after(kLong));
}

TEST_F(SleepTest, OnlyAServedRequestEndsTheSleep) {
    bool serves = false;
    wire_.set_service([](void* flag) { return *static_cast<bool*>(flag); },
                      [](void*, std::uint64_t) {}, &serves);
    wait_long();
    const std::uint64_t before = wire_.waiter().activity_count();
    wire_.progress();
    EXPECT_TRUE(wire_.waiter().sleeps_after(kLong));
    EXPECT_EQ(wire_.waiter().activity_count(), before);
    serves = true;
    wire_.progress();
    EXPECT_FALSE(wire_.waiter().sleeps_after(kLong));
    EXPECT_EQ(wire_.waiter().activity_count(), before + 1);
}

}  // namespace
}  // namespace weft::link
