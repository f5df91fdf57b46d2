// SPDX-License-Identifier: BSD-3-Clause
// Goal: a rank registers with the network only the memory in use, not its whole segment. Peers
// reach memory that is registered later, and only registered memory.
// Method: two ports of a job of 2,304 ranks have sparse segments on the strict provider, which
// counts registered bytes. Weft or the provider chooses the keys. The control registers a whole
// segment.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>

#include "link/fabric/port.hpp"
#include "run/job/layout.hpp"
#include "tests/virtual/strict/strict_fabric.hpp"

namespace weft::test {
namespace {

using run::SegmentLayout;

constexpr Rank kJobSize = 2304;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kAllowed = 64 * kMebibyte;  ///< registered bytes at most, without the heap
constexpr int kPolls = 2000;                        ///< polls before a put counts as not delivered

/// A segment in which only touched pages use memory.
class SparseSegment {
  public:
    explicit SparseSegment(std::size_t bytes)
        : bytes_(bytes),
          base_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        if (base_ == MAP_FAILED) throw std::runtime_error("no address space");
    }
    ~SparseSegment() { munmap(base_, bytes_); }
    SparseSegment(const SparseSegment&) = delete;
    SparseSegment& operator=(const SparseSegment&) = delete;
    [[nodiscard]] std::byte* base() const { return static_cast<std::byte*>(base_); }

  private:
    std::size_t bytes_;
    void* base_;
};

/// Ranks 0 and 1 of a large job. Without `sections`, each rank registers its whole segment.
class TwoRanksOfMany {
  public:
    explicit TwoRanksOfMany(const Demands& demands, bool sections = true)
        : layout(kJobSize, {}),
          strict(demands),
          segments{SparseSegment(layout.bytes), SparseSegment(layout.bytes)} {
        for (const Rank rank : {0, 1}) {
            link::Info info = strict.offer();
            const auto grant = link::accept_offer(*info);
            if (!grant) throw std::runtime_error(grant.failure().text);
            link::Profile profile;
            profile.provider = "strict";
            profile.small_keys = profile.writes_empty = true;
            const link::Found found{std::move(info), *grant, profile, {}};
            link::FabricMemory memory{.base = segments[at(rank)].base(), .bytes = layout.bytes};
            if (sections) {
                memory.sections = layout.sections();
                memory.section_keys = SegmentLayout::kSectionKeys;
            }
            auto port = link::open_port(memory, {.rank = rank, .size = kJobSize}, found);
            if (!port) throw std::runtime_error(port.failure().text);
            ports.push_back(*std::move(port));
        }
        for (const Rank rank : {0, 1}) {
            ports[at(rank)]->set_peer(1 - rank, ports[at(1 - rank)]->address());
            for (const auto& [offset, bytes] : layout.usual_memory(0)) use(rank, offset, bytes);
        }
    }

    static std::size_t at(Rank rank) { return static_cast<std::size_t>(rank); }
    void use(Rank rank, std::uint64_t offset, std::uint64_t bytes) {
        const auto done = ports[at(rank)]->use_memory(offset, bytes);
        if (!done) throw std::runtime_error(done.failure().text);
    }
    [[nodiscard]] std::uint64_t registered_by_each() const {
        return strict.registered_bytes() / ports.size();
    }

    /// Puts a word from rank 0 to rank 1. Returns true if it arrives within kPolls polls.
    bool put(std::uint64_t target, std::uint64_t word) {
        const base::PutPart source{reinterpret_cast<const std::byte*>(&word), sizeof word};
        bool posted = false;
        for (int i = 0; i < kPolls; ++i) {
            if (!posted) {
                posted = ports[0]->try_put({.peer = 1,
                                            .kind = base::PutKind::with_immediate,
                                            .parts = {&source, 1},
                                            .bytes = sizeof word,
                                            .target = target,
                                            .immediate = 5}) == base::Post::posted;
            }
            std::array<std::uint64_t, 4> immediates{};
            static_cast<void>(ports[0]->poll(immediates));
            if (ports[1]->poll(immediates) == 1) {
                std::uint64_t arrived = 0;
                std::memcpy(&arrived, segments[1].base() + target, sizeof arrived);
                return arrived == word;
            }
        }
        return false;
    }

