// SPDX-License-Identifier: BSD-3-Clause
// Goal: sizes, counts, times and lists are read exactly, or refused with the reason.
// Method: tests read handmade examples, and values that were printed before.
#include "base/units.hpp"

#include <gtest/gtest.h>

namespace weft::base {
namespace {

std::string refusal(const Failure& failure) {
    EXPECT_EQ(failure.status, Status::argument);
    return failure.text;
}

TEST(Units, SuffixesArePowersOf1024) {
    EXPECT_EQ(*parse_bytes("0"), 0U);
    EXPECT_EQ(*parse_bytes("8"), 8U);
    EXPECT_EQ(*parse_bytes("64K"), 65536U);
    EXPECT_EQ(*parse_bytes("64k"), 65536U);
    EXPECT_EQ(*parse_bytes("64KiB"), 65536U);
    EXPECT_EQ(*parse_bytes("2GiB"), std::uint64_t{2} << 30);
    EXPECT_EQ(*parse_bytes("3M"), 3U << 20);
    EXPECT_EQ(*parse_bytes("2G"), std::uint64_t{2} << 30);
    EXPECT_EQ(*parse_bytes("17179869183G"), std::uint64_t{17179869183} << 30);
    EXPECT_EQ(*parse_bytes("18446744073709551615"), ~std::uint64_t{0});
}

TEST(Units, InvalidSizesAreRefusedAndQuoted) {
    for (const char* text : {"", "K", "-8", "+8", " 8", "8 ", "8KB", "8iB", "iB", "8B", "8T",
                             "1.5K", "0x10", "8,9", "18446744073709551616", "17179869184G"}) {
        const auto parsed = parse_bytes(text);
        ASSERT_FALSE(parsed.ok()) << text;
        EXPECT_NE(refusal(parsed.failure()).find('"' + std::string(text) + '"'), std::string::npos);
        EXPECT_NE(parsed.failure().text.find("64K"), std::string::npos) << "an example of the form";
    }
}

TEST(Units, PrintedSizesAreShortAndParsedBack) {
    EXPECT_EQ(format_bytes(0), "0");
    EXPECT_EQ(format_bytes(1000), "1000");
    EXPECT_EQ(format_bytes(65536), "64K");
    EXPECT_EQ(format_bytes(std::uint64_t{3} << 29), "1536M");
    for (std::uint64_t value = 1; value < (std::uint64_t{1} << 62); value = value * 3 + value % 7)
        EXPECT_EQ(*parse_bytes(format_bytes(value)), value);
    for (unsigned shift = 0; shift < 64; ++shift)
        EXPECT_EQ(*parse_bytes(format_bytes(std::uint64_t{1} << shift)), std::uint64_t{1} << shift);
}

TEST(Units, ListsKeepTheirOrderAndNameTheBadEntry) {
    EXPECT_EQ(*parse_bytes_list("8,64K,1M,8"), (std::vector<std::uint64_t>{8, 65536, 1 << 20, 8}));
    EXPECT_NE(refusal(parse_bytes_list("8,,1M").failure()).find("entry 2 of \"8,,1M\""),
              std::string::npos);
    EXPECT_NE(refusal(parse_bytes_list("8,1M,").failure()).find("entry 3"), std::string::npos);
    // FIRST:LAST doubles the size at each step, and :xN multiplies it by N. LAST ends a series that
    // does not reach it.
    EXPECT_EQ(*parse_bytes_list("8:64,1:100:x10,5:5,8:40"),
              (std::vector<std::uint64_t>{8, 16, 32, 64, 1, 10, 100, 5, 8, 16, 32}));
    EXPECT_EQ(parse_bytes_list("8:4M")->size(), 20U);
    EXPECT_EQ(parse_bytes_list("1:17179869183G")->size(), 64U);
    for (const char* wrong :
         {"8:", ":8", "0:8", "16:8", "8:16:2", "8:16:x1", "8:16:x", "8:9:x2:x2"})
        EXPECT_NE(refusal(parse_bytes_list(wrong).failure()).find("entry 1"), std::string::npos)
            << wrong;
    EXPECT_NE(refusal(parse_bytes_list("").failure()).find("empty"), std::string::npos);
}

TEST(Units, CountsOutsideTheirRangeAreRefused) {
    EXPECT_EQ(*parse_count("0"), 0U);
    EXPECT_EQ(*parse_count("007"), 7U);
    EXPECT_EQ(*parse_count("16", {.min = 1, .max = 16}), 16U);
    EXPECT_NE(refusal(parse_count("17", {.min = 1, .max = 16}).failure()).find("from 1 to 16"),
              std::string::npos);
    EXPECT_NE(refusal(parse_count("0", {.min = 1}).failure()).find("1 or more"), std::string::npos);
    for (const char* text : {"", "-1", "2K", "1e3", " 1", "99999999999999999999"})
        EXPECT_FALSE(parse_count(text).ok()) << text;
}

TEST(Units, SecondsHaveUpToNineDecimals) {
    EXPECT_EQ(*parse_seconds("30"), 30'000'000'000U);
    EXPECT_EQ(*parse_seconds("0"), 0U);
    EXPECT_EQ(*parse_seconds("0.25"), 250'000'000U);
    EXPECT_EQ(*parse_seconds("1.000000001"), 1'000'000'001U);
    for (const char* text :
         {"", ".5", "1.", "-1", "1.0000000001", "1e3", "inf", "99999999999", "1.2.3", "1s"})
        EXPECT_FALSE(parse_seconds(text).ok()) << text;
    for (const std::uint64_t value : {0U, 1U, 10U, 250'000'000U, 1'000'000'000U, 3'100'000'000U})
        EXPECT_EQ(*parse_seconds(format_seconds(value)), value);
    EXPECT_EQ(format_seconds(250'000'000), "0.25");
}

}  // namespace
}  // namespace weft::base
