// SPDX-License-Identifier: BSD-3-Clause
// Goal: each available provider keeps the promises of fabric.hpp. WEFT_PROVIDER selects one
// provider.
// Method: forked ranks on this host put to each other and check all bytes of a put when its
// immediate arrives.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "tests/system/providers/provider_test.hpp"

namespace weft::test {
namespace {

constexpr std::uint32_t kAnswer = 0x8000'0000;  ///< bit of immediates that answer a put

// --- Sizes, offsets and memory of sources -------------------------------------------------------

struct SizedPut {
    std::size_t bytes;
    std::size_t offset;
    std::size_t source_offset;
    bool in_memory;  ///< the source is in registered memory
};

constexpr std::size_t kAreaBytes = (std::size_t{1} << 20) + 64;

std::vector<SizedPut> sized_puts(std::size_t bytes_max) {
    std::vector<SizedPut> puts;
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{48}, std::size_t{64},
          std::size_t{65}, std::size_t{4096}, (std::size_t{1} << 20) + 3}) {
        for (const std::size_t offset : {std::size_t{0}, std::size_t{13}}) {
            for (const std::size_t source_offset : {std::size_t{0}, std::size_t{5}}) {
                for (const bool in_memory : {true, false}) {
                    puts.push_back({std::min(bytes, bytes_max), offset, source_offset, in_memory});
                }
            }
        }
    }
    return puts;
}

/// Both ranks make all puts of sized_puts(), each after the answer to the previous put.
void exchange_sizes(Member& me) {
    const auto puts = sized_puts(me.port->facts().message_bytes_max);
    const Rank peer = 1 - me.rank;
    const auto target = me.memory.first(kAreaBytes);
    const auto inside = me.memory.subspan(kAreaBytes, kAreaBytes);
    std::vector<std::byte> outside(kAreaBytes);
    std::vector<std::uint32_t> to_answer;
    std::uint32_t expected = 0;
    std::uint32_t answered = 0;
    me.on_arrival = [&](std::uint32_t immediate) {
        if ((immediate & kAnswer) != 0) {
            expect(immediate == (kAnswer | answered), "answer {:#x}, expected {}", immediate,
                   answered);
            ++answered;
            return;
        }
        expect(immediate == expected, "immediate {}, expected {}", immediate, expected);
        const SizedPut& put = puts[immediate];
        const std::uint64_t which = immediate * 2U + static_cast<unsigned>(peer);
        expect(filled(target.subspan(put.offset, put.bytes), which),
               "put {} of {} bytes: wrong data", immediate, put.bytes);
        const auto after = target.subspan(put.offset + put.bytes);
        expect(
            std::all_of(after.begin(), after.end(), [](std::byte b) { return b == std::byte{0}; }),
            "put {} wrote after its end", immediate);
        std::fill(target.begin(), target.end(), std::byte{0});
        ++expected;
        to_answer.push_back(kAnswer | immediate);
    };
    const auto answer_all = [&] {
        while (!to_answer.empty() &&
               me.try_put({.peer = peer,
                           .kind = base::PutKind::with_immediate,
                           .immediate = to_answer.front()}) == base::Post::posted) {
            to_answer.erase(to_answer.begin());
        }
    };
    for (std::uint32_t index = 0; index < puts.size(); ++index) {
        const SizedPut& put = puts[index];
        const auto area = put.in_memory ? inside : std::span<std::byte>(outside);
        const auto source = area.subspan(put.source_offset, put.bytes);
        fill(source, index * 2U + static_cast<unsigned>(me.rank));
        std::uint32_t pending = 0;
        me.put(peer, source, put.offset, index, pending);
        expect(pending <= 1, "pending is {}", pending);
        me.until([&] { return answer_all(), pending == 0; }, "local completion");
        std::fill(source.begin(), source.end(), std::byte{0xAA});  // reusable now
        me.until([&] { return answer_all(), answered == index + 1; }, "the answer to a put");
    }
    me.until([&] { return answer_all(), to_answer.empty() && expected == puts.size(); },
             "all puts and answers");
    me.until([&] { return me.port->in_flight() == 0; }, "nothing in flight");
    me.on_arrival = nullptr;
    me.synchronize();
}

// --- Random puts in all directions ---------------------------------------------------------------

constexpr std::uint32_t kSlots = 32;
constexpr std::size_t kSlotBytes = 8192;

