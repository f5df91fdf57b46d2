// SPDX-License-Identifier: BSD-3-Clause
// Goal: each provider behaves as its profile declares. The tests print the behavior, for authors of
// profiles.
// Method: two forked ranks use libfabric directly. Their memory is one shared mapping, so the
// origin can read the target's memory at the moment of a completion. Where the profile promises
// nothing, violations are only counted.
#include <gtest/gtest.h>
#include <rdma/fi_endpoint.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "tests/support/shared_object.hpp"
#include "tests/system/providers/provider_test.hpp"
#include "tests/system/providers/raw_endpoint.hpp"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kBytes = std::size_t{4} << 20;
constexpr std::size_t kHalfBytes = kBytes / 2;  ///< the upper half is for warm_up() and cells
constexpr std::uint64_t kWarm = 12345;          ///< pattern of the writes of warm_up()

/// Memory that both ranks and the parent share.
struct Shared {
    std::atomic<std::uint32_t> arrived[2];  ///< calls of synchronize() by each rank
    std::atomic<std::uint64_t> word[2];     ///< progress of the origin and of the target
    RawEndpoint::Address address[2];
    alignas(4096) std::byte memory[2][kBytes];
};

/// One of the two ranks, rank 0 (the origin) or rank 1 (the target), with its endpoint.
class Side {
  public:
    Side(Member& me, Shared& shared, const link::Profile& profile)
        : rank(me.rank),
          own(shared.memory[rank]),
          theirs(shared.memory[1 - rank]),
          words(shared.word),
          shared_(shared),
          endpoint(local_options(std::string(profile.provider)), profile, {own, kBytes}) {
        shared_.address[rank] = endpoint.address();
        synchronize();
        endpoint.connect(shared_.address[1 - rank]);
        warm_up();
    }
    /// Connects both sides by a small and a large write, which may use different paths. Waits for
    /// their data, which would otherwise overwrite sources of the test.
    void warm_up() {
        fill({own, kHalfBytes}, kWarm);
        for (const std::size_t bytes : {std::size_t{8}, kHalfBytes}) {
            endpoint.write({.bytes = bytes, .to = kHalfBytes});
            const auto written = std::span(theirs + kHalfBytes, bytes);
            endpoint.until([&] { return filled(written, kWarm); }, "warming up");
        }
        endpoint.until([&] { return endpoint.completed == endpoint.posted; }, "warming up");
        synchronize();
        std::memset(own, 0, kBytes);
        synchronize();
    }
    /// Waits until both ranks have called synchronize(); polls the fabric, but does not rely on it.
    void synchronize() {
        ++synchronizations_;
        shared_.arrived[rank].store(synchronizations_, std::memory_order_release);
        endpoint.until(
            [&] {
                return shared_.arrived[1 - rank].load(std::memory_order_acquire) >=
                       synchronizations_;
            },
            "the other rank");
    }
    /// Waits without calls of libfabric, like a rank that computes, until words[0] is `value`.
    void wait_without_polls(std::uint64_t value) {
        const auto deadline = Clock::now() + std::chrono::seconds(10);
        while (words[0].load(std::memory_order_acquire) < value) {
            expect(Clock::now() < deadline, "the origin did not end the wait");
            ::sched_yield();
        }
    }
    void fill_own(std::size_t bytes, std::uint64_t which) { fill({own, bytes}, which); }
    [[nodiscard]] bool delivered(std::size_t bytes, std::uint64_t which) const {
        return filled({theirs, bytes}, which);
    }

    const Rank rank;
    std::byte* const own;
    std::byte* const theirs;
    std::atomic<std::uint64_t>* const words;

  private:
    Shared& shared_;
    std::uint32_t synchronizations_ = 0;

  public:
    RawEndpoint endpoint;
};

