// SPDX-License-Identifier: BSD-3-Clause
// Goal: samplesort sorts stably into shares of similar size, even if many keys are equal. Its
// checks detect faults in the output.
// Method: this process runs the steps of all ranks, one rank after the other, and compares the
// result with std::stable_sort. The checks read right outputs with one change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "perf/apps/common/blocks.hpp"
#include "perf/apps/samplesort/record_file.hpp"
#include "perf/apps/samplesort/records.hpp"
#include "perf/apps/samplesort/splitters.hpp"

namespace apps {
namespace {

/// Returns records of four characters, of which the first two are the key.
Records records_of(const std::string& text) {
    Records records({.bytes = 4, .key_bytes = 2}, text.size() / 4);
    std::memcpy(records.bytes().data(), text.data(), records.bytes().size());
    return records;
}

std::string text_of(const Records& records) {
    return {reinterpret_cast<const char*>(records.bytes().data()), records.bytes().size()};
}

std::vector<std::string> sorted_by_std(const Records& records) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < records.count(); ++i)
        all.emplace_back(reinterpret_cast<const char*>(records.record(i).data()),
                         records.shape().bytes);
    std::ranges::stable_sort(all, [&](const std::string& left, const std::string& right) {
        return std::memcmp(left.data(), right.data(), records.shape().key_bytes) < 0;
    });
    return all;
}