/// Each rank makes `count` puts of random size into slots of random peers. A slot is reused after
/// its owner has checked it and answered by an empty put. If the port supports it, every second put
/// has a flag and several sources.
class RandomTraffic {
  public:
    RandomTraffic(Member& me, std::uint32_t count, std::uint64_t seed)
        : me_(me), remaining_(count), random_(seed + static_cast<std::uint64_t>(me.rank)) {
        me_.on_arrival = [this](std::uint32_t immediate) { arrived(immediate); };
    }

    void run() {
        const std::uint64_t total = std::uint64_t{remaining_} * static_cast<unsigned>(me_.size);
        me_.until(
            [&] {
                step();
                return remaining_ == 0 && answers_.empty() && busy_ == 0 &&
                       me_.shared.test_word.load(std::memory_order_acquire) == total;
            },
            "all random puts");
        me_.until([&] { return me_.port->in_flight() == 0; }, "nothing in flight");
        for (const auto& pending : pending_) {
            expect(pending == 0, "pending is {} at the end", pending);
        }
        me_.on_arrival = nullptr;
        me_.synchronize();
    }

  private:
    struct Answer {
        Rank peer;
        std::uint32_t immediate;
    };
    /// Returns an immediate. Its fields from the high end: answer bit, sender, bytes, slot.
    static std::uint32_t encode(Rank sender, std::uint32_t bytes, std::uint32_t slot) {
        return (static_cast<std::uint32_t>(sender) << 24) | (bytes << 8) | slot;
    }
    [[nodiscard]] std::size_t area(Rank sender, std::uint32_t slot) const {
        return (static_cast<std::size_t>(sender) * kSlots + slot) * kSlotBytes;
    }
    [[nodiscard]] std::size_t flag_offset(Rank sender, std::uint32_t slot) const {
        return area(kRanksMax, 0) + index(sender, slot) * sizeof(std::uint64_t);
    }
    static std::uint64_t flag_of(std::uint64_t which) { return ~which; }
    [[nodiscard]] bool is_flagged(std::size_t bytes, std::uint32_t slot, std::uint32_t use) const {
        return bytes != 0 && me_.port->facts().flagged_parts_max != 0 && (slot + use) % 2 == 1;
    }
    /// Divides the source into parts, some of them empty. A source that the port does not copy gets
    /// at most facts().flagged_parts_max parts.
    std::span<const base::PutPart> cut(std::span<const std::byte> source,
                                       std::span<base::PutPart> parts) {
        if (source.size() > me_.port->facts().copied_bytes)
            parts = parts.first(std::min(parts.size(), me_.port->facts().flagged_parts_max));
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
            const std::size_t bytes = random_() % (source.size() + 1);
            parts[i] = {source.data(), bytes};
            source = source.subspan(bytes);
        }
        parts.back() = {source.data(), source.size()};
        return parts;
    }
    static std::uint64_t which(Rank sender, Rank target, std::uint32_t slot, std::uint32_t use) {
        return ((std::uint64_t{use} * kSlots + slot) * kRanksMax + static_cast<unsigned>(sender)) *
                   kRanksMax +
               static_cast<unsigned>(target);
    }

    void arrived(std::uint32_t immediate) {
        const Rank sender = static_cast<Rank>((immediate & ~kAnswer) >> 24);
        const std::uint32_t slot = immediate & 0xFF;
        if ((immediate & kAnswer) != 0) {
            expect(used_[index(sender, slot)], "answer without a put");
            used_[index(sender, slot)] = false;
            --busy_;
            return;
        }
        const std::size_t bytes = (immediate >> 8) & 0xFFFF;
        const std::uint32_t use = received_[index(sender, slot)]++;
        const auto data = me_.memory.subspan(area(sender, slot), bytes);
        expect(filled(data, which(sender, me_.rank, slot, use)),
               "{} bytes from rank {}: wrong data, use {}", bytes, sender, use);
        if (is_flagged(bytes, slot, use)) {
            std::uint64_t flag = 0;
            std::memcpy(&flag, me_.memory.data() + flag_offset(sender, slot), sizeof flag);
            expect(flag == flag_of(which(sender, me_.rank, slot, use)),
                   "{} bytes from rank {}: no flag, use {}", bytes, sender, use);
        }
        answers_.push_back({sender, kAnswer | encode(me_.rank, 0, slot)});
        me_.shared.test_word.fetch_add(1, std::memory_order_acq_rel);
    }

    void step() {
        while (!answers_.empty()) {
            const Answer& answer = answers_.back();
            if (me_.try_put({.peer = answer.peer,
                             .kind = base::PutKind::with_immediate,
                             .immediate = answer.immediate}) != base::Post::posted) {
                break;
            }
            answers_.pop_back();
        }
        for (int burst = 0; burst < 4 && remaining_ > 0; ++burst) send_one();
    }

    void send_one() {
        const auto offset = static_cast<Rank>(random_() % static_cast<unsigned>(me_.size - 1));
        const Rank peer = (me_.rank + 1 + offset) % me_.size;
        const auto slot = static_cast<std::uint32_t>(random_() % kSlots);
        const std::size_t at = index(peer, slot);
        if (used_[at] || pending_[at] != 0) return;
        const std::uint32_t bytes = random_bytes();
        auto& source = sources_[at];
        source.resize(bytes);
        fill(source, which(me_.rank, peer, slot, sent_[at]));
        const base::PutPart whole{source.data(), bytes};
        base::Put put{.peer = peer,
                      .kind = base::PutKind::with_immediate,
                      .parts = {&whole, 1},
                      .bytes = bytes,
                      .target = area(me_.rank, slot),
                      .immediate = encode(me_.rank, bytes, slot),
                      .pending = &pending_[at]};
        std::array<base::PutPart, 8> parts;
        const bool flagged = is_flagged(bytes, slot, sent_[at]);
        if (flagged) {
            put.cell = flag_offset(me_.rank, slot) - base::kCellDelivered;
            put.flag = flag_of(which(me_.rank, peer, slot, sent_[at]));
            put.parts = cut(source, parts);
        }
        const auto posted = me_.try_put(put);
        expect(me_.port->in_flight() <= 16, "too many puts in flight");
        if (posted != base::Post::posted) return;
        if (flagged && bytes <= me_.port->facts().copied_bytes) {
            expect(pending_[at] == 0, "a put of {} bytes was not copied", bytes);
            std::fill(source.begin(), source.end(), std::byte{0xAA});  // reusable now
        }
        ++sent_[at];
        used_[at] = true;
        ++busy_;
        --remaining_;
    }

    std::uint32_t random_bytes() {
        const auto kind = random_() % 4;
        if (kind == 0) return static_cast<std::uint32_t>(random_() % 8);
        if (kind == 1) return static_cast<std::uint32_t>(random_() % 130);
        return static_cast<std::uint32_t>(random_() % kSlotBytes);
    }
    static std::size_t index(Rank peer, std::uint32_t slot) {
        return static_cast<std::size_t>(peer) * kSlots + slot;
    }

    Member& me_;
    std::uint32_t remaining_;
    std::mt19937_64 random_;
    std::vector<Answer> answers_;
    std::array<std::vector<std::byte>, kRanksMax * kSlots> sources_;
    std::array<std::uint32_t, kRanksMax * kSlots> pending_{};
    std::array<std::uint32_t, kRanksMax * kSlots> sent_{};
    std::array<std::uint32_t, kRanksMax * kSlots> received_{};
    std::array<bool, kRanksMax * kSlots> used_{};
    std::uint32_t busy_ = 0;
};