class Behaviour : public ProviderTest {
  protected:
    /// Runs both ranks with the profile after `change`. Each rank prints the facts that it finds.
    void run(const std::function<void(Side&)>& origin, const std::function<void(Side&)>& target,
             const std::function<void(link::Profile&)>& change = nullptr) {
        link::Profile profile = link::profile_of(GetParam());
        if (change) change(profile);
        const SharedObject<Shared> shared;
        expect_job(GetParam(), 2, [&](Member& me) {
            Side side(me, *shared, profile);
            (me.rank == 0 ? origin : target)(side);
            side.synchronize();
        });
    }
    template <class... Values>
    static void print_fact(const std::string& provider, fmt::format_string<Values...> text,
                           Values&&... values) {
        fmt::print("  {}: {}\n", provider, fmt::format(text, std::forward<Values>(values)...));
        std::fflush(stdout);
    }
};

TEST_P(Behaviour, TheAttributesOfTheProviderArePrinted) {
    const auto show = [&](Side& side) {
        const auto& found = side.endpoint.found();
        const auto& info = *found.info;
        print_fact(
            GetParam(),
            "mr_mode {:#x}, key {} bytes, immediate {} bytes, inject {}, message {}, order {:#x} "
            "up to {}, caps {:#x}, mode {:#x}, progress {}, delivery {}, fence {}, "
            "address format {}",
            static_cast<unsigned>(info.domain_attr->mr_mode), info.domain_attr->mr_key_size,
            info.domain_attr->cq_data_size, info.tx_attr->inject_size, info.ep_attr->max_msg_size,
            info.tx_attr->msg_order, info.ep_attr->max_order_waw_size, info.caps, info.mode,
            static_cast<int>(info.domain_attr->data_progress), found.grant.delivery,
            found.grant.fence, info.addr_format);
    };
    run(show, [](Side&) {});
}

// --- Targets that do not call libfabric ----------------------------------------------------------

constexpr std::array<std::size_t, 3> kSizes{8, 8192, kHalfBytes};

/// Posts a write of each size while the target does not call libfabric, and prints the outcome.
/// `how`: kind of write, for the output. judge(bytes, complete, delivered) checks the state at the
/// completion or, without completion, after some time.
void write_to_passive(Side& side, std::uint64_t flags, std::string_view how,
                      const std::function<void(std::size_t, bool, bool)>& judge,
                      const std::string& provider) {
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
        const std::size_t bytes = kSizes[i];
        side.fill_own(bytes, 100 + i);
        side.synchronize();  // then the target does not call libfabric
        side.endpoint.write({.bytes = bytes, .flags = flags});
        auto& endpoint = side.endpoint;
        const bool complete = endpoint.within(
            milliseconds(100), [&] { return endpoint.completed == endpoint.posted; });
        const bool delivered_at_completion = side.delivered(bytes, 100 + i);
        const bool delivered =
            endpoint.within(milliseconds(50), [&] { return side.delivered(bytes, 100 + i); });
        fmt::print("  {}: {} write of {} bytes, passive target: {}{}\n", provider, how, bytes,
                   complete ? "completed" : "no completion",
                   delivered ? ", delivered" : ", not delivered");
        std::fflush(stdout);
        judge(bytes, complete, complete ? delivered_at_completion : delivered);
        side.words[0].store(i + 1, std::memory_order_release);
        endpoint.until([&] { return endpoint.completed == endpoint.posted; }, "completion");
        endpoint.until([&] { return side.delivered(bytes, 100 + i); }, "the data");
        side.synchronize();
    }
}

void stay_passive(Side& side) {
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
        side.synchronize();
        side.wait_without_polls(i + 1);
        side.synchronize();
    }
}

TEST_P(Behaviour, DataArrivesAtAPassiveTargetIfTheProfileSaysSo) {
    const bool must_progress = profile().target_must_progress;
    run(
        [&](Side& side) {
            write_to_passive(
                side, 0, "plain",
                [&](std::size_t bytes, bool, bool delivered) {
                    expect(must_progress || delivered,
                           "{} bytes did not arrive, contrary to the profile", bytes);
                },
                GetParam());
        },
        stay_passive);
}