Records part_of(const Records& records, std::int64_t begin, std::int64_t end) {
    Records part(records.shape(), static_cast<std::size_t>(end - begin));
    const std::size_t bytes = records.shape().bytes;
    std::ranges::copy(
        records.bytes().subspan(static_cast<std::size_t>(begin) * bytes, part.bytes().size()),
        part.bytes().begin());
    return part;
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

Records records_from(const RecordShape& shape, const std::vector<std::byte>& bytes) {
    Records records(shape, bytes.size() / shape.bytes);
    std::ranges::copy(bytes, records.bytes().begin());
    return records;
}

/// Runs the steps of all ranks one after the other, with `samples` samples of each rank. Returns
/// each rank's sorted share.
std::vector<Records> shares_of(const Records& records, int ranks, std::size_t samples) {
    const Blocks blocks(static_cast<std::int64_t>(records.count()), ranks);
    std::vector<SortedPart> parts;
    std::vector<std::byte> sample_bytes;
    for (int rank = 0; rank < ranks; ++rank) {
        const Records part = part_of(records, blocks.begin(rank), blocks.end(rank));
        parts.push_back({sort_records(part), static_cast<std::uint64_t>(blocks.begin(rank))});
        append(sample_bytes, take_samples(parts.back(), samples).bytes());
    }
    const auto count = static_cast<std::size_t>(ranks);
    const Records splitters =
        choose_splitters(records_from(sample_shape(records.shape()), sample_bytes), count);
    std::vector<Records> shares;
    for (std::size_t rank = 0; rank < count; ++rank) {
        std::vector<std::byte> bytes;
        std::vector<std::size_t> starts{0};
        for (const SortedPart& part : parts) {
            const std::vector<std::size_t> bounds = cut(part, splitters, count);
            EXPECT_TRUE(std::ranges::is_sorted(bounds));
            EXPECT_EQ(bounds.size(), count + 1);
            EXPECT_EQ(bounds.front(), 0U);
            EXPECT_EQ(bounds.back(), part.sorted.records.count());
            append(bytes, part_of(part.sorted.records, static_cast<std::int64_t>(bounds[rank]),
                                  static_cast<std::int64_t>(bounds[rank + 1]))
                              .bytes());
            starts.push_back(bytes.size() / records.shape().bytes);
        }
        shares.push_back(merge_blocks(records_from(records.shape(), bytes), starts));
    }
    return shares;
}

TEST(Records, SortingIsStable) {
    const Sorted sorted = sort_records(records_of("bb01aa02bb03ab04aa05"));
    EXPECT_EQ(text_of(sorted.records), "aa02aa05ab04bb01bb03");
    EXPECT_EQ(sorted.original_indices, (std::vector<std::size_t>{1, 4, 3, 0, 2}));
}

TEST(Records, KeysCompareAsUnsignedBytes) {
    EXPECT_EQ(text_of(sort_records(records_of("\x80z01\x7fz02")).records), "\x7fz02\x80z01");
}

TEST(Records, MergingKeepsTheOrderOfBlocksForEqualKeys) {
    const Records blocks = records_of("aa01cc02aa03bb04cc05aa06");
    EXPECT_EQ(text_of(merge_blocks(blocks, std::vector<std::size_t>{0, 2, 2, 5, 6, 6})),
              "aa01aa03aa06bb04cc02cc05");
    EXPECT_EQ(text_of(merge_blocks(Records({4, 2}, 0), std::vector<std::size_t>{0, 0})), "");
}

/// Parameters: number of ranks, of records, and of different keys (0: all keys differ).
class SharesTest : public testing::TestWithParam<std::tuple<int, std::size_t, std::uint64_t>> {};

TEST_P(SharesTest, SharesAreEvenAndFormAStableSort) {
    const auto& [ranks, count, distinct] = GetParam();
    constexpr std::size_t kSamples = 16;
    const Records records = make_records({.bytes = 20, .key_bytes = 9},
                                         {.seed = count, .distinct = distinct}, 0, count);
    const std::vector<std::string> wanted = sorted_by_std(records);
    std::size_t at = 0;
    for (const Records& share : shares_of(records, ranks, kSamples)) {
        EXPECT_EQ(count_descents(share), 0U);
        // The bound of splitters.hpp; the last two terms are for rounding.
        EXPECT_LE(share.count(), count / static_cast<std::size_t>(ranks) + count / kSamples +
                                     static_cast<std::size_t>(ranks) + 1);
        for (std::size_t i = 0; i < share.count(); ++i, ++at) {
            const std::string record(reinterpret_cast<const char*>(share.record(i).data()), 20);
            ASSERT_LT(at, wanted.size());
            ASSERT_EQ(record, wanted[at]) << "record " << at;
        }
    }
    EXPECT_EQ(at, count);
}

INSTANTIATE_TEST_SUITE_P(Shapes, SharesTest,
                         testing::Combine(testing::Values(1, 2, 3, 5, 8),
                                          testing::Values(0U, 1U, 4U, 61U, 1000U),
                                          testing::Values(0U, 1U, 2U, 30U)));

TEST(Samples, SamplesAreEvenlySpacedAndHoldTheirPositions) {
    // The part begins at record 0x0102. A sample is a key and the record's position before sorting,
    // in 8 big-endian bytes.
    const SortedPart part{sort_records(records_of("dd00cc01bb02aa03")), 0x0102};
    const Records samples = take_samples(part, 2);
    ASSERT_EQ(samples.count(), 2U);
    EXPECT_EQ(text_of(samples), std::string("bb\0\0\0\0\0\0\1\4dd\0\0\0\0\0\0\1\2", 20));
    EXPECT_EQ(take_samples(part, 100).count(), 4U);
}

TEST(RecordChecks, KeysBelowTheirPredecessorAreCounted) {
    EXPECT_EQ(count_descents(records_of("aa01aa02ab01")), 0U);
    EXPECT_EQ(count_descents(records_of("ab01aa02ab01aa00")), 2U);
    EXPECT_EQ(count_descents(Records({4, 2}, 0)), 0U);
}

TEST(RecordChecks, TheDigestDependsOnEveryByteButNotOnOrder) {
    const RecordShape shape{.bytes = 13, .key_bytes = 5};
    const Records records = make_records(shape, {}, 7, 50);
    const Digest whole = digest(records);
    EXPECT_EQ(digest(sort_records(records).records), whole);
    Digest sum = digest(part_of(records, 0, 20));
    const Digest rest = digest(part_of(records, 20, 50));
    for (std::size_t half = 0; half < 2; ++half) sum.words[half] += rest.words[half];
    EXPECT_EQ(sum, whole) << "ranks add the digests of their records";
    for (std::size_t byte = 0; byte < shape.bytes; ++byte) {
        Records changed = records;
        changed.record(31)[byte] ^= std::byte{1};
        EXPECT_NE(digest(changed), whole) << "byte " << byte;
        Records swapped = records;
        std::swap(swapped.record(3)[byte], swapped.record(4)[byte]);
        EXPECT_NE(digest(swapped), whole) << "byte " << byte;
    }
    Records repeated = records;
    std::ranges::copy(records.record(1), repeated.record(2).begin());
    EXPECT_NE(digest(repeated), whole) << "record 2 is lost, and record 1 is repeated";
}

TEST(MadeRecords, ARangeEqualsThatPartOfTheWhole) {
    const RecordShape shape{.bytes = 30, .key_bytes = 10};
    const Records whole = make_records(shape, {.distinct = 3}, 0, 40);
    EXPECT_EQ(text_of(make_records(shape, {.distinct = 3}, 15, 10)),
              text_of(part_of(whole, 15, 25)));
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < whole.count(); ++i)
        keys.emplace_back(reinterpret_cast<const char*>(whole.key(i).data()), 10);
    std::ranges::sort(keys);
    EXPECT_EQ(std::ranges::unique(keys).begin() - keys.begin(), 3);
}

TEST(RecordFile, PartsAreWrittenAndReadAtTheirOffsets) {
    const std::string path = testing::TempDir() + "weft_record_file";
    const Records all = records_of("aa01bb02cc03");
    ASSERT_EQ(make_record_file(path, 12), "");
    EXPECT_EQ(write_records(path, 2, part_of(all, 2, 3)), "");
    EXPECT_EQ(write_records(path, 0, part_of(all, 0, 2)), "");
    EXPECT_EQ(count_records(path, all.shape()).records, 3);
    Records read(all.shape(), 2);
    EXPECT_EQ(read_records(path, 1, read), "");
    EXPECT_EQ(text_of(read), "bb02cc03");
    EXPECT_NE(read_records(path, 2, read).find("ends before record 4"), std::string::npos);
    EXPECT_NE(count_records(path, {.bytes = 5, .key_bytes = 1}).problem.find("12 bytes, expected"),
              std::string::npos);
    std::filesystem::remove(path);
    EXPECT_NE(count_records(path, all.shape()).problem, "");
    EXPECT_NE(read_records(path, 0, read), "");
    EXPECT_NE(write_records(path, 0, all), "");
    EXPECT_NE(make_record_file(testing::TempDir() + "no/such/folder", 4), "");
}

}  // namespace
}  // namespace apps