const link::FabricOptions kTight{
    .provider = {}, .puts_in_flight = 16, .puts_in_flight_per_peer = 8};
constexpr std::size_t kMemoryBytes = std::size_t{4} << 20;

class Conformance : public ProviderTest {};

TEST_P(Conformance, ImmediatesFollowTheirDataAndRandomTrafficCompletes) {
    expect_job(GetParam(), 2, [](Member& me) {
        me.open(link::load_port, kTight, kMemoryBytes);
        exchange_sizes(me);
        RandomTraffic(me, 10000, 1).run();
    });
}

TEST_P(Conformance, FourRanksMayPutToEachOtherConcurrently) {
    expect_job(GetParam(), 4, [](Member& me) {
        me.open(link::load_port, kTight, kMemoryBytes);
        me.warm_all();
        RandomTraffic(me, 2500, 2).run();
    });
}

TEST_P(Conformance, UnsignaledSmallPutsAllArrive) {
    expect_job(GetParam(), 2, [](Member& me) {
        me.open(open_with(make_unsignaled), kTight, kMemoryBytes);
        exchange_sizes(me);
        RandomTraffic(me, 3000, 4).run();
    });
}

TEST_P(Conformance, StagedSourcesArriveComplete) {
    expect_job(GetParam(), 2, [](Member& me) {
        me.open(open_with(require_local_registration), kTight, kMemoryBytes);
        exchange_sizes(me);
        RandomTraffic(me, 3000, 3).run();
    });
}

// --- Flags without immediates ------------------------------------------------------------------