    SegmentLayout layout;
    StrictFabric strict;
    std::array<SparseSegment, 2> segments;
    std::vector<std::unique_ptr<link::Port>> ports;
};

struct Kind {
    const char* name;
    Demands demands;
};
constexpr int kAllModes =
    FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_LOCAL | FI_MR_ENDPOINT;
class StrictMemoryUse : public testing::TestWithParam<Kind> {};

TEST_P(StrictMemoryUse, ARankOfManyRegistersOnlyUsedMemory) {
    TwoRanksOfMany job(GetParam().demands);
    const SegmentLayout& layout = job.layout;
    EXPECT_GT(layout.bytes, std::uint64_t{1} << 30);
    EXPECT_LE(job.registered_by_each(), kAllowed);
    EXPECT_GE(job.registered_by_each(), layout.registered_bytes());

    EXPECT_TRUE(job.put(layout.region(0), 11));
    EXPECT_TRUE(job.put(layout.region(0) + layout.shape.bulk(3), 12));
    EXPECT_EQ(job.strict.reads_of(0), 1U) << "the key of the bulk banks is read once";
    EXPECT_TRUE(job.put(layout.region(0) + layout.shape.bulk(1), 13));
    EXPECT_EQ(job.strict.reads_of(0), 1U);

    // A heap block that starts 8 bytes before a border of two sections.
    const std::uint64_t block = layout.sections().back() - 8;
    EXPECT_EQ(job.ports[0]->bytes_to_section_end(block), 8U);
    EXPECT_FALSE(job.put(block, 14)) << "the block is not registered yet";
    job.use(1, block, 3 * kMebibyte);
    EXPECT_TRUE(job.put(block, 14));
    EXPECT_TRUE(job.put(block + 8, 15));
    EXPECT_LE(job.registered_by_each(), kAllowed + 3 * kMebibyte);
    job.use(1, layout.other_cells(0).offset, layout.other_cells(0).bytes);
    EXPECT_TRUE(job.put(layout.region(0) + layout.shape.cell(0, layout.shape.cells - 1), 16));
    job.use(1, layout.usual_memory(31)[0].offset, layout.usual_memory(31)[0].bytes);
    EXPECT_TRUE(job.put(layout.region(31), 17));
    job.ports.clear();
    EXPECT_EQ(job.strict.open, 0);
    EXPECT_EQ(job.strict.violations(), "");
}

INSTANTIATE_TEST_SUITE_P(Keys, StrictMemoryUse,
                         testing::Values(Kind{"chosen_by_weft", {.key_bytes = 4}},
                                         Kind{"chosen_by_the_provider",
                                              {.mr_mode = kAllModes, .mode = FI_CONTEXT2}}),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

TEST(StrictMemory, AWholeSegmentOfManyRanksExceedsAGibibyte) {
    const TwoRanksOfMany job({}, /*sections=*/false);
    EXPECT_GT(job.registered_by_each(), std::uint64_t{1} << 30);
}

TEST(StrictMemory, AFailureToRegisterMoreNamesTheLimit) {
    TwoRanksOfMany job({.registered_bytes_max = 2 * kAllowed});
    const SegmentLayout& layout = job.layout;
    const auto refused = job.ports[0]->use_memory(layout.heap, layout.bytes - layout.heap);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.failure().text.find("RLIMIT_MEMLOCK"), std::string::npos)
        << refused.failure().text;
}

TEST(StrictMemory, TwoRanksRegisterAFifteenthOfTheirSegment) {
    const SegmentLayout layout(2, {});
    EXPECT_LE(layout.registered_bytes(), 32 * kMebibyte);
    EXPECT_LE(15 * layout.registered_bytes(), layout.bytes);
}

}  // namespace
}  // namespace weft::test
