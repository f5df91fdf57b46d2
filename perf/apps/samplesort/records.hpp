// SPDX-License-Identifier: BSD-3-Clause
// records.hpp - consecutive records of one size, and operations on them in one process.
//
// Idea     A record has a fixed number of bytes and starts with its key. Keys compare as bytes.
//          Sorting moves indices of records, and copies each record once at the end.
// Holds    Sorting and merging are stable: records with equal keys keep their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace apps {

struct RecordShape {
    std::size_t bytes = 100;
    std::size_t key_bytes = 10;  ///< 1..bytes
};

class Records {
  public:
    Records() = default;
    /// Makes `count` records with all bytes 0.
    Records(RecordShape shape, std::size_t count) : shape_(shape), bytes_(count * shape.bytes) {}

    [[nodiscard]] const RecordShape& shape() const { return shape_; }
    [[nodiscard]] std::size_t count() const { return bytes_.size() / shape_.bytes; }
    [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    [[nodiscard]] std::span<std::byte> record(std::size_t index) {
        return bytes().subspan(index * shape_.bytes, shape_.bytes);
    }
    [[nodiscard]] std::span<const std::byte> record(std::size_t index) const {
        return bytes().subspan(index * shape_.bytes, shape_.bytes);
    }
    [[nodiscard]] std::span<const std::byte> key(std::size_t index) const {
        return record(index).first(shape_.key_bytes);
    }

  private:
    RecordShape shape_;
    std::vector<std::byte> bytes_;
};

/// Compares keys of equal length, like memcmp: returns a negative number, 0 or a positive number.
[[nodiscard]] int compare_keys(std::span<const std::byte> left, std::span<const std::byte> right);

struct Sorted {
    Records records;                            ///< sorted by key
    std::vector<std::size_t> original_indices;  ///< [i]: index in the input of records.record(i)
};
[[nodiscard]] Sorted sort_records(const Records& records);

/// Merges consecutive sorted blocks of records. `starts` has one entry more than there are blocks:
/// the index of the first record of each block, and at the end the number of records.
[[nodiscard]] Records merge_blocks(const Records& records, std::span<const std::size_t> starts);

/// Returns the number of records with a smaller key than the previous record.
[[nodiscard]] std::size_t count_descents(const Records& records);

/// Sum of the hashes of records. It does not depend on their order, and the sums of parts add up to
/// the sum of the whole. Two different sets of records have equal sums with probability 2^-128.
struct Digest {
    std::uint64_t words[2] = {0, 0};

    friend bool operator==(const Digest&, const Digest&) = default;
};
[[nodiscard]] Digest digest(const Records& records);

/// Parameters of a counter-based generator: a record depends only on these and its number, so any
/// division among ranks gives the same records. `distinct`: largest number of different keys; 0: no
/// limit (all keys of 8 bytes or more differ).
struct RecordGenerator {
    std::uint64_t seed = 1;
    std::uint64_t distinct = 0;
};
/// Returns `count` generated records from number `first` on.
[[nodiscard]] Records make_records(RecordShape shape, const RecordGenerator& generator,
                                   std::uint64_t first, std::size_t count);

}  // namespace apps