constexpr std::uint32_t kRing = 16;
constexpr std::size_t kRingBytes = 96 << 10;
constexpr std::size_t kFlagAt = kRing * kRingBytes;
constexpr std::uint32_t kFlags = 1500;

std::size_t ring_bytes(std::uint32_t number) {
    std::mt19937_64 random(number);
    return 1 + random() % (number % 4 == 0 ? kRingBytes : number % 4 == 1 ? 6000 : 90);
}

/// Puts pairs of data and flag. At most kRing pairs are not read yet. If `data_kind` is
/// `delivered`, waits for the delivery of the data before it puts the flag.
void put_flags(Member& me, link::PutKind data_kind, link::PutKind flag_kind) {
    std::vector<std::byte> source(kRing * kRingBytes);
    std::array<std::uint64_t, kRing> flags{};
    std::array<std::uint32_t, kRing> pending{};
    for (std::uint32_t number = 0; number < kFlags; ++number) {
        const std::uint32_t at = number % kRing;
        me.until(
            [&] {
                return number - me.shared.test_word.load(std::memory_order_acquire) < kRing &&
                       pending[at] == 0;
            },
            "the reader");
        const auto data = std::span(source).subspan(at * kRingBytes, ring_bytes(number));
        fill(data, number);
        flags[at] = number + 1;
        const auto put = [&](std::span<const std::byte> bytes, std::uint64_t target,
                             link::PutKind kind) {
            const base::PutPart part{bytes.data(), bytes.size()};
            me.until(
                [&] {
                    return me.try_put({.peer = 1,
                                       .kind = kind,
                                       .parts = {&part, 1},
                                       .bytes = part.bytes,
                                       .target = target,
                                       .pending = &pending[at]}) == base::Post::posted;
                },
                "a put to be accepted");
        };
        put(data, at * kRingBytes, data_kind);
        if (data_kind == link::PutKind::delivered)
            me.until([&] { return pending[at] == 0; }, "delivery");
        put(std::as_bytes(std::span(&flags[at], 1)), kFlagAt, flag_kind);
    }
    me.until([&] { return me.port->in_flight() == 0; }, "local completions");
    me.synchronize();
}

void read_flags(Member& me) {
    const std::atomic_ref<std::uint64_t> flag(
        *reinterpret_cast<std::uint64_t*>(me.memory.data() + kFlagAt));
    std::uint32_t seen = 0;
    me.until(
        [&] {
            for (const std::uint64_t now = flag.load(std::memory_order_acquire); seen < now;
                 ++seen) {
                const auto data = me.memory.subspan(seen % kRing * kRingBytes, ring_bytes(seen));
                expect(filled(data, seen), "flag {} came before its {} bytes", seen, data.size());
                me.shared.test_word.store(seen + 1, std::memory_order_release);
            }
            return seen == kFlags;
        },
        "all flags");
    me.synchronize();
}

/// Runs a writer and a reader with one notify strategy, if the provider promises it.
class Flags : public ProviderTest {
  protected:
    void run(link::Notify notify, const link::Promise& promise, link::PutKind data_kind,
             link::PutKind flag_kind) {
        if (!promise.holds) GTEST_SKIP() << "not promised, because " << promise.why;
        expect_job(GetParam(), 2, [&](Member& me) {
            link::FabricOptions options;
            options.notify = notify;
            me.open(link::load_port, options, kMemoryBytes);
            if (me.rank == 0) {
                put_flags(me, data_kind, flag_kind);
            } else {
                read_flags(me);
            }
        });
    }
};

TEST_P(Flags, FlagsPutAfterDeliveryFollowTheirData) {
    run(link::Notify::delivery, profile().delivery, link::PutKind::delivered, link::PutKind::plain);
}
TEST_P(Flags, FencedFlagsFollowTheirData) {
    run(link::Notify::fence, profile().fence, link::PutKind::plain, link::PutKind::fenced);
}
TEST_P(Flags, OrderedFlagsFollowTheirData) {
    run(link::Notify::ordered, profile().ordered, link::PutKind::plain, link::PutKind::plain);
}

WEFT_FOR_EACH_PROVIDER(Conformance);
WEFT_FOR_EACH_PROVIDER(Flags);

/// Prints the number of puts of each kind at the end.
class Tally : public testing::Environment {
  public:
    void TearDown() override { fmt::print("puts by provider and kind\n{}", puts_made()); }
};
[[maybe_unused]] testing::Environment* const kTally =
    testing::AddGlobalTestEnvironment(new Tally);  // owned by the test framework

}  // namespace
}  // namespace weft::test
