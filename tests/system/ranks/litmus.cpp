// SPDX-License-Identifier: BSD-3-Clause
// litmus.cpp - tests the order of one-sided calls, a pair of calls in each test.
//
// usage: weft_litmus [--rounds N] [--storm PUTS] [--distance N] [--stuck 1]
//
// Idea     In each test, a rank reads values that another rank has put, and compares them with the
//          values that must be visible then. Each rank is writer and reader: rank r writes to rank
//          r + distance and reads the values of rank r - distance. Rank 0 prints the number of
//          comparisons of each test. With --stuck, rank 0 waits for a value that no rank writes.
// Fails    If a value is wrong, the program prints it and exits with status 1. The program has no
//          deadline; litmus_test.cpp has one.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "tools/lab/program/json.hpp"

namespace {

using weft::Compare;
using weft::Rank;
using weft::SignalOp;
using weft::Team;

constexpr std::size_t kWords = 40'000;  ///< words of the data; a transfer carries fewer

/// Thrown for a wrong value.
struct Wrong {
    std::string text;
};

/// Symmetric memory of the tests. Each field has its own cache lines.
struct Area {
    alignas(64) std::uint64_t flag;
    alignas(64) std::uint64_t credit;  ///< last round whose data the next rank has read
    alignas(64) std::uint64_t counter;
    alignas(64) std::int32_t narrow;
    alignas(64) std::uint64_t lock;
    alignas(64) std::uint64_t guarded[2];  ///< changed by the holder of the lock
    alignas(64) std::uint64_t data[kWords];
    alignas(64) std::uint64_t second_data[kWords];
};

class Litmus {
  public:
    Litmus(weft::Runtime& runtime, int rounds, int storm, int distance)
        : world_(runtime.world()),
          area_(*new (runtime.allocate(sizeof(Area))) Area{}),
          rounds_(static_cast<std::uint64_t>(rounds)),
          storm_(static_cast<std::uint64_t>(storm)),
          next_((world_.rank() + distance) % world_.size()),
          previous_((world_.rank() + world_.size() - distance % world_.size()) % world_.size()),
          source_(kWords) {}

    void run() {
        test("message_passing", [&] { message_passing(); });
        test("fence_then_flag", [&] { fence_then_flag(); });
        test("quiet_then_flag", [&] { quiet_then_flag(); });
        test("put_signal", [&] { put_signal(); });
        test("signals_add_up", [&] { signals_add_up(); });
        test("get_after_put", [&] { get_after_put(); });
        test("get_before_flag", [&] { get_before_flag(); });
        test("counters", [&] { counters(); });
        test("lock", [&] { lock(); });
        test("fence_after_signal", [&] { fence_after_signal(); });
        test("nbi_storm", [&] { nbi_storm(); });
        test("words", [&] { words(); });
    }
    /// Waits for a value that no rank writes, so that the library reports the wait.
    void wait_forever() {
        area_.flag = 4;
        if (world_.rank() == 0) world_.wait_until(&area_.flag, Compare::ge, 5);
    }
    [[nodiscard]] const std::map<std::string, std::uint64_t>& checked() const { return checked_; }

  private:
    /// Runs a test with cleared memory, and counts its comparisons.
    template <class Body>
    void test(const std::string& name, Body body) {
        name_ = name;
        compared_ = 0;
        std::memset(static_cast<void*>(&area_), 0, sizeof area_);
        world_.barrier();
        body();
        world_.quiet();
        world_.barrier();
        checked_[name] = compared_;
    }

    void expect(std::uint64_t have, std::uint64_t want, std::string_view what,
                std::size_t index = 0) {
        ++compared_;
        if (have != want)
            throw Wrong{fmt::format("{}: rank {}: {} (index {}) is {:#x}, expected {:#x}", name_,
                                    world_.rank(), what, index, have, want)};
    }
    /// Returns the word that a rank puts in a round.
    [[nodiscard]] static std::uint64_t value(Rank rank, std::uint64_t round, std::size_t word) {
        return static_cast<std::uint64_t>(rank) << 48 | round << 24 | (word & 0xffffff);
    }
    void fill(std::uint64_t round, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) source_[i] = value(world_.rank(), round, i);
    }
    void expect_data(std::uint64_t round, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            expect(area_.data[i], value(previous_, round, i), "word", i);
    }
    /// Notifies the previous rank that its data of this round has been read.
    void send_credit(std::uint64_t round) {
        world_.put(&area_.credit, &round, sizeof round, previous_);
    }
    void await_credit(std::uint64_t round) { world_.wait_until(&area_.credit, Compare::ge, round); }
    /// Returns the number of words that a round transfers.
    [[nodiscard]] static std::size_t count_of(std::uint64_t round) {
        constexpr std::size_t kCounts[] = {1, 2, 3, 7, 64, 1000, kWords};
        return kCounts[round % 7];
    }

