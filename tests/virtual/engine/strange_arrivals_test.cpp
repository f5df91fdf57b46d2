// SPDX-License-Identifier: BSD-3-Clause
// Goal: immediates that this library never sends fail the wire, and invalid requests are refused.
// Without the checks, a process that reaches the endpoint could use a cell number out of range to
// write a rank's memory.
// Method: a fake FabricPort delivers immediates at the limits and at random. A request's kind,
// width, offset, operands and inline_bytes are set out of range, one at a time.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "base/random.hpp"
#include "link/wire/wire.hpp"
#include "run/onesided/service.hpp"

namespace weft::test {
namespace {

using link::Arrival;

constexpr std::uint64_t kSegmentBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kCellsEnd = kSegmentBytes / 2;  ///< offset after the last cell
constexpr std::uint64_t kCells = kCellsEnd / sizeof(base::Cell);

/// A fake port that delivers the given immediates.
class FakePort final : public link::FabricPort {
  public:
    FakePort(link::FabricFacts facts, const std::deque<std::uint64_t>& immediates)
        : facts_(std::move(facts)), immediates_(immediates) {}

    const link::FabricFacts& facts() const override { return facts_; }
    std::span<const std::byte> address() const override { return {}; }
    void set_peer(Rank, std::span<const std::byte>) override {}
    bool warm(Rank) noexcept override { return true; }
    base::Result<base::RemoteRegion> expose(std::span<std::byte>) override {
        return base::RemoteRegion{};
    }
    void unexpose(const base::RemoteRegion&) noexcept override {}
    base::Post try_put(const base::Put&) noexcept override { return base::Post::posted; }
    base::Post try_read(const base::Read&) noexcept override { return base::Post::posted; }
    std::size_t poll(std::span<std::uint64_t> immediates) noexcept override {
        std::size_t count = 0;
        while (count < immediates.size() && !immediates_.empty()) {
            immediates[count++] = immediates_.front();
            immediates_.pop_front();
        }
        return count;
    }
    void lose(Rank) noexcept override {}
    void cancel() noexcept override {}
    std::size_t in_flight() const noexcept override { return 0; }
    const base::Failure* failure() const noexcept override { return nullptr; }

  private:
    link::FabricFacts facts_;
    std::deque<std::uint64_t> immediates_;
};

link::FabricFacts facts_of(link::Notify notify) {
    link::FabricFacts facts;
    facts.inject_bytes = 4096;
    facts.message_bytes_max = facts.get_bytes_max = 4096;
    facts.notify = {notify, notify};
    facts.remote.completion = base::RemoteCompletion::counted;
    return facts;
}

/// Rank 0 of three ranks, with its wire; rank 1 is local, rank 2 remote. The constructor lets the
/// wire process `immediates`. The header in cell 5 announces `pieces` pieces.
class RankWithWire {
  public:
    explicit RankWithWire(const std::deque<std::uint64_t>& immediates,
                          link::Notify notify = link::Notify::immediate, std::uint64_t pieces = 0)
        : memory_(2 * kSegmentBytes / sizeof(base::Cell)),
          wire_({at(0), at(kSegmentBytes), nullptr},
                std::make_unique<FakePort>(facts_of(notify), immediates),
                {.rank = 0, .segment_bytes = kSegmentBytes, .cells_end = kCellsEnd}) {
        std::memcpy(memory_[5].payload, &pieces, sizeof pieces);
        wire_.progress();
    }
    link::Wire& wire() { return wire_; }
    bool failed() const { return wire_.failure() != nullptr; }

