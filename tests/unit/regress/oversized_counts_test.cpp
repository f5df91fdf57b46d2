// SPDX-License-Identifier: BSD-3-Clause
// Bug: for buffers of nearly 2^64 elements the size of a unit wrapped to zero and the bytes of a
// bank to a small number, so that such calls seemed to fit. Method: programs with slots of one size
// and of several sizes are bound for counts near those at which sums and products of sizes wrap.
#include <gtest/gtest.h>

#include "collectives/registry.hpp"
#include "run/bind/bind.hpp"

namespace weft::run {
namespace {

constexpr base::RegionShape kShape{
    .cells = 64, .banks = 2, .bulk_banks = 2, .bulk_bytes = std::uint64_t{1} << 20};

plan::Program program_of(const char* collective, const char* spec, std::uint32_t segments) {
    return *collectives::generate(collective, *collectives::parse_spec(spec),
                                  {.size = 16, .segments = segments, .elements = 16});
}

TEST(OversizedCounts, CountsThatOverflowAreRefused) {
    struct Case {
        const char* collective;
        const char* spec;
    };
    int tried = 0;
    for (const Case& c : {Case{"allreduce", "a16"}, Case{"allreduce", "halving-doubling"},
                          Case{"allreduce", "ring"}, Case{"alltoall", "direct"},
                          Case{"exscan", "recursive-doubling"}}) {
        for (int bits = 40; bits <= 64; ++bits) {
            for (const int difference : {-1, 0, 1}) {
                for (const std::uint32_t element_bytes : {1U, 8U, 16U}) {
                    const std::uint64_t power = bits == 64 ? 0 : std::uint64_t{1} << bits;
                    const BindOptions options{
                        .elements = power + static_cast<std::uint64_t>(difference),
                        .element_bytes = element_bytes,
                        .shape = kShape};
                    if (options.elements < 2) continue;  // 2^64 and 2^64 + 1 have no 64-bit form
                    const plan::Program whole = program_of(c.collective, c.spec, 1);
                    EXPECT_FALSE(bind(whole, options).ok())
                        << c.spec << ", " << options.elements << " elements";
                    EXPECT_GT(segments_needed(whole, 1, options), 1U)
                        << c.spec << ", " << options.elements << " elements";
                    ++tried;
                }
            }
        }
    }
    EXPECT_GT(tried, 1000);
}

TEST(OversizedCounts, TheErrorNamesTheSizes) {
    const auto bound =
        bind(program_of("allreduce", "a16", 1),
             {.elements = std::uint64_t{1} << 60, .element_bytes = 8, .shape = kShape});
    ASSERT_FALSE(bound.ok());
    EXPECT_EQ(bound.failure().text, "1152921504606846976 elements of 8 bytes overflow 63 bits");
    const auto large =
        bind(program_of("allreduce", "a16", 1),
             {.elements = std::uint64_t{1} << 40, .element_bytes = 8, .shape = kShape});
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.failure().text,
              "allreduce a16 needs 140737488355328 bytes of put targets per bank, the team has "
              "1048576 (WEFT_BANK_BYTES sets it)");
}

TEST(OversizedCounts, CountsThatFitAreBound) {
    const auto bound = bind(program_of("allreduce", "a16", 1),
                            {.elements = 1000, .element_bytes = 8, .shape = kShape});
    ASSERT_TRUE(bound.ok()) << bound.failure().text;
    EXPECT_EQ(bound->slot_bytes, 8000U);
}

}  // namespace
}  // namespace weft::run