    /// Sends data and flag as one word.
    void message_passing() {
        for (std::uint64_t round = 1; round <= rounds_; ++round) {
            world_.put(&area_.flag, &round, sizeof round, next_);
            world_.wait_until(&area_.flag, Compare::ge, round);
            expect(area_.flag, round, "flag");
            send_credit(round);
            await_credit(round);
        }
    }

    /// Puts data and then a flag; order() must make the data visible before the flag.
    template <class Order>
    void data_then_flag(Order order) {
        for (std::uint64_t round = 1; round <= rounds_; ++round) {
            const std::size_t count = count_of(round);
            fill(round, count);
            world_.put_nbi(area_.data, source_.data(), count * sizeof(std::uint64_t), next_);
            order();
            world_.put(&area_.flag, &round, sizeof round, next_);
            world_.wait_until(&area_.flag, Compare::ge, round);
            expect_data(round, count);
            send_credit(round);
            await_credit(round);
            world_.quiet();
        }
    }
    void fence_then_flag() {
        data_then_flag([&] { world_.fence(); });
    }
    void quiet_then_flag() {
        data_then_flag([&] { world_.quiet(); });
    }

    /// Puts data with a signal.
    void put_signal() {
        for (std::uint64_t round = 1; round <= rounds_; ++round) {
            const std::size_t count = count_of(round);
            fill(round, count);
            world_.put_signal(area_.data, source_.data(), count * sizeof(std::uint64_t),
                              &area_.flag, round, SignalOp::set, next_);
            fill(round + 1, count);  // put_signal() has read the source
            world_.wait_until(&area_.flag, Compare::eq, round);
            expect_data(round, count);
            send_credit(round);
            await_credit(round);
        }
    }

    /// Adds to a signal: no addition is lost.
    void signals_add_up() {
        for (std::uint64_t round = 1; round <= rounds_; ++round)
            world_.put_signal_nbi(nullptr, nullptr, 0, &area_.flag, round, SignalOp::add, next_);
        const std::uint64_t sum = rounds_ * (rounds_ + 1) / 2;
        world_.wait_until(&area_.flag, Compare::ge, sum);
        expect(area_.flag, sum, "sum of signals");
    }

    /// A get after a quiet reads the data of an earlier put, by get() or by get_nbi().
    void get_after_put() {
        for (std::uint64_t round = 1; round <= rounds_; ++round) {
            const std::size_t count = count_of(round);
            fill(round, count);
            std::vector<std::uint64_t> back(count);
            world_.put(area_.data, source_.data(), count * sizeof(std::uint64_t), next_);
            world_.quiet();
            if (round % 2 == 0) {
                world_.get(back.data(), area_.data, count * sizeof(std::uint64_t), next_);
            } else {  // by get_nbi() to symmetric memory
                world_.get_nbi(area_.second_data, area_.data, count * sizeof(std::uint64_t), next_);
                world_.quiet();
                std::memcpy(back.data(), area_.second_data, count * sizeof(std::uint64_t));
            }
            for (std::size_t i = 0; i < count; ++i)
                expect(back[i], value(world_.rank(), round, i), "got word", i);
        }
    }

    /// A blocking get has read its data before a later flag is visible, after which the owner of
    /// the data may overwrite it.
    void get_before_flag() {
        std::vector<std::uint64_t> got(kWords);
        for (std::uint64_t round = 1; round <= rounds_; ++round) {
            const std::size_t count = count_of(round);
            for (std::size_t i = 0; i < count; ++i)
                area_.second_data[i] = value(world_.rank(), round, i);
            world_.fence();
            world_.put(&area_.counter, &round, sizeof round, previous_);
            world_.wait_until(&area_.counter, Compare::ge, round);
            world_.get(got.data(), area_.second_data, count * sizeof(std::uint64_t), next_);
            world_.put(&area_.flag, &round, sizeof round, next_);
            world_.wait_until(&area_.flag, Compare::ge, round);
            for (std::size_t i = 0; i < count; ++i)
                expect(got[i], value(next_, round, i), "got word", i);
        }
    }

    /// All ranks add to a counter on each rank: the sums are right, and old values increase.
    void counters() {
        const auto size = static_cast<std::uint64_t>(world_.size());
        std::uint64_t last = 0;
        for (std::uint64_t round = 1; round <= rounds_; ++round) {
            for (Rank peer = 0; peer < world_.size(); ++peer) {
                const std::uint64_t old = world_.fetch_add(&area_.counter, 1, peer);
                if (peer != 0) continue;
                if (round > 1 && old <= last)
                    expect(old, last + 1, "an old value that must increase");
                last = old;
            }
            const std::int32_t narrow = world_.fetch_add(&area_.narrow, -3, next_);
            expect(static_cast<std::uint64_t>(narrow % 3), 0, "a multiple of three");
        }
        world_.barrier();
        expect(area_.counter, rounds_ * size, "counter");
        expect(static_cast<std::uint64_t>(area_.narrow),
               static_cast<std::uint64_t>(-3 * static_cast<std::int64_t>(rounds_)),
               "narrow counter");
    }