TEST_P(Behaviour, DeliveryCompletionAtAPassiveTargetFollowsTheData) {
    const bool promised = profile().delivery.holds;
    run(
        [&](Side& side) {
            write_to_passive(
                side, FI_DELIVERY_COMPLETE, "delivery-complete",
                [&](std::size_t bytes, bool complete, bool delivered) {
                    expect(!promised || !complete || delivered,
                           "{} bytes were completed before they arrived", bytes);
                },
                GetParam());
        },
        stay_passive);
}

// --- Targets that poll ---------------------------------------------------------------------------

std::size_t random_bytes(std::mt19937_64& random) {
    switch (random() % 4) {
        case 0:
            return 1 + random() % 64;
        case 1:
            return 1 + random() % 5000;
        case 2:
            return 1 + random() % 70000;
        default:
            return 1 + random() % kHalfBytes;
    }
}

/// Makes one write at a time. Returns the number of writes that complete before their data arrives.
int absent_at_completion(Side& side, std::uint64_t flags, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    int absent = 0;
    auto& endpoint = side.endpoint;
    const auto end = Clock::now() + milliseconds(700);
    for (std::uint64_t i = 0; i < 3000 && Clock::now() < end; ++i) {
        const std::size_t bytes = random_bytes(random);
        side.fill_own(bytes, i);
        endpoint.write({.bytes = bytes, .flags = flags});
        endpoint.until([&] { return endpoint.completed == endpoint.posted; }, "completion");
        if (!side.delivered(bytes, i)) ++absent;
        endpoint.until([&] { return side.delivered(bytes, i); }, "the data");
    }
    side.words[0].store(1, std::memory_order_release);
    return absent;
}