  private:
    std::byte* at(std::uint64_t offset) {
        return reinterpret_cast<std::byte*>(memory_.data()) + offset;
    }
    std::vector<base::Cell> memory_;
    link::Wire wire_;
};

/// Encodes an immediate. number: index of the cell; for Arrival::write, origin * kBatches + batch.
std::uint64_t immediate(std::uint64_t number, Arrival kind) {
    return number << link::kArrivalBits | static_cast<std::uint64_t>(kind);
}

TEST(StrangeArrivals, InvalidImmediatesFailTheWire) {
    EXPECT_FALSE(RankWithWire({immediate(kCells - 1, Arrival::whole)}).failed()) << "the last cell";
    EXPECT_TRUE(RankWithWire({immediate(kCells, Arrival::whole)}).failed());
    constexpr std::uint64_t kLargest = (link::kHasPayload >> link::kArrivalBits) - 1;
    for (const Arrival kind : {Arrival::whole, Arrival::piece, Arrival::header}) {
        EXPECT_TRUE(RankWithWire({immediate(0x3fff'ffff, kind)}).failed())
            << "the largest number of a 32-bit immediate";
        EXPECT_TRUE(RankWithWire({immediate(kLargest, kind)}).failed()) << "the largest number";
    }
    EXPECT_TRUE(RankWithWire({immediate(3 * link::WriteCounts::kBatches, Arrival::write)}).failed())
        << "no rank 3";
    EXPECT_TRUE(RankWithWire({immediate(link::WriteCounts::kBatches, Arrival::write)}).failed())
        << "rank 1 is local";
    EXPECT_FALSE(
        RankWithWire({immediate(2 * link::WriteCounts::kBatches, Arrival::write)}).failed());
    EXPECT_TRUE(RankWithWire({link::kHasPayload}).failed())
        << "an immediate with a payload, but the wire has no handler";
    EXPECT_TRUE(RankWithWire({immediate(5, Arrival::piece)}, link::Notify::delivery).failed())
        << "with Notify::delivery no put is sent in pieces";
}

TEST(StrangeArrivals, ArrivalsWithTooManyPiecesFailTheWire) {
    const auto failed = [](std::size_t headers, std::uint64_t pieces) {
        const std::deque<std::uint64_t> immediates(headers, immediate(5, Arrival::header));
        return RankWithWire(immediates, link::Notify::immediate, pieces).failed();
    };
    constexpr std::uint64_t kPiecesMax = std::uint64_t{1} << 30;  // limit of the wire
    EXPECT_FALSE(failed(1, kPiecesMax));
    EXPECT_TRUE(failed(1, kPiecesMax + 1));
    EXPECT_TRUE(failed(1, ~std::uint64_t{0}));
    EXPECT_FALSE(failed(2, kPiecesMax / 2));
    EXPECT_TRUE(failed(2, kPiecesMax))
        << "the headers announce more than kPiecesMax pieces together";
}

TEST(StrangeArrivals, RandomArrivalsAreHarmless) {
    base::Random random(1);
    int failed = 0;
    for (int trial = 0; trial < 200; ++trial) {
        std::deque<std::uint64_t> immediates;
        for (int i = 0; i < 50; ++i) immediates.push_back(random() >> random.below(64));
        failed += RankWithWire(immediates).failed() ? 1 : 0;
    }
    // Sanitizers detect harm. The count shows that most trials reach a check.
    EXPECT_GT(failed, 150);
}

TEST(StrangeArrivals, RequestsOutOfRangeAreRefused) {
    RankWithWire rank({});
    const run::OneSidedArea area{.offset = 4096, .ranks = 3};
    const run::Service<link::Wire> service(rank.wire(), area, 0);
    const run::RemoteRequest right{.kind = run::RequestKind::add, .offset = 8192};
    EXPECT_EQ(service.fault_of(right), nullptr);
    const auto fault = [&](auto change) {
        run::RemoteRequest request = right;
        change(request);
        return service.fault_of(request) != nullptr;
    };
    using Request = run::RemoteRequest;
    EXPECT_TRUE(fault([](Request& r) { r.kind = static_cast<run::RequestKind>(17); }));
    EXPECT_TRUE(fault([](Request& r) { r.width = 3; }));
    EXPECT_TRUE(fault([](Request& r) { r.width = 0; }));
    EXPECT_TRUE(fault([](Request& r) { r.width = 16; }));
    EXPECT_TRUE(fault([](Request& r) {
        r.kind = run::RequestKind::add_real;
        r.width = 2;
    })) << "no floating-point type has 2 bytes";
    EXPECT_TRUE(fault([](Request& r) { r.offset = 8193; }));
    EXPECT_TRUE(fault([](Request& r) { r.offset = kSegmentBytes; }));
    EXPECT_TRUE(fault([](Request& r) { r.offset = (std::uint64_t{1} << 48) - 8; }));
    EXPECT_TRUE(fault([](Request& r) { r.offset = ~std::uint64_t{7}; }))
        << "registered memory that does not exist";
    EXPECT_TRUE(fault([](Request& r) { r.inline_bytes = 200; }));
    EXPECT_TRUE(fault([](Request& r) {
        r.inline_bytes = 16;
        r.operand2 = kSegmentBytes - 8;
    }));
    const auto get = [&](std::uint64_t from, std::uint64_t bytes, std::uint64_t to) {
        return service.fault_of({.kind = run::RequestKind::get,
                                 .offset = from,
                                 .operand = bytes,
                                 .operand2 = to}) != nullptr;
    };
    EXPECT_FALSE(get(0, kSegmentBytes, 0));
    EXPECT_TRUE(get(1, kSegmentBytes, 0));
    EXPECT_TRUE(get(0, kSegmentBytes, 1));
    EXPECT_TRUE(get(4096, ~std::uint64_t{0} - 4000, 0)) << "the sum wraps";
}

}  // namespace
}  // namespace weft::test
