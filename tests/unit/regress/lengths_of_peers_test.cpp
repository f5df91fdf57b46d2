// SPDX-License-Identifier: BSD-3-Clause
// Bug: lengths, ranks and offsets from a peer were trusted in the records of start-up, in
// immediates and requests, and in traces, so a record could be read beyond its end. Registration
// keys were 0 to 3. Method: records that are cut at each length, or have one byte changed, are
// refused or read within their bounds; keys are different and random.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "link/fabric/keys.hpp"
#include "run/job/cards.hpp"
#include "run/memory/registered_memory.hpp"
#include "run/observe/reports.hpp"

namespace weft::run {
namespace {

using Bytes = std::vector<std::byte>;

/// Calls `read` with each prefix of the record, and with three changes of each byte. Returns how
/// many of these 4 * record.size() records `read` accepted.
template <class Read>
int count_accepted(const Bytes& record, Read read) {
    int accepted = 0;
    for (std::size_t bytes = 0; bytes < record.size(); ++bytes) {
        // A copy, so that a sanitizer detects reads beyond its end.
        const Bytes prefix(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(bytes));
        accepted += read(prefix) ? 1 : 0;
    }
    for (std::size_t at = 0; at < record.size(); ++at) {
        for (const int bits : {1, 0x80, 0xff}) {
            Bytes changed = record;
            changed[at] ^= static_cast<std::byte>(bits);
            accepted += read(changed) ? 1 : 0;
        }
    }
    return accepted;
}

MappingCard mapping_card(const Bytes& address) {
    MappingCard card{.copy_error = 13, .address = address};
    card.verdict.rank = 3;
    card.verdict.mapped = {1, 3, 4};
    return card;
}

TEST(LengthsOfPeers, MappingCardsOfOtherRanksOrLengthsAreRefused) {
    const Bytes address(24, std::byte{7});
    const Bytes record = to_bytes(mapping_card(address));
    const auto whole = mapping_card_from(record, 3, 5);
    ASSERT_TRUE(whole.ok()) << whole.failure().text;
    EXPECT_EQ(whole->verdict.mapped, (std::vector<Rank>{1, 3, 4}));
    EXPECT_EQ(whole->address.size(), address.size());
    EXPECT_EQ(whole->copy_error, 13);
    EXPECT_FALSE(mapping_card_from(record, 4, 5).ok()) << "the card of another rank";
    EXPECT_FALSE(mapping_card_from(record, 3, 4).ok()) << "a rank beyond the job";
    const int accepted = count_accepted(
        record, [](const Bytes& bytes) { return mapping_card_from(bytes, 3, 5).ok(); });
    EXPECT_LT(accepted, 4 * static_cast<int>(record.size())) << "no change was refused";
    Bytes huge_length = record;  // a card begins with the length of its verdict
    for (std::size_t byte = 0; byte < 8; ++byte) huge_length[byte] = std::byte{0xff};
    EXPECT_FALSE(mapping_card_from(huge_length, 3, 5).ok());
}

TEST(LengthsOfPeers, BusinessCardsAreReadWithinTheirBounds) {
    auto segment = link::Segment::create({.bytes = 1 << 20});
    ASSERT_TRUE(segment.ok()) << segment.failure().text;
    const Bytes record = to_bytes(BusinessCard{{.segment = segment->card()}, "A=1\n"});
    const auto whole = business_card_from(record, 0);
    ASSERT_TRUE(whole.ok()) << whole.failure().text;
    EXPECT_EQ(whole->settings, "A=1\n");
    const int accepted = count_accepted(
        record, [](const Bytes& bytes) { return business_card_from(bytes, 0).ok(); });
    EXPECT_GT(accepted, 0) << "a changed text of settings is valid";
}

TEST(LengthsOfPeers, MemoryCardsOutsideTheMemoryAreRefused) {
    const SegmentLayout layout(2, base::Settings{});
    const std::uint64_t heap = layout.heap;
    const std::uint64_t end = layout.bytes;
    constexpr std::uint64_t kMax = ~std::uint64_t{0};
    const auto passes = [&](const MemoryCard& card) { return check(card, 1, layout).ok(); };
    EXPECT_TRUE(passes({}));
    EXPECT_TRUE(passes({.bytes = 8, .address = 4096, .number = 1}));
    EXPECT_TRUE(passes({.bytes = end - heap, .segment_end = end}));
    EXPECT_TRUE(passes({.bytes = 8, .region = {.base = 4096, .bytes = 8}}));
    EXPECT_FALSE(passes({.bytes = kMax, .address = 0})) << "longer than any memory";
    EXPECT_FALSE(passes({.bytes = 4096, .address = kMax - 8})) << "beyond the last address";
    EXPECT_FALSE(passes({.bytes = 8, .segment_end = end + 8})) << "beyond the segment";
    EXPECT_FALSE(passes({.bytes = 16, .segment_end = heap + 8})) << "before the heap";
    EXPECT_FALSE(passes({.bytes = 16, .segment_end = 8})) << "before the segment";
    EXPECT_FALSE(passes({.bytes = 16, .region = {.base = 4096, .bytes = 8}})) << "a short region";
    EXPECT_FALSE(passes({.bytes = 8, .region = {.base = kMax, .bytes = 8}}));
    EXPECT_FALSE(passes({.bytes = 8, .number = kMax}));
    EXPECT_FALSE(passes({.fault = static_cast<MemoryFault>(6)})) << "unknown fault";
    const auto refused = check({.bytes = 16, .segment_end = 8}, 1, layout);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().status, Status::peer);
    EXPECT_NE(refused.failure().text.find("rank 1 "), std::string::npos);
}

TEST(LengthsOfPeers, TracesAreReadWithinTheirBounds) {
    const std::string folder = fmt::format("{}trace.{}", testing::TempDir(), ::getpid());
    RecordedCall kind{.program = nullptr, .description = "barrier dissemination"};
    Recorder recorder(2, 100);
    const Recorder::Open call = recorder.begin(kind, true);
    recorder.add(call, {.begin_ns = call.begun_ns, .end_ns = call.begun_ns + 5, .key = 9});
    recorder.end(call, 0, 17);
    const std::string packed = packed_report(recorder, {}, {});
    TraceContext context{.nodes = {0}, .clocks = {}};
    context.clocks[0].ahead_ns = context.clocks[1].ahead_ns = {0};
    const auto written = [&](const Bytes& bytes) {
        const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        const auto report = unpacked_report(text);
        return report && write_trace(folder, {*report}, context).ok();
    };
    const auto* const begin = reinterpret_cast<const std::byte*>(packed.data());
    const Bytes record(begin, begin + packed.size());
    EXPECT_TRUE(written(record));
    const int accepted = count_accepted(record, written);
    EXPECT_LT(accepted, 3 * static_cast<int>(record.size())) << "few changes were refused";
    EXPECT_GT(accepted, 0) << "a changed time is valid";
    std::filesystem::remove_all(folder);
}

TEST(LengthsOfPeers, LengthsAreCheckedBeforeTextsAreGathered) {
    // Words of the longest text and of this rank's text, number of ranks.
    EXPECT_TRUE(check_longest(2, 2, 1).ok());
    EXPECT_TRUE(check_longest(std::uint64_t{1} << 17, 2, 4096).ok());
    const auto longer = check_longest((std::uint64_t{1} << 17) + 1, 2, 4096);
    ASSERT_FALSE(longer.ok());
    EXPECT_EQ(longer.failure().text,
              "a rank has a text of 131073 words, expected at most 131072 from each of 4096 ranks");
    EXPECT_FALSE(check_longest(~std::uint64_t{0}, 2, 2).ok());
    const auto shorter = check_longest(2, 3, 2);
    ASSERT_FALSE(shorter.ok()) << "this rank's text would be copied beyond the end of its memory";
    EXPECT_EQ(shorter.failure().text, "the longest text of a rank has 2 words, this rank's has 3");
}

TEST(RegistrationKeys, KeysCannotBeGuessed) {
    std::set<std::uint64_t> all;
    for (int endpoint = 0; endpoint < 50; ++endpoint) {
        const auto keys = link::draw_keys(67, /*key_bytes=*/8, /*small=*/false);
        ASSERT_TRUE(keys.ok());
        for (const std::uint64_t key : *keys) {
            EXPECT_NE(key, ~std::uint64_t{0}) << "FI_KEY_NOTAVAIL";
            all.insert(key);
        }
    }
    EXPECT_EQ(all.size(), 50U * 67U);
    // A sixteenth of uniform keys, 209 of 3350, are expected below 2^60.
    EXPECT_GT(*all.rbegin(), std::uint64_t{1} << 60);
    EXPECT_LT(*std::next(all.begin(), 67), std::uint64_t{1} << 60);
    const auto narrow = link::draw_keys(67, /*key_bytes=*/4, /*small=*/false);
    ASSERT_TRUE(narrow.ok());
    for (const std::uint64_t key : *narrow) EXPECT_LT(key, 0xffff'ffffU);
    const auto tiny = link::draw_keys(3, /*key_bytes=*/1, /*small=*/false);
    ASSERT_TRUE(tiny.ok());
    EXPECT_EQ(tiny->back(), 3U) << "one byte: consecutive keys";
    const auto small = link::draw_keys(3, /*key_bytes=*/8, /*small=*/true);
    ASSERT_TRUE(small.ok());
    EXPECT_EQ(small->back(), 3U) << "the profile requires small keys";
}

}  // namespace
}  // namespace weft::run