/// Polls with pauses until the origin has ended.
void poll_lazily(Side& side) {
    std::mt19937_64 random(5);
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    while (side.words[0].load(std::memory_order_acquire) == 0 && Clock::now() < deadline) {
        side.endpoint.poll();
        if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

TEST_P(Behaviour, DeliveryCompletionsFollowTheData) {
    const bool promised = profile().delivery.holds;
    for (const std::uint64_t flags : {std::uint64_t{FI_DELIVERY_COMPLETE}, std::uint64_t{0}}) {
        run(
            [&](Side& side) {
                const int absent = absent_at_completion(side, flags, 1);
                print_fact(GetParam(), "{}: data absent at {} of {} completions",
                           flags != 0 ? "delivery-complete" : "plain (control)", absent,
                           side.endpoint.posted);
                expect(flags == 0 || !promised || absent == 0,
                       "{} of {} completions came before the data", absent, side.endpoint.posted);
            },
            poll_lazily);
    }
}

// --- Order of writes to different addresses ------------------------------------------------------

constexpr std::size_t kSlots = 16;
constexpr std::size_t kSlotBytes = 96 << 10;
constexpr std::size_t kFlagAt = kSlots * kSlotBytes;
constexpr std::uint64_t kRounds = 4000;

std::size_t slot_bytes(std::uint64_t round) {
    std::mt19937_64 random(round);
    return std::min(random_bytes(random), kSlotBytes);
}

/// Writes pairs of data and flag, the flag with `write_flags`. At most kSlots pairs are not checked
/// by the target yet.
void stream_flags(Side& side, std::uint64_t write_flags) {
    auto& endpoint = side.endpoint;
    const auto end = Clock::now() + milliseconds(700);
    std::uint64_t round = 0;
    while (round < kRounds && Clock::now() < end) {
        endpoint.until(
            [&] { return round - side.words[1].load(std::memory_order_acquire) < kSlots; },
            "the target");
        const std::size_t slot = round % kSlots * kSlotBytes;
        const std::size_t bytes = slot_bytes(round);
        fill({side.own + slot, bytes}, round);
        const std::uint64_t flag = round + 1;
        std::memcpy(side.own + kFlagAt + round % kSlots * 64, &flag, sizeof flag);
        endpoint.write({.from = slot, .bytes = bytes, .to = slot});
        endpoint.write({.from = kFlagAt + round % kSlots * 64,
                        .bytes = sizeof flag,
                        .to = kFlagAt,
                        .flags = write_flags});
        ++round;
    }
    endpoint.until([&] { return endpoint.completed == endpoint.posted; }, "completions");
    endpoint.until([&] { return side.words[1].load(std::memory_order_acquire) == round; },
                   "the last flag");
    side.words[0].store(round, std::memory_order_release);
}

/// Checks the data after each flag. Returns the number of flags without their data.
std::uint64_t watch_flags(Side& side) {
    std::atomic_ref<std::uint64_t> flag(*reinterpret_cast<std::uint64_t*>(side.own + kFlagAt));
    std::uint64_t seen = 0;
    std::uint64_t wrong = 0;
    side.endpoint.until(
        [&] {
            const std::uint64_t now = flag.load(std::memory_order_acquire);
            for (; seen < now; ++seen) {
                const std::size_t slot = seen % kSlots * kSlotBytes;
                // Even if a later flag is seen first, the origin has not reused the slot yet.
                if (!filled({side.own + slot, slot_bytes(seen)}, seen)) ++wrong;
                side.words[1].store(seen + 1, std::memory_order_release);
            }
            return side.words[0].load(std::memory_order_acquire) != 0;
        },
        "the end of the stream");
    return wrong;
}

TEST_P(Behaviour, FencedAndOrderedFlagsFollowTheirData) {
    struct FlagWrite {
        const char* name;
        std::uint64_t flags;  ///< libfabric's flags of the write
        bool fence;           ///< FI_FENCE must be requested
        bool promised;        ///< the profile promises that the flag follows its data
    };
    const FlagWrite writes[] = {
        {"plain flag after data", 0, false, profile().ordered.holds},
        {"delivery-complete fenced flag", FI_FENCE | FI_DELIVERY_COMPLETE, true,
         profile().fence.holds},
    };
    for (const FlagWrite& flag : writes) {
        bool fenced = true;
        if (flag.fence) {
            fenced = in_child([&]() -> std::string {
                         link::Profile changed = profile();
                         changed.asks_fence = true;
                         const auto found = link::discover(local_options(GetParam()), changed);
                         return found && found->grant.fence ? "granted" : "";
                     }) == "granted";
            if (!fenced) print_fact(GetParam(), "FI_FENCE is not granted");
            EXPECT_TRUE(fenced || !flag.promised);
        }
        if (!fenced) continue;
        run([&](Side& side) { stream_flags(side, flag.flags); },
            [&](Side& side) {
                const std::uint64_t wrong = watch_flags(side);
                print_fact(GetParam(), "{}: {} of {} flags came before their data", flag.name,
                           wrong, side.words[0].load());
                expect(!flag.promised || wrong == 0, "{}: {} flags came before their data",
                       flag.name, wrong);
            },
            [&](link::Profile& changed) {
                if (flag.fence) changed.asks_fence = true;
            });
    }
}

// --- Words of cells ------------------------------------------------------------------------------
// A word has four bytes of data and, at higher addresses, four bytes of a tag. Cells work if a tag
// is never seen before its data.

constexpr std::size_t kCellBytes = 64;
constexpr std::size_t kCellWords = kCellBytes / sizeof(std::uint64_t);
constexpr std::uint64_t kCells = 512;

constexpr std::uint64_t cell_word(std::uint64_t number, std::size_t word) {
    const auto data = static_cast<std::uint32_t>((number * kCellWords + word) * 0x9E3779B1U);
    return (number + 1) << 32 | data;
}

/// Writes cells. At most kCells cells are not read yet. Writes of random sizes to other memory vary
/// the offsets at which the provider splits a stream of bytes.
void write_cells(Side& side) {
    auto& endpoint = side.endpoint;
    std::mt19937_64 random(11);
    const auto end = Clock::now() + milliseconds(1000);
    std::uint64_t number = 0;
    for (; Clock::now() < end; ++number) {
        endpoint.until(
            [&] { return number - side.words[1].load(std::memory_order_acquire) < kCells; },
            "the reader");
        const std::size_t at = kHalfBytes + number % kCells * kCellBytes;
        for (std::size_t word = 0; word < kCellWords; ++word) {
            const std::uint64_t value = cell_word(number, word);
            std::memcpy(side.own + at + word * sizeof value, &value, sizeof value);
        }
        endpoint.write({.from = at, .bytes = kCellBytes, .to = at});
        endpoint.write({.bytes = 1 + random() % 40, .to = 0});
        if (number % kCells == kCells - 1)
            endpoint.until([&] { return endpoint.completed == endpoint.posted; }, "completions");
    }
    endpoint.until([&] { return endpoint.completed == endpoint.posted; }, "completions");
    side.words[0].store(number, std::memory_order_release);
}

struct CellsSeen {
    std::uint64_t cells = 0;
    std::uint64_t partial = 0;  ///< reads of cells that had arrived only in part
    std::uint64_t early = 0;    ///< tags without their data
};

/// Reads the next cell between polls, as a port does, until all cells of the writer are read.
CellsSeen read_cells(Side& side) {
    CellsSeen seen;
    side.endpoint.until(
        [&] {
            for (;;) {
                auto* cell = reinterpret_cast<std::uint64_t*>(side.own + kHalfBytes +
                                                              seen.cells % kCells * kCellBytes);
                std::size_t tagged = 0;
                for (std::size_t word = 0; word < kCellWords; ++word) {
                    const std::uint64_t value =
                        std::atomic_ref(cell[word]).load(std::memory_order_acquire);
                    if (value >> 32 != seen.cells + 1) continue;
                    ++tagged;
                    if (value != cell_word(seen.cells, word)) ++seen.early;
                }
                if (tagged != 0 && tagged != kCellWords) ++seen.partial;
                if (tagged != kCellWords) break;
                side.words[1].store(++seen.cells, std::memory_order_release);
            }
            const std::uint64_t total = side.words[0].load(std::memory_order_acquire);
            return total != 0 && seen.cells == total;
        },
        "all cells");
    return seen;
}

TEST_P(Behaviour, TagsFollowTheirDataIfTheProfilePromisesCells) {
    const bool promised = profile().cells.holds;
    run(write_cells, [&](Side& side) {
        const CellsSeen seen = read_cells(side);
        print_fact(GetParam(), "{} tags came before their data in {} cells; {} reads saw a part",
                   seen.early, seen.cells, seen.partial);
        expect(!promised || seen.early == 0, "{} tags came before their data", seen.early);
    });
}

// --- Empty writes --------------------------------------------------------------------------------

TEST_P(Behaviour, EmptyWritesCarryImmediatesIfTheProfileSaysSo) {
    const bool promised = profile().writes_empty;
    run(
        [&](Side& side) {
            std::string refusal;
            try {
                side.endpoint.write({.bytes = 0, .flags = FI_REMOTE_CQ_DATA, .data = 0x89ABCDEF});
                const bool complete = side.endpoint.within(milliseconds(200), [&] {
                    return side.endpoint.completed == side.endpoint.posted;
                });
                if (!complete) refusal = "no completion";
            } catch (const std::exception& problem) {
                refusal = problem.what();
            }
            if (!refusal.empty()) print_fact(GetParam(), "an empty write is refused: {}", refusal);
            expect(!promised || refusal.empty(), "{}", refusal);
        },
        [&](Side& side) {
            const bool arrived =
                side.endpoint.within(milliseconds(300), [&] { return side.endpoint.arrived == 1; });
            print_fact(GetParam(), "the immediate of an empty write {}",
                       arrived ? "arrives" : "does not arrive");
            expect(!promised || (arrived && side.endpoint.last_data == 0x89ABCDEF),
                   "arrived: {}, immediate {:#x}, expected 0x89abcdef", arrived,
                   side.endpoint.last_data);
        });
}

WEFT_FOR_EACH_PROVIDER(Behaviour);

}  // namespace
}  // namespace weft::test