    /// A lock by compare_swap and swap on rank 0 protects two of its words, which must stay equal.
    void lock() {
        const auto me = static_cast<std::uint64_t>(world_.rank()) + 1;
        const std::uint64_t acquisitions = rounds_ / 4 + 1;
        for (std::uint64_t i = 0; i < acquisitions; ++i) {
            while (world_.compare_swap(&area_.lock, 0, me, 0) != 0) continue;
            std::uint64_t both[2];
            world_.get(both, area_.guarded, sizeof both, 0);
            expect(both[1], both[0], "second guarded word");
            ++both[0];
            ++both[1];
            world_.put(&area_.guarded[0], &both[0], sizeof both[0], 0);
            world_.put(&area_.guarded[1], &both[1], sizeof both[1], 0);
            world_.quiet();
            expect(world_.swap(&area_.lock, 0, 0), me, "holder of the lock");
        }
        world_.barrier();
        if (world_.rank() == 0)
            expect(area_.guarded[0], acquisitions * static_cast<std::uint64_t>(world_.size()),
                   "guarded word");
    }

    /// Data put after a fence must not be visible before a signal that was sent before the fence.
    void fence_after_signal() {
        for (std::uint64_t round = 1; round <= rounds_; ++round) {
            world_.put_signal(nullptr, nullptr, 0, &area_.flag, round, SignalOp::set, next_);
            world_.fence();
            fill(round, 3);
            world_.put(area_.data, source_.data(), 3 * sizeof(std::uint64_t), next_);
            world_.fence();
            world_.put(&area_.counter, &round, sizeof round, next_);
            world_.wait_until(&area_.counter, Compare::ge, round);
            expect(area_.flag, round, "signal before the fence");
            expect_data(round, 3);
            send_credit(round);
            await_credit(round);
        }
    }

    /// Many small puts of different sizes to different addresses are in flight before one quiet.
    void nbi_storm() {
        fill(1, kWords);
        std::size_t at = 0;
        bool wrapped = false;
        for (std::uint64_t i = 0; i < storm_; ++i) {
            const std::size_t count = std::min<std::size_t>(1 + i % 5, kWords - at);
            world_.put_nbi(area_.data + at, source_.data() + at, count * sizeof(std::uint64_t),
                           next_);
            at += count;
            wrapped = wrapped || at == kWords;
            at %= kWords;
        }
        world_.quiet();
        world_.barrier();
        expect_data(1, wrapped ? kWords : at);
    }

    /// A reader never sees half of a new word, whose halves are equal.
    void words() {
        for (std::uint64_t round = 1; round <= rounds_; ++round) {
            const std::uint64_t both = round << 32 | round;
            world_.put_nbi(&area_.flag, &both, sizeof both, next_);
            world_.put_nbi(area_.second_data, source_.data(), 3 + round % 61,
                           next_);  // of odd sizes
            if (world_.test_until(&area_.flag, Compare::ne, 0))
                expect(area_.flag >> 32, area_.flag & 0xffffffff, "upper half of the word");
            if (round % 16 == 0) world_.quiet();
        }
        world_.quiet();
        world_.wait_until(&area_.flag, Compare::eq, rounds_ << 32 | rounds_);
        expect(area_.flag, rounds_ << 32 | rounds_, "last word");
    }

    Team world_;
    Area& area_;
    std::uint64_t rounds_;
    std::uint64_t storm_;
    Rank next_;
    Rank previous_;
    std::vector<std::uint64_t> source_;
    std::string name_;
    std::uint64_t compared_ = 0;
    std::map<std::string, std::uint64_t> checked_;
};

int option(int argc, char** argv, std::string_view name, int fallback) {
    for (int i = 1; i + 1 < argc; ++i) {
        if (argv[i] == name) return std::atoi(argv[i + 1]);
    }
    return fallback;
}

}  // namespace

int main(int argc, char** argv) {
    weft::Runtime runtime;
    try {
        Litmus litmus(runtime, option(argc, argv, "--rounds", 50),
                      option(argc, argv, "--storm", 2000), option(argc, argv, "--distance", 1));
        if (option(argc, argv, "--stuck", 0) != 0) litmus.wait_forever();
        litmus.run();
        if (runtime.world().rank() == 0) {
            const weft::lab::Json report{{"ranks", runtime.world().size()},
                                         {"nodes", runtime.nodes()},
                                         {"provider", runtime.provider()},
                                         {"checked", litmus.checked()}};
            weft::lab::print_json(report);
        }
    } catch (const Wrong& wrong) {
        fmt::print(stderr, "litmus: {}\n", wrong.text);
        std::_Exit(1);
    } catch (const weft::Error& error) {
        fmt::print(stderr, "litmus: rank {}: {}\n", runtime.world().rank(), error.what());
        std::_Exit(3);
    }
    runtime.finalize();
}
